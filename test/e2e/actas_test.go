package e2e

import (
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

// TestAgentsActAsTheirUsers: alice of finance finds and calls a tool, with a token of the issuer. bob does not see it, and a direct call
// finds nothing. An administrator changes the policy while a turn of alice runs, and the turn's next call is refused. All of it is on
// record.
func TestAgentsActAsTheirUsers(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	called, goOn, headers := make(chan bool), make(chan bool), make(chan http.Header, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		called <- true
		<-goOn
		_, _ = io.WriteString(w, "order 7")
	}))
	t.Cleanup(api.Close)
	alice, bob, admin := p.as("alice"), p.as("bob"), p.as("admin")
	admin.Must("POST", "/v1/sources", harness.JSON{"name": "orders", "kind": "http", "base_url": api.URL, "endpoints": []harness.JSON{
		{"name": "search", "method": "POST", "path": "/search"},
	}})
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
	<-called // a second call would wait here for ever
	admin.Must("PATCH", "/v1/access-policies/orders-for-finance", harness.JSON{"expression": "true"})
	goOn <- true
	if ended := alice.Wait(turn); ended.Str("status") != "completed" || !strings.Contains(ended.Str("output"), "orders__search") {
		t.Errorf("alice's turn: %v", ended)
	}
	for key, values := range <-headers {
		if strings.Contains(strings.Join(values, " "), "eyJ") {
			t.Errorf("a token reached the service in %s", key)
		}
	}

	decided := map[string]bool{}
	list, _ := admin.Must("GET", "/v1/decisions?page_size=1000", nil)["decisions"].([]any)
	for _, d := range list {
		each, _ := d.(map[string]any)
		decision := harness.JSON(each)
		if decision.Str("resource") == "orders__search" {
			decided[fmt.Sprintf("%s %v", decision.Str("subject"), decision["allowed"])] = true
		}
	}
	for _, want := range []string{"dev:alice true", "dev:alice false", "dev:bob false"} {
		if !decided[want] {
			t.Errorf("%q is not on record: %v", want, decided)
		}
	}
}
