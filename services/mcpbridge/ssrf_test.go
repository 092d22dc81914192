package mcpbridge_test

import (
	"net/http"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress/egresstest"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// TestS7NoServerLeadsIntoTheNetwork has an MCP server's URL, its token endpoint, or a redirect of a public server, name each spelling of an
// address inside the network, with the profile public. Nothing is connected to.
func TestS7NoServerLeadsIntoTheNetwork(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	trap := egresstest.NewTrap(t)
	good := egresstest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	b := newBridgeThrough(t, egresstest.Public(t, nil))
	for _, host := range egresstest.Hosts() {
		for _, transport := range []string{"http", "sse"} {
			for what, server := range map[string]*mcpbridgev1.Server{
				"directly":      {Url: trap.URL(host)},
				"by a redirect": {Url: good + "/mcp?to=" + trap.URL(host)},
				"for its token": {Url: good + "/mcp", Auth: &mcpbridgev1.Auth{
					Kind: "oauth2_client_credentials", TokenUrl: trap.URL(host), ClientId: "me", Secret: "${env:WINDLASS_TOOL_SECRET}",
				}},
			} {
				server.Id, server.Name, server.Transport = "src_x", "inside", transport
				_, err := b.Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: server})
				if n := trap.Accepted(); n > 0 || err == nil {
					t.Errorf("%s over %s %s: %d connections, %v", host, transport, what, n, err)
				}
			}
		}
	}
}
