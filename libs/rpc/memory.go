package rpc

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/peer"
)

// Memory is a network inside one process. A unary call runs the server's method in the caller's goroutine; a stream has a goroutine for its
// handler. Interceptors, deadlines, metadata and telemetry are the same as over TCP, and messages are encoded and decoded, so that caller
// and server share no memory but that of fields with the option shared. The zero value is not usable; see NewMemory.
type Memory struct {
	mu    sync.Mutex
	roles map[string]*memoryRole
}

// NewMemory returns an empty in-memory network.
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
func (m *Memory) dial(role string, c caller) (Conn, error) { //nolint:unparam // required by the interface
	return &memoryConn{caller: c, role: m.role(role), stats: clientStats()}, nil
}

// memoryRole is the endpoint of a role.
type memoryRole struct {
	mu sync.Mutex
	// server serves the calls; nil while the role is not served.
	server *direct
	// changed is closed and replaced when server changes.
	changed chan struct{}

	closed chan struct{}
	once   sync.Once
}

// set replaces the server of the role, nil for none. If from is not nil, it does so only if from is the present server.
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

// enter begins a call at the role's server, and waits for one until ctx ends. The caller must call leave.
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

// now is enter without waiting; nil if the role is not served.
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

// memoryNetwork is the network's name in addresses.
const memoryNetwork = "memory"

type memoryAddr struct{}

// Network implements net.Addr.
func (memoryAddr) Network() string { return memoryNetwork }

// String implements net.Addr.
func (memoryAddr) String() string { return memoryNetwork }

// memoryPeer is the caller's peer, for handlers.
func memoryPeer() *peer.Peer { return &peer.Peer{Addr: memoryAddr{}} }
