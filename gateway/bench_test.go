package gateway_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// BenchmarkUnary compares a call over HTTP and the gateway with the same call over gRPC, both over the in-memory network.
func BenchmarkUnary(b *testing.B) {
	b.Run("grpc", func(b *testing.B) {
		up := newUpstream(b)
		client := sessionsv1.NewAgentServiceClient(rpctest.ServeAs(b, "all", up.register, rpctest.WithPrincipal(authn.Local())))
		for b.Loop() {
			if _, err := client.GetAgent(b.Context(), &sessionsv1.GetAgentRequest{AgentId: "a"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gateway", func(b *testing.B) {
		s := serve(b, nil)
		for b.Loop() {
			resp, err := s.client.Get(s.url + "/v1/agents/a")
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
	b.Run("http", func(b *testing.B) { // answered by the gateway itself: the cost of HTTP without the call
		s := serve(b, nil)
		for b.Loop() {
			resp, err := s.client.Get(s.url + "/healthz")
			if err != nil || resp.StatusCode != http.StatusOK {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}
