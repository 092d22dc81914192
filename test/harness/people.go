package harness

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// As returns a client of the mesh's REST API that calls as a person. It serves the gateway's REST API in the test, over connections to the
// mesh's processes, which identify the person by a token signed with the mesh's key.
func (m *Mesh) As(subject string, roles ...string) *Client {
	m.t.Helper()
	deps := rest.Deps{
		Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20, Timeout: 75 * time.Second, MaxTimeout: 75 * time.Second,
		Matched: func(context.Context, string) {},
	}
	for role, conn := range map[string]*grpc.ClientConnInterface{
		"sessions": &deps.Sessions, "registry": &deps.Registry, "policy": &deps.Policy, "inference": &deps.Inference,
	} {
		*conn = m.dial(role)
	}
	api, err := rest.New(deps)
	if err != nil {
		m.t.Fatal(err)
	}
	person := authn.User(subject, roles...)
	edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(authn.With(r.Context(), person)))
	}))
	m.t.Cleanup(edge.Close)
	return NewClient(m.t, edge.URL)
}

// dial opens a connection to a role that forwards the calling principal.
func (m *Mesh) dial(role string) rpc.Conn {
	m.t.Helper()
	ring, err := authn.NewKeyring([]byte(meshKey))
	if err != nil {
		m.t.Fatal(err)
	}
	conn, err := rpc.Dial(m.network(role), role, rpc.ClientConfig{Keyring: ring})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = conn.Close() })
	return conn
}
