// Package rpc is how the roles of the mesh talk: one server with all interceptors, one way to dial, over TCP or in memory.
// The network is the only thing that differs between one process and many.
package rpc

import (
	"context"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
)

// Network connects roles.
type Network interface {
	// Listen gives the listener on which a role is reached. Each role listens at most once in a process.
	Listen(role string) (net.Listener, error)
	// Target gives what to dial for a role. It does not check that somebody listens.
	Target(role string) (target string, opts []grpc.DialOption, err error)
}

const memoryBuffer = 1 << 20

// Memory is a network inside one process. The zero value is not usable; see NewMemory.
type Memory struct {
	mu    sync.Mutex
	roles map[string]*bufconn.Listener
}

// NewMemory makes an empty in-memory network.
func NewMemory() *Memory { return &Memory{roles: map[string]*bufconn.Listener{}} }

func (m *Memory) role(name string) *bufconn.Listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.roles[name]
	if !ok {
		l = bufconn.Listen(memoryBuffer)
		m.roles[name] = l
	}
	return l
}

// Listen implements Network.
func (m *Memory) Listen(role string) (net.Listener, error) { return m.role(role), nil }

// Target implements Network. Dialling waits until the role listens.
func (m *Memory) Target(role string) (string, []grpc.DialOption, error) {
	l := m.role(role)
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
	return "passthrough:///" + role, []grpc.DialOption{grpc.WithContextDialer(dial)}, nil
}

// TCP is a network of processes.
type TCP struct {
	// Listeners maps a role to the address it listens on, for the roles of this process.
	Listeners map[string]string
	// Targets maps a role to where it is reached: "host:port", or any gRPC target such as "dns:///sessions:9090".
	Targets map[string]string
}

// Listen implements Network.
func (n TCP) Listen(role string) (net.Listener, error) {
	addr, ok := n.Listeners[role]
	if !ok {
		return nil, fmt.Errorf("no listen address is configured for role %q: set mesh.listen.%s", role, role)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("role %s cannot listen on %s (is another process using the port?): %w", role, addr, err)
	}
	return l, nil
}

// Target implements Network.
func (n TCP) Target(role string) (string, []grpc.DialOption, error) {
	t, ok := n.Targets[role]
	if !ok {
		return "", nil, fmt.Errorf("no address is configured for role %q: set mesh.targets.%s", role, role)
	}
	return t, nil, nil
}
