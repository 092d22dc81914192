package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

const deskBundle = `
kind: agent
id: desk
params_schema:
  type: object
  required: [team]
  additionalProperties: false
  properties:
    team: {type: string, minLength: 2}
    level: {type: integer, default: 3}
model: openai/${params.team}
instructions: Serve ${params.team} at ${params.level} in ${env.DESK_REGION}, session ${runtime.session_id}, for ${scope.subject} on ${runner.os}. $${x} costs $5.
instruction_rules:
- roles: [local]
  instructions: The user is local.
- roles: [admin]
  instructions: The user is an admin.
`

// TestBlueprints is what a model sees of an agent with params, placeholders and rules, and what is refused of them.
func TestBlueprints(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var system []string
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		mu.Lock()
		defer mu.Unlock()
		first, _ := messages[0].(map[string]any)
		system = append(system, fmt.Sprint(first["role"], ": ", first["content"]))
		return harness.Answer{Words: []string{"done"}}
	})
	const secret = "a-secret-region"
	dir := t.TempDir()
	up := harness.Up(t, dir, append(model.Env(), "DESK_REGION="+secret, "WINDLASS_SESSIONS_PLACEHOLDER_ENV=DESK_REGION"))
	c := up.Client
	c.Must("POST", "/v1/agents:apply", harness.JSON{"yaml": deskBundle})
	ses := c.Must("POST", "/v1/sessions", harness.JSON{"agent_id": "desk", "params": harness.JSON{"team": "red"}})
	if got := fmt.Sprint(ses["params"]); got != "map[level:3 team:red]" {
		t.Errorf("params %s", got)
	}
	id := ses.Str("id")
	if end := c.Wait(c.Turn(id, "hello")); end.Str("output") != "done" || end.Str("model") != "openai/red" {
		t.Errorf("turn %v", end)
	}
	want := "system: Serve red at 3 in " + secret + ", session " + id + ", for local on linux. ${x} costs $5.\n\nThe user is local."
	mu.Lock()
	if len(system) != 1 || system[0] != want {
		t.Errorf("the model is told %q, want %q", system, want)
	}
	mu.Unlock()
	c.Must("PATCH", "/v1/agents/desk", harness.JSON{"instructions": "Now serve ${params.team}."})
	chat := c.Must("POST", "/v1/chat", harness.JSON{"message": "hello", "session_id": id})
	other := c.Must("POST", "/v1/chat", harness.JSON{"message": "hello", "agent_id": "desk", "params": harness.JSON{"team": "blue"}})
	mu.Lock()
	if len(system) != 3 || system[1] != "system: Now serve red.\n\nThe user is local." ||
		system[2] != "system: Now serve blue.\n\nThe user is local." {
		t.Errorf("a changed agent: %q (%v, %v)", system, chat, other)
	}
	mu.Unlock()
	refusedBlueprints(t, c)
	up.Stop()
	heldNowhere(t, dir, secret)
}

// heldNowhere looks for a secret in all files below a folder.
func heldNowhere(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, form := range forms(secret) {
			if bytes.Contains(text, form) {
				t.Errorf("%s holds the secret %q", path, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func refusedBlueprints(t *testing.T, c *harness.Client) {
	for _, row := range []struct {
		name, method, path string
		body               harness.JSON
		want               expect
	}{
		{
			"a variable that is not allowed", "POST", "/v1/agents",
			harness.JSON{"id": "bad", "instructions": "${env.HOME}"},
			expect{400, "invalid_argument", "instructions", "${env.HOME} is not allowed"},
		},
		{
			"an unknown namespace", "PATCH", "/v1/agents/desk",
			harness.JSON{"instructions": "${secret.x}"},
			expect{400, "invalid_argument", "instructions", "${secret.x} is unknown"},
		},
		{
			"a param that there is not", "PATCH", "/v1/agents/desk",
			harness.JSON{"instructions": "${params.tema}"},
			expect{400, "invalid_argument", "instructions", "${params.tema} is unknown"},
		},
		{
			"a broken schema", "PATCH", "/v1/agents/desk",
			harness.JSON{"params_schema": harness.JSON{"type": "object", "properties": harness.JSON{"a": harness.JSON{"type": "text"}}}},
			expect{400, "invalid_argument", "params_schema", "/properties/a/type"},
		},
		{
			"a param that is missing", "POST", "/v1/sessions",
			harness.JSON{"agent_id": "desk"},
			expect{400, "invalid_argument", "params.team", "is required"},
		},
		{
			"a param that is unknown", "POST", "/v1/chat",
			harness.JSON{"message": "x", "agent_id": "desk", "params": harness.JSON{"team": "red", "x": 1}},
			expect{400, "invalid_argument", "params.x", "is not known"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			refused(t, c, row.method, row.path, row.body).check(t, row.want)
		})
	}
	c.Must("POST", "/v1/agents", harness.JSON{"id": "claims", "instructions": "Team ${scope.claims.team}."})
	status, out, err := c.Do(t.Context(), "POST", "/v1/sessions", harness.JSON{"agent_id": "claims"})
	if err != nil || status != 409 || out.Str("code") != "invalid_blueprint" ||
		!strings.Contains(out.Str("detail"), `${scope.claims.team} has no value: the user "local" has no such claim`) {
		t.Errorf("a missing claim: %d %v %v", status, out, err)
	}
}
