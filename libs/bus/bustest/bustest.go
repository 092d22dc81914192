// Package bustest runs a NATS server that is not ours: without credentials and TLS, as an operator may have one in a private network.
package bustest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Foreign starts a server and returns its URL. A bus connects to it with bus.NoCredentials.
func Foreign(t testing.TB) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, NoSystemAccount: true,
		DisableJetStreamBanner: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server does not get ready")
	}
	return "nats://" + s.Addr().String()
}
