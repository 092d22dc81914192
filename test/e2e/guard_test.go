package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestWhatCannotWorkIsSaidAtApply covers agents that are accepted and would not do what their author expects.
func TestWhatCannotWorkIsSaidAtApply(t *testing.T) {
	t.Parallel()
	c := client(t)
	for name, row := range map[string]struct{ yaml, want string }{
		"a model without provider": {"model: nowhere/large", `nowhere`},
		"a pattern that fits nothing": {
			`tools: ["calculator__*", "kalculator__*", "mesh__nope"]`, `no tool fits "kalculator__*"; no tool fits "mesh__nope"`,
		},
		"nothing": {`tools: ["*", "mesh__ask_user", "mesh__*", "${params.team}__*"]` + "\nparams_schema: {type: object, properties: {team: {type: string}}}", ""},
		"a source that comes with it": {
			"tools: [\"later__*\"]\n---\nkind: source\nname: later\nsource_kind: mcp\nurl: http://127.0.0.1:1/mcp", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dry := range []bool{true, false} {
				got := c.Must("POST", "/v1/agents:apply", harness.JSON{
					"yaml": "kind: agent\nid: guarded\n" + row.yaml + "\n", "dry_run": dry,
				})
				first, _ := got["applied"].([]any)[0].(map[string]any)
				warning := fmt.Sprint(first["warning"])
				if row.want == "" && warning != "" || !strings.Contains(warning, row.want) {
					t.Errorf("dry %t: %q, want %q", dry, warning, row.want)
				}
			}
		})
	}
	refused(t, c, "POST", "/v1/budgets", harness.JSON{"scope": "agent", "target": "nobody", "max_tokens": 1}).check(t,
		expect{400, "invalid_argument", "target", "nobody"})
}
