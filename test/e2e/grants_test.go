package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/test/harness"
)

// ordersAPI notes the tokens that it is called with.
type ordersAPI struct {
	*httptest.Server
	mu   sync.Mutex
	seen []map[string]any
}

// claimsIn returns the claims of the JWT in an Authorization header, unverified; none if there is no JWT.
func claimsIn(authorization string) map[string]any {
	claims := map[string]any{}
	if parts := strings.Split(strings.TrimPrefix(authorization, "Bearer "), "."); len(parts) == 3 {
		if raw, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil {
			_ = json.Unmarshal(raw, &claims)
		}
	}
	return claims
}

func newOrdersAPI(t *testing.T) *ordersAPI {
	t.Helper()
	a := &ordersAPI{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims := claimsIn(r.Header.Get("Authorization"))
		a.mu.Lock()
		a.seen = append(a.seen, claims)
		a.mu.Unlock()
		fmt.Fprintf(w, "orders of %v", claims["sub"])
	}))
	t.Cleanup(a.Close)
	return a
}

// calls returns how many calls there have been.
func (a *ordersAPI) calls() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.seen)
}

func (a *ordersAPI) last(t *testing.T, want int) map[string]any {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.seen) != want {
		t.Fatalf("%d calls, want %d", len(a.seen), want)
	}
	return a.seen[want-1]
}

// TestS3AnAgentActsAsItsUser: the API gets a token of alice for itself, from the mesh, and never the token with which alice called; after
// policy and the worker were killed too. Once her login has ended, the turn waits for the next one.
func TestS3AnAgentActsAsItsUser(t *testing.T) {
	t.Parallel()
	api := newOrdersAPI(t)
	p := newLogins(t)
	p.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "orders", "kind": "http", "base_url": api.URL, "auth": harness.JSON{"kind": "exchange", "audience": "orders"},
		"cache":     harness.JSON{"disabled": true},
		"endpoints": []harness.JSON{{"name": "mine", "method": "GET", "path": "/mine", "description": "My orders."}},
	})
	p.Client.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted", "tools": []string{"orders__*", "mesh__*"}})
	p.logIn("alice")
	check := func(claims map[string]any) {
		t.Helper()
		actor, _ := claims["act"].(map[string]any)
		if claims["sub"] != "alice" || fmt.Sprint(claims["aud"]) != "[orders]" || actor["sub"] != "windlass-mesh" {
			t.Errorf("the API got %v", claims)
		}
	}
	if out := p.says("alice", "tool", "invoke", "orders__mine", "{}"); !strings.Contains(out, "orders of alice") {
		t.Errorf("a direct call: %s", out)
	}
	check(api.last(t, 1))
	if err := p.windlass("local", "tool", "invoke", "orders__mine", "{}").Run(); err == nil {
		t.Error("the local user calls the API")
	}

	// A turn waits for an answer; meanwhile everything is killed, and the login ends at the issuer.
	p.logIn("admin")
	session := strings.TrimSpace(p.says("alice", "session", "create", "--agent", "clerk", "-o", "name"))
	turn := strings.TrimSpace(p.says("alice", "turn", "create", session,
		`call:orders__mine then call:ask_user {"question":"go on?"} then call:orders__mine`, "-o", "name"))
	waits := func(kind string) string {
		t.Helper()
		var id string
		testpoll.Until(t, "the turn waits for "+kind, func() bool {
			id = ""
			var all []struct{ ID, Kind, Status string }
			out := p.says("admin", "approval", "list", "--turn", turn, "-o", "json")
			if err := json.Unmarshal([]byte(out), &all); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, a := range all {
				if a.Kind == kind && a.Status == "pending" {
					id = a.ID
				}
			}
			return id != ""
		})
		return id
	}
	question := waits("input")
	check(api.last(t, 2))
	if list := p.says("alice", "grant", "list"); !strings.Contains(list, turn) || !strings.Contains(list, "active") {
		t.Errorf("grants: %s", list)
	}
	p.restart()
	p.says("alice", "logout")
	p.says("admin", "decide", question, "yes")
	waits("authorization")
	p.logIn("alice")
	testpoll.Until(t, "the turn has ended", func() bool {
		return strings.Contains(p.says("admin", "get", "turn", turn, "-o", "json"), `"completed"`)
	})
	check(api.last(t, 3))
	testpoll.Until(t, "the grant has ended with its turn", func() bool {
		return !strings.Contains(p.says("alice", "grant", "list"), turn)
	})
}
