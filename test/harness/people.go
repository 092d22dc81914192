package harness

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/mcp"
	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/rpc"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// As returns a client of the mesh's REST API that calls as a person. It serves the gateway's REST API in the test, over connections to the
// mesh's processes, which identify the person by a token signed with the mesh's key.
func (m *Mesh) As(subject string, roles ...string) *Client {
	m.t.Helper()
	return m.AsPrincipal(authn.User(subject, roles...))
}

// AsPrincipal is As for a person with claims.
func (m *Mesh) AsPrincipal(person *policyv1.Principal) *Client {
	m.t.Helper()
	deps := rest.Deps{
		Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20, Timeout: 75 * time.Second, MaxTimeout: 75 * time.Second,
		Matched: func(context.Context, string) {},
	}
	for role, conn := range map[string]*grpc.ClientConnInterface{
		"sessions": &deps.Sessions, "registry": &deps.Registry, "policy": &deps.Policy, "inference": &deps.Inference,
		"knowledge": &deps.Knowledge,
	} {
		*conn = m.dial(role)
	}
	api, err := rest.New(deps)
	if err != nil {
		m.t.Fatal(err)
	}
	return NewClient(m.t, m.edge(api, person))
}

// MCPAs returns the base URL of the mesh's MCP endpoints, served to a person in the same way.
func (m *Mesh) MCPAs(subject string, roles ...string) string {
	m.t.Helper()
	h, err := mcp.New(config.Default[mcp.Config](), mcp.Deps{
		Registry: m.dial("registry"), Sessions: m.dial("sessions"), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		m.t.Fatal(err)
	}
	url := m.edge(h, authn.User(subject, roles...))
	m.t.Cleanup(h.Drain) // before the edge closes, which waits for streams
	return url
}

// edge serves an API to a person.
func (m *Mesh) edge(api http.Handler, person *policyv1.Principal) (url string) {
	edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(authn.With(r.Context(), person)))
	}))
	m.t.Cleanup(edge.Close)
	return edge.URL
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

// Bus opens a connection to the bus, as a process of the mesh.
func (m *Mesh) Bus() *bus.Bus {
	m.t.Helper()
	b, err := bus.Open(m.t.Context(), bus.Config{
		URL: busURL([]string{m.endpoint(partyBus)}), Key: []byte(meshKey), Credentials: bus.MeshCredentials, Name: "test",
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = b.Close(context.Background()) })
	return b
}
