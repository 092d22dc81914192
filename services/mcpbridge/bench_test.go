package mcpbridge_test

import (
	"net/http"
	"testing"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// BenchmarkCall is one call over a kept connection: gRPC in memory, bridge, transport, and a real server in this process or a child.
func BenchmarkCall(b *testing.B) {
	run := func(b *testing.B, s *mcpbridgev1.Server) {
		bridge := newBridge(b)
		bridge.must(b, s, "echo", `{"text":"hi"}`)
		b.ResetTimer()
		for b.Loop() {
			bridge.must(b, s, "echo", `{"text":"hi"}`)
		}
	}
	parallel := func(b *testing.B, s *mcpbridgev1.Server) {
		bridge := newBridge(b)
		bridge.must(b, s, "echo", `{"text":"hi"}`)
		b.SetParallelism(8)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, _, err := bridge.call(b.Context(), s, "echo", `{"text":"hi"}`); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for name, handler := range map[string]func(*toolServer) http.Handler{"legacy": (*toolServer).legacy, "modern": (*toolServer).modern} {
		b.Run("http "+name, func(b *testing.B) {
			run(b, &mcpbridgev1.Server{Id: "src_x", Url: serve(b, handler(newToolServer())).URL})
		})
		b.Run("http "+name+" 16 callers", func(b *testing.B) {
			parallel(b, &mcpbridgev1.Server{Id: "src_x", Url: serve(b, handler(newToolServer())).URL})
		})
	}
	b.Run("stdio", func(b *testing.B) { run(b, stdioServer(b, "modern")) })
	b.Run("stdio 16 callers", func(b *testing.B) { parallel(b, stdioServer(b, "modern")) })
}
