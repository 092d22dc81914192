package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// withToken sends a token with each request.
type withToken struct{ token string }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return http.DefaultTransport.RoundTrip(r)
}

// as returns a client of the API for a user who has logged in.
func (p *logins) as(user string) *harness.Client {
	p.t.Helper()
	c := harness.NewClient(p.t, p.Client.Base)
	c.HTTP = &http.Client{Transport: withToken{p.tokens(user).AccessToken}}
	return c
}

// TestAgentsActAsTheirUsers: alice of finance finds and calls a tool, and the service gets a token for itself with alice as subject and the
// mesh as actor. bob does not see the tool, and a direct call finds nothing. An administrator changes the policy while a turn of alice
// runs, and the turn's next call is refused. All of it is in the audit trail.
func TestAgentsActAsTheirUsers(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	called, goOn, headers := make(chan map[string]any), make(chan bool), make(chan http.Header, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		called <- claimsIn(r.Header.Get("Authorization"))
		<-goOn
		_, _ = io.WriteString(w, "order 7")
	}))
	t.Cleanup(api.Close)
	canary := p.tokens("alice").AccessToken
	alice, bob, admin := harness.NewClient(t, p.Client.Base), p.as("bob"), p.as("admin")
	alice.HTTP = &http.Client{Transport: withToken{canary}}
	admin.Must("POST", "/v1/sources", harness.JSON{
		"name": "orders", "kind": "http", "base_url": api.URL, "auth": harness.JSON{"kind": "exchange", "audience": "orders"},
		"endpoints": []harness.JSON{{"name": "search", "method": "POST", "path": "/search"}},
	})
	admin.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted", "tools": []string{"orders__*"}})
	admin.Must("POST", "/v1/access-policies", harness.JSON{
		"name": "orders-for-finance", "effect": "deny", "tools": []string{"orders__*"},
		"expression": `!has(principal.claims.department) || principal.claims.department != "finance"`,
	})
	for user, want := range map[*harness.Client]bool{alice: true, bob: false} {
		if tools := fmt.Sprint(user.Must("GET", "/v1/tools?page_size=1000", nil)); strings.Contains(tools, "orders__search") != want {
			t.Errorf("visible, where that should be %t: %s", want, tools)
		}
	}
	status, out, err := bob.Do(t.Context(), "POST", "/v1/tools/orders__search:invoke", harness.JSON{"arguments": harness.JSON{}})
	if err != nil || status != http.StatusNotFound {
		t.Errorf("bob calls: %d %v, %v", status, out, err)
	}

	turn := alice.Turn(alice.Session("clerk"), "call:orders__search {} then call:orders__search {}")
	claims := <-called // a second call would wait here for ever
	admin.Must("PATCH", "/v1/access-policies/orders-for-finance", harness.JSON{"expression": "true"})
	goOn <- true
	if ended := alice.Wait(turn); ended.Str("status") != "completed" || !strings.Contains(ended.Str("output"), "orders__search") {
		t.Errorf("alice's turn: %v", ended)
	}
	actor, _ := claims["act"].(map[string]any)
	if fmt.Sprint(claims["aud"]) != "[orders]" || claims["sub"] != "alice" || actor["sub"] != "windlass-mesh" {
		t.Errorf("the service got a token %v", claims)
	}
	for key, values := range <-headers {
		if strings.Contains(strings.Join(values, " "), canary) {
			t.Errorf("alice's own token reached the service in %s", key)
		}
	}
	p.actsOnRecord()
}

// actsOnRecord checks that each act of TestAgentsActAsTheirUsers is in the audit trail with the user who did it.
func (p *logins) actsOnRecord() {
	p.t.Helper()
	p.logIn("admin")
	var records []struct{ Subject, Action, Resource, Outcome string }
	if err := json.Unmarshal([]byte(p.says("admin", "audit", "list", "-o", "json")), &records); err != nil {
		p.t.Fatal(err)
	}
	found := map[string]bool{}
	for _, r := range records {
		found[strings.Join([]string{r.Subject, r.Action, r.Resource, r.Outcome}, " ")] = true
	}
	for _, want := range []string{
		"dev:alice tool.call orders__search allowed", "dev:bob tool.call orders__search refused",
		"dev:admin policy.access_policies.update orders-for-finance done", "dev:alice tool.call orders__search refused",
	} {
		if !found[want] {
			p.t.Errorf("%q is not on record: %v", want, records)
		}
	}
}
