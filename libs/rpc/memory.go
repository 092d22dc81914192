package rpc

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/peer"
)

// Memory is a network inside one process. A unary call runs the server's method in the caller's goroutine, a stream has a goroutine for its
// handler; interceptors, deadlines, metadata and telemetry are those of the network, and messages are encoded and decoded as on a wire, so
// that neither side sees what the other does to them. The zero value is not usable; see NewMemory.
type Memory struct {
	mu    sync.Mutex
	roles map[string]*memoryRole
}

// NewMemory makes an empty in-memory network.
func NewMemory() *Memory { return &Memory{roles: map[string]*memoryRole{}} }

func (m *Memory) role(name string) *memoryRole {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.roles[name]
	if !ok {
		r = &memoryRole{changed: make(chan struct{}), closed: make(chan struct{})}
		m.roles[name] = r
	}
	return r
}

// Listen implements Network. The listener is for Server.Serve only: it accepts no connections.
func (m *Memory) Listen(role string) (net.Listener, error) { return m.role(role), nil }

// dial implements Network. Calls wait until the role is served.
func (m *Memory) dial(role string, c caller) (Conn, error) { //nolint:unparam // as the interface wants it
	return &memoryConn{caller: c, role: m.role(role), stats: clientStats()}, nil
}

// memoryRole is where a role is reached.
type memoryRole struct {
	mu sync.Mutex
	// server takes the calls; nil while nobody serves.
	server *direct
	// changed is closed, and made anew, when server changes.
	changed chan struct{}

	closed chan struct{}
	once   sync.Once
}

// set has another server, or nobody, take the role's calls; where from is not nil, only if that one did.
func (r *memoryRole) set(from, to *direct) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if from != nil && from != r.server {
		return
	}
	r.server = to
	close(r.changed)
	r.changed = make(chan struct{})
}

// enter begins a call with who serves the role, and waits for one until ctx ends. The call must be left again.
func (r *memoryRole) enter(ctx context.Context) (*direct, error) {
	for {
		r.mu.Lock()
		d, changed := r.server, r.changed
		r.mu.Unlock()
		if d != nil && d.enter() {
			return d, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// now is enter without waiting; nil when nobody serves the role.
func (r *memoryRole) now() *direct {
	r.mu.Lock()
	d := r.server
	r.mu.Unlock()
	if d == nil || !d.enter() {
		return nil
	}
	return d
}

// Accept implements net.Listener.
func (r *memoryRole) Accept() (net.Conn, error) {
	<-r.closed
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (r *memoryRole) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

// Addr implements net.Listener.
func (*memoryRole) Addr() net.Addr { return memoryAddr{} }

// memoryNetwork names the network in addresses.
const memoryNetwork = "memory"

type memoryAddr struct{}

// Network implements net.Addr.
func (memoryAddr) Network() string { return memoryNetwork }

// String implements net.Addr.
func (memoryAddr) String() string { return memoryNetwork }

// memoryPeer is who calls, to a handler.
func memoryPeer() *peer.Peer { return &peer.Peer{Addr: memoryAddr{}} }
