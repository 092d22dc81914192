package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

const topics = `{"type":"object","additionalProperties":false,"properties":{"topic":{"type":"string"},"region":{"type":"string",` +
	`"default":"eu"}}}`

// TestPlaceholdersOfAnExecutor: what a session gives reaches a program as one argument and a service escaped, and is read for nothing else.
func TestPlaceholdersOfAnExecutor(t *testing.T) {
	t.Parallel()
	c := client(t)
	const script = `read -r invocation; printf '{"type":"answer","text":"%s of %s for %s on %s"}\n' "$1" "$#" "$WHO" "$OS"`
	told := agentOf(c, "placed", harness.JSON{
		"kind": "process", "command": []string{"sh", "-c", script, "agent", "${params.topic}"},
		"env": harness.JSON{"WHO": "${scope.subject}", "OS": "${runner.os}"},
	}, "a b; $(id) ${runner.host} ${env:HOME}")
	if told.Str("output") != "a b; $(id) ${runner.host} ${env:HOME} of 1 for local on "+runtime.GOOS {
		t.Errorf("the program: %v", told)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		fmt.Fprintf(w, `{"type":"answer","text":%q}`+"\n"+`{"type":"end"}`+"\n",
			r.URL.EscapedPath()+" "+r.URL.Query().Get("q")+" "+r.Header.Get("X-Region"))
	}))
	t.Cleanup(service.Close)
	told = agentOf(c, "placed-http", harness.JSON{
		"kind": "http", "url": service.URL + "/run/${params.topic}?q=${params.topic}", "headers": harness.JSON{"X-Region": "${params.region}"},
	}, "../x?y=1&q=2")
	if told.Str("output") != "/run/..%2Fx%3Fy=1&q=2 ../x?y=1&q=2 eu" {
		t.Errorf("the service: %v", told)
	}
	for value, why := range map[string]string{"--help": "read as an option"} {
		status, problem, err := c.Do(t.Context(), "POST", "/v1/sessions",
			harness.JSON{"agent_id": "placed", "params": harness.JSON{"topic": value}})
		if err != nil || status != http.StatusBadRequest && status != http.StatusConflict || problem.Str("code") != "invalid_blueprint" ||
			!strings.Contains(problem.Str("detail"), why) {
			t.Errorf("%q: %d %v %v", value, status, problem, err)
		}
	}
	for field, executor := range map[string]harness.JSON{
		"executor.command[0]": {"kind": "process", "command": []string{"${params.topic}"}},
		"executor.env.A":      {"kind": "process", "command": []string{"x"}, "env": harness.JSON{"A": "${moon.a}"}},
		"executor.url":        {"kind": "http", "url": "http://${params.topic}/"},
	} {
		status, problem, err := c.Do(t.Context(), "POST", "/v1/agents",
			harness.JSON{"id": "wrong", "params_schema": json.RawMessage(topics), "executor": executor})
		if err != nil || status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(problem["fields"]), field) {
			t.Errorf("%s: %d %v %v", field, status, problem, err)
		}
	}
}

// agentOf makes an agent with an executor and gives the end of a turn in a session with a topic.
func agentOf(c *harness.Client, id string, executor harness.JSON, topic string) harness.JSON {
	c.Must("POST", "/v1/agents", harness.JSON{"id": id, "params_schema": json.RawMessage(topics), "executor": executor})
	session := c.Must("POST", "/v1/sessions", harness.JSON{"agent_id": id, "params": harness.JSON{"topic": topic}}).Str("id")
	return c.Wait(c.Turn(session, "go"))
}
