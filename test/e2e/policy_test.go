package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/test/harness"
)

// member is a client of a person whose token says which department they belong to.
func member(t *testing.T, m *harness.Mesh, subject, department string) *harness.Client {
	t.Helper()
	p := authn.User(subject, "user")
	p.Claims = &structpb.Struct{Fields: map[string]*structpb.Value{"department": structpb.NewStringValue(department)}}
	return m.AsPrincipal(p)
}

// TestAccessPolicies: a policy gives alice of the finance department the tools of a group and hides them from bob. An administrator changes
// the group, then the policy, while turns of alice run; the next call of each turn is refused.
func TestAccessPolicies(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{Config: harness.JSON{"policy": harness.JSON{"permissions_max_age": "1h"}}})
	admin, alice, bob := m.Client, member(t, m, "alice", "finance"), member(t, m, "bob", "sales")
	called, goOn := make(chan string), make(chan bool)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called <- r.URL.Path
		<-goOn
		fmt.Fprintf(w, "found at %s", r.URL.Path)
	}))
	t.Cleanup(api.Close)
	admin.Must("POST", "/v1/sources", harness.JSON{"name": "orders", "kind": "http", "base_url": api.URL, "endpoints": []harness.JSON{
		{"name": "search", "method": "POST", "path": "/search"}, {"name": "refund", "method": "POST", "path": "/refund"},
	}})
	admin.Must("POST", "/v1/tool-groups", harness.JSON{"name": "finance", "selectors": []harness.JSON{{"source": "orders"}}})
	admin.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted", "tools": []string{"orders__*"}})
	admin.Must("POST", "/v1/access-policies", harness.JSON{
		"name": "everyone", "effect": "allow", "permissions": []string{"sessions.*", "registry.tools.*", "policy.access.explain"},
		"matchers": []harness.JSON{{"path": "$subject", "operator": "matches", "values": []string{".*"}}},
	})
	admin.Must("POST", "/v1/access-policies", harness.JSON{
		"name": "finance", "effect": "allow", "tool_groups": []string{"finance"},
		"matchers": []harness.JSON{{"path": "department", "operator": "equals", "values": []string{"finance"}}},
	})
	if got := toolNames(alice); got != "orders__refund orders__search" {
		t.Errorf("alice sees %q", got)
	}
	if got := toolNames(bob); got != "" {
		t.Errorf("bob sees %q", got)
	}
	status, out, err := bob.Do(t.Context(), "POST", "/v1/tools/orders__search:invoke", harness.JSON{"arguments": harness.JSON{}})
	if err != nil || status != http.StatusNotFound {
		t.Errorf("bob calls: %d %v %v", status, out, err)
	}
	// turn starts a turn of two calls, and changes something during the first. A second call would wait here.
	turn := func(change func()) (output string) {
		t.Helper()
		id := alice.Turn(alice.Session("clerk"), `call:orders__search {} then call:orders__search {}`)
		<-called
		change()
		goOn <- true
		return alice.Wait(id).Str("output")
	}
	output := turn(func() {
		admin.Must("PATCH", "/v1/tool-groups/finance", harness.JSON{"exclude": []string{"orders__search"}})
	})
	if !strings.Contains(output, "orders__search") {
		t.Errorf("after the change of the group: %s", output)
	}
	admin.Must("PATCH", "/v1/tool-groups/finance?update_mask=exclude", harness.JSON{"exclude": []string{}})
	output = turn(func() { admin.Must("PATCH", "/v1/access-policies/finance", harness.JSON{"disabled": true}) })
	if !strings.Contains(output, "orders__search") {
		t.Errorf("after the change of the policy: %s", output)
	}
	denied := admin.Must("GET", "/v1/decisions?denied_only=true&page_size=1", nil)
	last, _ := denied["decisions"].([]any)[0].(map[string]any)
	if d := harness.JSON(last); d.Str("subject") != "alice" || d.Str("resource") != "orders__search" || d.Str("policy_revision") != "3" {
		t.Errorf("recorded %v", last)
	}
	why := alice.Must("POST", "/v1/access-policies:explain", harness.JSON{"tool": "orders__search"})
	if why["allowed"] != false || !strings.Contains(fmt.Sprint(why["explained"]), "It is disabled.") {
		t.Errorf("why: %v", why)
	}
	if status, out, err := alice.Do(t.Context(), "PATCH", "/v1/access-policies/finance", harness.JSON{"disabled": false}); err != nil ||
		status != http.StatusForbidden {
		t.Errorf("alice changes a policy: %d %v %v", status, out, err)
	}
	commands(t, admin)
	// Permissions would be cached for an hour: the change is announced to the other processes.
	admin.Must("PATCH", "/v1/access-policies/everyone", harness.JSON{"permissions": []string{"sessions.*"}})
	testpoll.Until(t, "alice may list tools", func() bool {
		status, _, err := alice.Do(t.Context(), "GET", "/v1/tools", nil)
		return err == nil && status == http.StatusForbidden
	})
}

// TestStreamsEndForThoseWhoMayNoLongerRead: bob reads streams of all kinds when an administrator denies them to him.
func TestStreamsEndForThoseWhoMayNoLongerRead(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	admin, bob := p.as("admin"), p.as("bob")
	admin.Must("POST", "/v1/agents", harness.JSON{"id": "slow", "model": "builtin/scripted"})
	session := bob.Session("slow")
	turn := bob.Turn(session, `slow:60000 say:"one two three four"`)
	other := bob.Session("slow")
	ended := map[string]<-chan string{
		"turn":          streamOf(t, bob, "GET", "/v1/turns/"+turn+"/events", ""),
		"session":       streamOf(t, bob, "GET", "/v1/sessions/"+session+"/events", ""),
		"domain events": streamOf(t, bob, "GET", "/v1/events:watch", ""),
		"follow":        streamOf(t, bob, "POST", "/v1/sessions/"+other+"/turns", `{"input":"slow:60000 say:\"one two three four\""}`),
	}
	admin.Must("POST", "/v1/access-policies", harness.JSON{
		"name": "leavers", "effect": "deny", "permissions": []string{"sessions.*"},
		"matchers": []harness.JSON{{"path": "$subject", "operator": "equals", "values": []string{"dev:bob"}}},
	})
	for name, text := range ended {
		var got string
		select {
		case got = <-text:
		case <-time.After(2 * time.Minute): // only a failing test waits that long
			t.Fatalf("the stream %q does not end", name)
		}
		if !strings.Contains(got, "event: error-status") || !strings.Contains(got, `"code":"permission_denied"`) {
			t.Errorf("the stream %q ends with %s", name, got)
		}
	}
}

// streamOf opens a stream, and sends its text when it has ended.
func streamOf(t *testing.T, c *harness.Client, method, path, body string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.Base+path, strings.NewReader(body))
	harness.Must(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.HTTP.Do(req)
	harness.Must(t, err)
	if resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
	out := make(chan string, 1)
	go func() {
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body) // what there is
		out <- string(text)
	}()
	return out
}

// commands does the same with the command.
func commands(t *testing.T, admin *harness.Client) {
	t.Helper()
	windlass := func(args ...string) string {
		t.Helper()
		args = append([]string{"WINDLASS_TOKEN=" + admin.Token(), harness.Bin(t, "windlass")}, append(args, "--server", admin.Base)...)
		out, _ := run(t, 0, "", "/usr/bin/env", args...)
		return out
	}
	windlass("policy", "update", "finance", "--disabled=false")
	out := windlass("policy", "explain", "orders__search", "--subject", "alice")
	if !strings.HasPrefix(out, "allowed: access policy \"finance\"") ||
		!strings.Contains(out, "yes department equals finance") || !strings.Contains(out, "It allows orders__search by tool_groups[0].") {
		t.Errorf("explained: %s", out)
	}
	draft := filepath.Join(t.TempDir(), "draft.yaml")
	text := strings.Replace(windlass("policy", "get", "finance", "-o", "yaml"), "- finance", "- sales", 1)
	harness.Must(t, os.WriteFile(draft, []byte(text), 0o600))
	out = windlass("policy", "replay", draft, "--since", "1h")
	if !strings.Contains(out, "alice") || !strings.Contains(out, "would be different") {
		t.Errorf("replayed: %s", out)
	}
	if out := windlass("policy", "list"); !strings.Contains(out, "department equals finance") {
		t.Errorf("listed: %s", out)
	}
	out = windlass("policy", "create", "no-refunds", "--deny", "--match", "$roles not_contains boss", "--tool", "*__refund")
	if !strings.Contains(out, "policy no-refunds created, revision 1") {
		t.Errorf("created: %s", out)
	}
	windlass("policy", "delete", "no-refunds")
}

func toolNames(c *harness.Client) string {
	var out []string
	list, _ := c.Must("GET", "/v1/tools", nil)["tools"].([]any)
	for _, tool := range list {
		if m, ok := tool.(map[string]any); ok {
			if name := harness.JSON(m).Str("name"); !strings.HasPrefix(name, "mesh__") {
				out = append(out, name)
			}
		}
	}
	return strings.Join(out, " ")
}
