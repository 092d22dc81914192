package mcpbridge_test

import (
	"net/http"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress/egresstest"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// TestNoServerLeadsIntoTheNetwork has an MCP server's URL, or a redirect of a public server, name each spelling of an address inside the
// network, with the profile public. Nothing is connected to.
func TestNoServerLeadsIntoTheNetwork(t *testing.T) {
	trap := egresstest.NewTrap(t)
	good := egresstest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	b := newBridgeThrough(t, egresstest.Public(t, nil))
	for _, host := range egresstest.Hosts() {
		for _, transport := range []string{"http", "sse"} {
			for what, url := range map[string]string{"directly": trap.URL(host), "by a redirect": good + "/mcp?to=" + trap.URL(host)} {
				_, err := b.Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: &mcpbridgev1.Server{
					Id: "src_x", Name: "inside", Url: url, Transport: transport,
				}})
				if n := trap.Accepted(); n > 0 || err == nil {
					t.Errorf("%s over %s %s: %d connections, %v", host, transport, what, n, err)
				}
			}
		}
	}
}
