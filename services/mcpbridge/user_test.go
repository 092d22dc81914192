package mcpbridge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// as returns a server's entry for a user with a token.
func as(t *testing.T, s *mcpbridgev1.Server, user, token string) *mcpbridgev1.Server {
	t.Helper()
	text, err := json.Marshal(map[string]string{"user_token": token})
	if err != nil {
		t.Fatal(err)
	}
	d, err := providerdata.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	out, _ := proto.Clone(s).(*mcpbridgev1.Server)
	out.Auth, out.User = &mcpbridgev1.Auth{Kind: "oauth2_authorization_code"}, user
	if out.UserToken, err = testSealer(t).Seal(d, providerdata.OfServer(s.GetId())); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUsersOfAServerAreApart(t *testing.T) {
	eachGuarded(t, func(t *testing.T, g *guarded, s *mcpbridgev1.Server) {
		b := newBridge(t)
		sessions := map[string]string{} // the user of each session
		g.mu.Lock()
		g.allowed = func(r *http.Request) bool {
			token := r.Header.Get("Authorization")
			user, ok := strings.CutPrefix(token, "Bearer canary-")
			user, _, _ = strings.Cut(user, "-")
			if id := r.Header.Get("Mcp-Session-Id"); id != "" {
				if owner, known := sessions[id]; known && owner != user {
					t.Errorf("%s uses a session of %s", user, owner)
				}
				sessions[id] = user
			}
			return ok && !strings.HasSuffix(token, "-old")
		}
		g.mu.Unlock()
		alice, bob := as(t, s, "default/alice", "canary-alice-1"), as(t, s, "default/bob", "canary-bob-1")
		for range 3 {
			for _, user := range []*mcpbridgev1.Server{alice, bob} {
				if got := text(b.must(t, user, "who", `{}`)); got != "Bearer ***|" {
					t.Errorf("%s: %q", user.GetUser(), got)
				}
			}
		}
		if got := b.discover(t, alice); len(got.GetTools()) == 0 {
			t.Error("alice lists no tools")
		}
		// A new token is used on the open connection, and its value is hidden too.
		if got := text(b.must(t, as(t, s, "default/alice", "canary-alice-2"), "who", `{}`)); got != "Bearer ***|" {
			t.Errorf("with a new token: %q", got)
		}
		// A refused one says so, on a new connection as on an open one.
		for _, user := range []string{"default/alice", "default/carol"} {
			_, _, err := b.call(t.Context(), as(t, s, user, "canary-alice-old"), "who", `{}`)
			if f := fault.From(err); f.Details["token_refused"] != "true" || strings.Contains(err.Error(), "canary-") {
				t.Errorf("%s with a refused token: %v, details %v", user, err, f.Details)
			}
		}
		if _, err := b.Release(t.Context(), &mcpbridgev1.ReleaseRequest{ServerId: s.GetId()}); err != nil {
			t.Error(err)
		}
		if strings.Contains(b.log.text(), "canary-") {
			t.Errorf("the log has a token: %s", b.log.text())
		}
	})
}

func TestATokenThatIsSealedForAnotherServer(t *testing.T) {
	eachGuarded(t, func(t *testing.T, g *guarded, s *mcpbridgev1.Server) {
		other := as(t, &mcpbridgev1.Server{Id: "src_other", Url: s.GetUrl()}, "default/alice", "canary-alice-1")
		other.Id = s.GetId()
		if _, _, err := newBridge(t).call(t.Context(), other, "who", `{}`); err == nil {
			t.Error("it was opened")
		}
		if calls, refused := g.counts(); calls+refused != 0 {
			t.Errorf("%d calls arrived", calls+refused)
		}
	})
}

// TestScopesOfAUser: a server that refuses a call for the scopes of the user's token did not run it, whatever it says besides.
func TestScopesOfAUser(t *testing.T) {
	for name, row := range map[string]struct {
		challenge, body, scopes string
		ok                      bool
	}{
		"with scopes":   {`Bearer error="insufficient_scope", scope="read write"`, `{"error":"insufficient_scope"}`, "read write", true},
		"with a result": {`Bearer error="insufficient_scope", scope="read"`, `{"jsonrpc":"2.0","id":%d,"error":{"code":-1,"message":"no"}}`, "read", true},
		"without":       {`Bearer error="insufficient_scope"`, ``, "", true},
		"another error": {`Bearer error="invalid_request", scope="read"`, ``, "", false},
		"no challenge":  {``, ``, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			tools := newToolServer()
			next := tools.legacy()
			server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(text))
				var call struct {
					ID     int64
					Method string
				}
				_ = json.Unmarshal(text, &call)
				if call.Method != "tools/call" {
					next.ServeHTTP(w, r)
					return
				}
				w.Header().Set("WWW-Authenticate", row.challenge)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, strings.ReplaceAll(row.body, "%d", fmt.Sprint(call.ID)))
			}))
			s := as(t, &mcpbridgev1.Server{Id: "src_scopes", Name: "scopes", Url: server.URL}, "default/alice", "canary-alice-1")
			_, _, err := newBridge(t).call(t.Context(), s, "add", `{}`)
			f := fault.From(err)
			scopes, ok := f.Details["scopes_wanted"]
			if ok != row.ok || scopes != row.scopes || ok != (fault.CodeOf(err) == "tool_unavailable") {
				t.Errorf("got %v, %s, details %v", err, fault.CodeOf(err), f.Details)
			}
		})
	}
}
