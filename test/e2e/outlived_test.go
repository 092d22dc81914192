package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/test/harness"
)

// waitsFor returns the ID of the wait of a turn for something, once an administrator sees it.
func (p *logins) waitsFor(turn, kind string) (id string) {
	p.t.Helper()
	admin := p.as("admin")
	testpoll.Until(p.t, "the turn waits for "+kind, func() bool {
		list, _ := admin.Must("GET", "/v1/approvals?status=pending&turn_id="+turn, nil)["approvals"].([]any)
		for _, each := range list {
			if a, ok := each.(map[string]any); ok && a["kind"] == kind {
				id, _ = a["id"].(string)
			}
		}
		return id != ""
	})
	return id
}

// TestATurnOutlivesItsAccessToken: access tokens live for 60 seconds. A turn calls the API, waits for an answer, and ten minutes pass for
// the issuer and for the mesh. The user's token has expired then, and the turn calls the API again with a token that is issued only now.
// Then the user's login is revoked at the issuer: the turn asks for a login, and goes on after it.
func TestATurnOutlivesItsAccessToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock, config := filepath.Join(dir, "clock"), filepath.Join(dir, "windlass.yaml")
	harness.Must(t, os.WriteFile(config, []byte("identity: {issuer: {access_token_ttl: 60s}}\n"), 0o600))
	p := newLoginsWith(t, []string{"WINDLASS_FAULT_CLOCK=" + clock}, "--config", config)
	began := time.Now()
	api := newOrdersAPI(t)
	p.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "orders", "kind": "http", "base_url": api.URL, "auth": harness.JSON{"kind": "exchange", "audience": "orders"},
		"cache":     harness.JSON{"disabled": true},
		"endpoints": []harness.JSON{{"name": "mine", "method": "GET", "path": "/mine"}},
	})
	p.Client.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted", "tools": []string{"orders__*", "mesh__*"}})
	login := p.tokens("alice")
	alice := harness.NewClient(t, p.Client.Base)
	alice.HTTP = &http.Client{Transport: withToken{login.AccessToken}}
	turn := alice.Turn(alice.Session("clerk"), `call:orders__mine then call:ask_user {"question":"one?"} then call:orders__mine`+
		` then call:ask_user {"question":"two?"} then call:orders__mine`)
	answer := func() {
		t.Helper()
		id := p.waitsFor(turn, "input")
		p.as("admin").Must("POST", "/v1/approvals/"+id+":answer", harness.JSON{"action": "accept", "content": harness.JSON{"answer": "yes"}})
	}
	// issued fails unless the last call had a token of alice that was issued when so much had passed, and lives for a minute at most.
	issued := func(calls int, passed time.Duration) {
		t.Helper()
		claims := api.last(t, calls)
		at, _ := claims["iat"].(float64)
		until, _ := claims["exp"].(float64)
		actor, _ := claims["act"].(map[string]any)
		if claims["sub"] != "alice" || actor["sub"] != "windlass-mesh" || until-at > 60 || int64(at) < began.Add(passed).Unix() {
			t.Errorf("call %d, %v after %v, has %v", calls, passed, began, claims)
		}
	}
	p.waitsFor(turn, "input")
	issued(1, 0)
	harness.Must(t, os.WriteFile(clock, []byte("10m"), 0o600))
	if status, out, err := alice.Do(t.Context(), "GET", "/v1/turns/"+turn, nil); err != nil || status != http.StatusUnauthorized {
		t.Errorf("alice's token after ten minutes: %d %v %v", status, out, err)
	}
	answer()
	testpoll.Until(t, "the second call", func() bool { return api.calls() == 2 })
	issued(2, 10*time.Minute)

	p.waitsFor(turn, "input")
	p.browser("/revoke", map[string][]string{"client_id": {"windlass-cli"}, "token": {login.RefreshToken}})
	answer()
	p.waitsFor(turn, "authorization")
	if calls := api.calls(); calls != 2 {
		t.Errorf("%d calls after the revocation", calls)
	}
	alice.HTTP = &http.Client{Transport: withToken{p.tokens("alice").AccessToken}}
	if renewed := alice.Must("POST", "/v1/grants:renew", harness.JSON{}); fmt.Sprint(renewed["resumed"]) != "1" {
		t.Errorf("renewed: %v", renewed)
	}
	if ended := alice.Wait(turn); ended.Str("status") != "completed" || strings.Count(ended.Str("output"), "orders of alice") != 3 {
		t.Errorf("the turn: %v", ended)
	}
	issued(3, 10*time.Minute)
	var types []string
	for _, e := range alice.Watch("/v1/turns/" + turn + "/events").End() {
		types = append(types, e.Type)
	}
	if strings.Count(strings.Join(types, " "), "auth.required") != 1 {
		t.Errorf("events: %v", types)
	}
}
