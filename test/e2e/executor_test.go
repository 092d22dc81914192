package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// abacus adds an agent with the calculator's tools whose executor is given.
func abacus(c *harness.Client, id string, executor harness.JSON) {
	c.Must("POST", "/v1/agents", harness.JSON{"id": id, "tools": []string{"calculator__*"}, "executor": executor})
}

// TestAnExecutorDoesATurn hosts the same agent as a program that is started for each round, as one that stays, and over HTTP. Its tool
// calls go through policy, ledger and journal like a model's, and its session is resumed by the next turn.
func TestAnExecutorDoesATurn(t *testing.T) {
	t.Parallel()
	c := client(t)
	for name, executor := range map[string]func(t *testing.T, state string) harness.JSON{
		"process": func(t *testing.T, state string) harness.JSON {
			return harness.JSON{"kind": "process", "command": []string{harness.Bin(t, "examples/executor-process"), "--state", state}}
		},
		"stays": func(t *testing.T, state string) harness.JSON {
			return harness.JSON{"kind": "process", "command": []string{harness.Bin(t, "examples/executor-process"), "--stay", "--state", state}}
		},
		"http": func(t *testing.T, state string) harness.JSON {
			server := harness.Start(t, "executor-http", nil, harness.Bin(t, "examples/executor-http"), "--http", "127.0.0.1:0", "--state", state)
			return harness.JSON{"kind": "http", "url": server.Ready["url"]}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			abacus(c, "abacus-"+name, executor(t, state))
			session := c.Session("abacus-" + name)
			turn := c.Turn(session, "What are 6*7 and (1+2)*3?")
			events := c.Watch("/v1/turns/" + turn + "/events").End()
			harness.CheckStream(t, events)
			got := c.Wait(turn)
			if got.Str("status") != "completed" || got.Str("output") != "6*7 = 42. (1+2)*3 = 9. Sums in this session: 2." {
				t.Fatalf("turn = %v", got)
			}
			if used, _ := got["tools_used"].([]any); len(used) != 1 || used[0] != "calculator__evaluate" {
				t.Errorf("tools used: %v", got)
			}
			types := typesOf(events)
			for _, want := range []string{"executor.attached", "tool_call.completed", "message.completed"} {
				if !slices.Contains(types, want) {
					t.Errorf("no %s in %v", want, types)
				}
			}
			rows, _ := c.Must("GET", "/v1/executions?turn_id="+turn, nil)["executions"].([]any)
			if len(rows) != 2 {
				t.Errorf("%d executions in the ledger: %v", len(rows), rows)
			}
			next := c.Turn(session, "and 2*2?")
			if again := c.Watch("/v1/turns/" + next + "/events").End(); slices.Contains(typesOf(again), "executor.attached") {
				t.Error("the executor was not resumed: it told a new session")
			}
			if got := c.Wait(next); got.Str("output") != "2*2 = 4. Sums in this session: 3." {
				t.Errorf("the next turn = %v", got)
			}
			if files, err := filepath.Glob(filepath.Join(state, "*.json")); err != nil || len(files) != 1 {
				t.Errorf("memories: %v, %v", files, err)
			}
		})
	}
}

func typesOf(events []harness.Event) []string {
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

// TestMistakesInAnExecutor are told with their field, before anything is stored.
func TestMistakesInAnExecutor(t *testing.T) {
	t.Parallel()
	c := client(t)
	for name, row := range map[string]struct {
		executor harness.JSON
		field    string
	}{
		"a kind that is none":       {harness.JSON{"kind": "docker"}, "executor.kind"},
		"a process without command": {harness.JSON{"kind": "process"}, "executor.command"},
		"a url for a process":       {harness.JSON{"kind": "process", "command": []string{"x"}, "url": "http://x"}, "executor.url"},
		"http without url":          {harness.JSON{"kind": "http"}, "executor.url"},
		"a grpc url without port":   {harness.JSON{"kind": "grpc", "url": "grpc://host"}, "executor.url"},
		"a secret in the clear": {
			harness.JSON{"kind": "http", "url": "http://x", "headers": harness.JSON{"Authorization": "Bearer abc"}},
			"executor.headers.Authorization",
		},
		"a secret variable": {
			harness.JSON{"kind": "process", "command": []string{"x"}, "env": harness.JSON{"API_KEY": "abc"}},
			"executor.env.API_KEY",
		},
		"a command without kind": {harness.JSON{"command": []string{"x"}}, "executor.command"},
	} {
		status, problem, err := c.Do(t.Context(), "POST", "/v1/agents", harness.JSON{"id": "wrong", "executor": row.executor})
		if err != nil || status != 400 || !strings.Contains(fmt.Sprint(problem["fields"]), row.field) {
			t.Errorf("%s: %d %v %v", name, status, problem, err)
		}
	}
}
