package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestAuditSurvivesKills: policy is killed as soon as a refusal or a change is answered. All of them are in the trail, with who did it, and
// the chain is whole.
func TestAuditSurvivesKills(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{})
	admin, eve := m.Client, member(t, m, "eve", "none")
	for i := range 4 {
		name := fmt.Sprintf("group%d", i)
		admin.Must("POST", "/v1/tool-groups", harness.JSON{"name": name, "selectors": []harness.JSON{{"source": "orders"}}})
		m.Restart("policy")
		testpoll.Until(t, "policy is back", func() bool {
			status, _, err := admin.Do(t.Context(), "GET", "/v1/decisions", nil)
			return err == nil && status == http.StatusOK
		})
		admin.Must("POST", "/v1/access-policies", harness.JSON{
			"name": name, "effect": "allow", "tools": []string{name + "__*"},
			"matchers": []harness.JSON{{"path": "$subject", "operator": "equals", "values": []string{"nobody"}}},
		})
		m.Restart("policy")
		testpoll.Until(t, "eve is refused", func() bool {
			status, _, err := eve.Do(t.Context(), "DELETE", "/v1/tool-groups/"+name, nil)
			return err == nil && status == http.StatusForbidden
		})
		m.Restart("policy")
		testpoll.Until(t, "policy is back", func() bool {
			status, _, err := admin.Do(t.Context(), "GET", "/v1/decisions", nil)
			return err == nil && status == http.StatusOK
		})
	}
	find := func(query string) []any {
		t.Helper()
		found, _ := admin.Must("GET", "/v1/audit?page_size=500&"+query, nil)["records"].([]any)
		return found
	}
	for _, c := range []struct {
		query, subject, actor string
		want                  int
	}{
		{"action=registry.groups.create&outcome=done", "local", "registry", 4},
		{"action=policy.access_policies.create&outcome=done", "local", "", 4},
		{"action=registry.groups.delete&outcome=refused", "eve", "registry", 4},
	} {
		found := find(c.query)
		if len(found) < c.want {
			t.Errorf("%s: %d records, want %d", c.query, len(found), c.want)
		}
		for _, f := range found {
			got, _ := f.(map[string]any)
			if r := harness.JSON(got); r.Str("subject") != c.subject || r.Str("actor") != c.actor {
				t.Errorf("%s: %v", c.query, r)
			}
		}
	}
	if v := admin.Must("GET", "/v1/audit:verify", nil); v["intact"] != true {
		t.Errorf("verify: %v", v)
	}
	auditCommands(t, admin)
}

// auditCommands uses the commands; what is exported is read by the SDK of CloudEvents.
func auditCommands(t *testing.T, admin *harness.Client) {
	t.Helper()
	windlass := func(args ...string) string {
		t.Helper()
		args = append([]string{"WINDLASS_TOKEN=" + admin.Token(), harness.Bin(t, "windlass")}, append(args, "--server", admin.Base)...)
		out, _ := run(t, 0, "", "/usr/bin/env", args...)
		return out
	}
	if out := windlass("audit", "list", "--action", "policy.*", "--since", "1h"); !strings.Contains(out, "policy.access_policies.create") {
		t.Errorf("list: %s", out)
	}
	if out := windlass("audit", "verify"); !strings.Contains(out, "the audit trail is intact") {
		t.Errorf("verify: %s", out)
	}
	lines := strings.Split(strings.TrimSpace(windlass("audit", "export")), "\n")
	if len(lines) < 12 {
		t.Errorf("%d lines exported", len(lines))
	}
	for i, line := range lines {
		var e cloudevents.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var data struct {
			Seq string `json:"seq"`
		}
		if err := e.Validate(); err != nil || e.DataAs(&data) != nil || data.Seq != fmt.Sprint(i+1) {
			t.Errorf("line %d: %s: %v", i+1, line, err)
		}
	}
}
