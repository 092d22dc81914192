package admission

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// Conn is a connection whose use counts until it is admitted.
type Conn struct {
	net.Conn
	gate     *Gate
	from     netip.Prefix
	admitted atomic.Bool
	own      use // guarded by gate.mu; no connection: it is admitted or closed
}

// Admit ends the counting: the credentials of a call on the connection were accepted.
func (c *Conn) Admit() {
	if c == nil || c.admitted.Swap(true) {
		return
	}
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.gate.release(c)
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.admitted.Load() && !c.charge(int64(n)) {
		return 0, errors.Join(errTooMuch, c.Close())
	}
	return n, err
}

// charge counts received bytes. Without an open call the server keeps none of them.
func (c *Conn) charge(n int64) bool {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.own.calls == 0 {
		return true
	}
	all := c.gate.addresses[c.from]
	c.own.bytes += n
	all.bytes += n
	return c.own.bytes <= c.gate.limits.ConnectionBytes && all.bytes <= c.gate.limits.Bytes
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.gate.mu.Lock()
	c.gate.release(c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// SyscallConn implements syscall.Conn, for who asks the kernel about the other end.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	sc, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return sc.SyscallConn()
}
