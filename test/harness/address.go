package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreeAddr returns a loopback address at which nothing listens, for a server that keeps its address. Its port is below those that systems
// give to listeners on port 0 and to outgoing connections, so no other test takes it before the server does.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close() // it was free
			return addr
		}
	}
	t.Fatal("no free port between 10000 and 30000")
	return ""
}
