package e2e

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

func TestBundleMistakesAreNamedWithTheirLines(t *testing.T) {
	t.Parallel()
	c := client(t)
	for _, tc := range []struct{ name, yaml, code, place, message string }{
		{"no YAML", "kind: agent\nid: bundle\n  x: [", "malformed_body", "yaml", "line 3"},
		{"a tab", "kind: agent\n\tid: bundle\n", "malformed_body", "yaml", "line 2"},
		{"no document", "# nothing\n", "invalid_argument", "yaml", ""},
		{"no mapping", "[1, 2]\n", "invalid_argument", "document 1, line 1", "want fields"},
		{"an unknown kind", "\nkind: robot\n", "invalid_argument", "document 1, line 2: kind", "robot"},
		{
			"an unknown field", "kind: agent\nid: bundle\nmodell: x\n", "invalid_argument", "document 1 (agent bundle), line 3: modell",
			`did you mean "model"?`,
		},
		{
			"an unknown field inside", "kind: agent\nid: bundle\nlimits:\n  steps: 3\n", "invalid_argument",
			"document 1 (agent bundle), line 4: limits.steps", "is no field",
		},
		{
			"a wrong type", "kind: agent\nid: bundle\nlimits:\n  max_steps: many\n", "invalid_argument",
			"document 1 (agent bundle), line 4: limits.max_steps", "whole number",
		},
		{
			"the second document", "kind: agent\nid: bundle\n---\nkind: agent\nid: Bad Id\n", "invalid_argument",
			"document 2 (agent Bad Id), line 5: id", "",
		},
		{
			"the same agent twice", "kind: agent\nid: bundle\n---\nkind: agent\nid: bundle\n", "invalid_argument",
			"document 2 (agent bundle), line 4", "document 1",
		},
		{
			"a source of no kind", "kind: source\nname: bundle\nsource_kind: fax\n", "invalid_argument",
			"document 1 (source bundle), line 3: source_kind", "",
		},
		{
			"a source without an address", "kind: agent\nid: bundle\n---\nkind: source\nname: bundle\nsource_kind: mcp\n", "invalid_argument",
			"document 2 (source bundle), line 4: url", "exactly one of url and command",
		},
		{
			"a source with a secret", "kind: source\nname: bundle\nurl: http://127.0.0.1:1/\nheaders:\n  Authorization: Bearer x\n",
			"invalid_argument", "document 1 (source bundle), line 5: headers.Authorization", "${env:",
		},
		{
			"a schedule without a time", "kind: agent\nid: bundle\n---\nkind: schedule\nid: bundle\nagent_id: bundle\ninput: x\n",
			"invalid_argument", "document 2 (schedule bundle), line 4: cron", "say when",
		},
		{
			"a webhook without an address", "kind: webhook\nid: bundle\nurl: ftp://example.com/\n", "invalid_argument",
			"document 1 (webhook bundle), line 3: url", "http",
		},
	} {
		for _, dry := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, dry run %v", tc.name, dry), func(t *testing.T) {
				p := refused(t, c, "POST", "/v1/agents:apply", harness.JSON{"yaml": tc.yaml, "dry_run": dry})
				p.check(t, expect{400, tc.code, tc.place, tc.message})
			})
		}
	}
	whole := "kind: source\nname: bundle-good\nurl: http://127.0.0.1:1/\n---\nkind: source\nname: bundle-bad\n---\nkind: agent\nid: bundle\n"
	refused(t, c, "POST", "/v1/agents:apply", harness.JSON{"yaml": whole})
	for _, path := range []string{"/v1/agents/bundle", "/v1/sources/bundle", "/v1/sources/bundle-good", "/v1/sources/bundle-bad"} {
		if status, out, err := c.Do(t.Context(), "GET", path, nil); err != nil || status != 404 {
			t.Errorf("a bundle with a mistake made %s: %d %v %v", path, status, out, err)
		}
	}
}
