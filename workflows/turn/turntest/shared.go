package turntest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
)

// Address says how another process reaches a mesh. It can be encoded as JSON.
type Address struct {
	// Mesh is where the services listen.
	Mesh string
	// Bus is the URL of the bus.
	Bus string
	// Key signs principals and bus messages.
	Key []byte
}

const role = "mesh"

// NewShared starts a mesh that other processes can reach too.
func NewShared(t testing.TB, tools ...*registryv1.Tool) (*Mesh, Address) {
	t.Helper()
	key := authn.NewKey()
	m := newMesh(t, bus.Config{URL: bus.Embedded, Listen: "127.0.0.1:0", Key: key}, tools)
	addr := Address{Bus: "nats://" + m.Bus.Addr(), Key: key}
	ring, err := authn.NewKeyring(addr.Key)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: rpctest.AllowAll{}})
	if err != nil {
		t.Fatal(err)
	}
	m.register(srv)
	l, err := rpc.TCP{Listeners: map[string]string{role: "127.0.0.1:0"}}.Listen(role)
	if err != nil {
		t.Fatal(err)
	}
	addr.Mesh = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	deps, closeDeps, err := dial(addr, m.Bus)
	if err != nil {
		t.Fatal(err)
	}
	m.deps = deps
	t.Cleanup(func() {
		closeDeps()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		srv.Stop(ctx)
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return m, addr
}

// Join returns the dependencies of a runner in another process on a shared mesh.
func Join(ctx context.Context, addr Address) (runner.Deps, error) {
	b, err := bus.Open(ctx, bus.Config{URL: addr.Bus, Key: addr.Key})
	if err != nil {
		return runner.Deps{}, err
	}
	deps, _, err := dial(addr, b)
	return deps, err
}

func dial(addr Address, b *bus.Bus) (runner.Deps, func(), error) {
	ring, err := authn.NewKeyring(addr.Key)
	if err != nil {
		return runner.Deps{}, nil, err
	}
	conn, err := rpc.Dial(rpc.TCP{Targets: map[string]string{role: addr.Mesh}}, role, rpc.ClientConfig{Keyring: ring})
	if err != nil {
		return runner.Deps{}, nil, fmt.Errorf("join mesh: %w", err)
	}
	return depsOn(conn, b), func() { _ = conn.Close() }, nil
}
