// Package admission bounds what callers make a gRPC server hold before it has accepted their credentials: connections, open calls, and
// bytes that no handler has consumed.
package admission

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// Limits bound what is not admitted. An address is an IPv4 address or an IPv6 network of 64 bits.
type Limits struct {
	// Connections and Calls are open from one address.
	Connections, Calls int
	// ConnectionCalls are open on one connection.
	ConnectionCalls int
	// Bytes and ConnectionBytes were received from one address and on one connection while calls were open.
	Bytes, ConnectionBytes int64
}

// Defaults keep about 64 MiB for one address, and leave room for the first calls of a busy client behind a shared address.
func Defaults() Limits {
	return Limits{Connections: 256, Calls: 2000, ConnectionCalls: 500, Bytes: 32 << 20, ConnectionBytes: 4 << 20}
}

// ErrTooMany means that an address or a connection has as many calls without accepted credentials as it may have.
var ErrTooMany = errors.New("too many calls without accepted credentials")

// errTooMuch ends a connection that sends too much before its credentials are accepted.
var errTooMuch = errors.New("too many bytes without accepted credentials")

// Gate counts what is not admitted. It is safe for concurrent use.
type Gate struct {
	limits Limits

	mu        sync.Mutex
	addresses map[netip.Prefix]*use
}

// use is what one address or connection holds.
type use struct {
	connections, calls int
	bytes              int64
}

// New returns a gate.
func New(l Limits) *Gate { return &Gate{limits: l, addresses: map[netip.Prefix]*use{}} }

// Listener returns a listener of Conns. It closes the connections that are too many.
func (g *Gate) Listener(l net.Listener) net.Listener { return &listener{l, g} }

type listener struct {
	net.Listener
	gate *Gate
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err // the server knows the kinds of this error
		}
		if c, ok := l.gate.open(conn); ok {
			return c, nil
		}
		_ = conn.Close() // the caller sees the end of the connection
	}
}

// open counts a connection; false if its address has too many.
func (g *Gate) open(conn net.Conn) (*Conn, bool) {
	c := &Conn{Conn: conn, gate: g, from: prefix(conn.RemoteAddr())}
	g.mu.Lock()
	defer g.mu.Unlock()
	all, ok := g.addresses[c.from]
	if !ok {
		all = &use{}
		g.addresses[c.from] = all
	}
	if all.connections >= g.limits.Connections {
		return nil, false
	}
	all.connections++
	c.own.connections = 1
	return c, true
}

// release gives back what a connection holds. The caller holds mu.
func (g *Gate) release(c *Conn) {
	all := g.addresses[c.from]
	if all == nil {
		return
	}
	all.connections -= c.own.connections
	all.calls -= c.own.calls
	all.bytes -= c.own.bytes
	c.own = use{}
	if *all == (use{}) {
		delete(g.addresses, c.from)
	}
}

func prefix(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// Begin counts a call until ctx ends or the connection is admitted.
func (c *Conn) Begin(ctx context.Context) error {
	if c.admitted.Load() {
		return nil
	}
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	all := c.gate.addresses[c.from]
	switch {
	case c.own.connections == 0: // admitted or closed meanwhile
		return nil
	case c.own.calls >= c.gate.limits.ConnectionCalls, all.calls >= c.gate.limits.Calls:
		return ErrTooMany
	}
	c.own.calls++
	all.calls++
	context.AfterFunc(ctx, c.end)
	return nil
}

// end forgets a call. What the connection sent for its calls is gone with the last of them.
func (c *Conn) end() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.own.calls == 0 {
		return
	}
	all := c.gate.addresses[c.from]
	c.own.calls--
	all.calls--
	if c.own.calls == 0 {
		all.bytes -= c.own.bytes
		c.own.bytes = 0
	}
}
