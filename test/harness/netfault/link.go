// Package netfault leads TCP connections through a process of the test, which breaks them as networks do.
package netfault

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// Mode is what a link does with bytes.
type Mode string

// The modes there are. No byte is lost in a link that is stalled: it arrives when the link is open again, as after retransmission.
const (
	// Open passes everything on.
	Open Mode = "open"
	// Cut resets all connections and refuses new ones.
	Cut Mode = "cut"
	// Stall accepts connections and passes nothing on, in neither direction.
	Stall Mode = "stall"
	// HalfUp passes nothing on to the server; what the server says arrives.
	HalfUp Mode = "half up"
	// HalfDown passes nothing on to the client; what the client says arrives.
	HalfDown Mode = "half down"
)

// Faults are the modes that break something.
func Faults() []Mode { return []Mode{Cut, Stall, HalfUp, HalfDown} }

// Link is a proxy between one client and one server.
type Link struct {
	// From and To name the two sides.
	From, To string

	listen, upstream string

	mu       sync.Mutex
	changed  *sync.Cond
	mode     Mode
	listener net.Listener // nil while it refuses
	pairs    map[*pair]struct{}
	closed   bool
	done     sync.WaitGroup
}

// pair is one connection through a link.
type pair struct {
	client, server *net.TCPConn
	cut            bool
	once           sync.Once
}

// Listen opens a link: what connects to the address listen reaches the address upstream.
func Listen(from, to, listen, upstream string) (*Link, error) {
	l := &Link{From: from, To: to, listen: listen, upstream: upstream, mode: Open, pairs: map[*pair]struct{}{}}
	l.changed = sync.NewCond(&l.mu)
	return l, l.accept()
}

// String names the link.
func (l *Link) String() string { return l.From + "->" + l.To }

// Addr is where clients connect.
func (l *Link) Addr() string { return l.listen }

// Set changes what the link does.
func (l *Link) Set(m Mode) error {
	l.mu.Lock()
	if l.closed || l.mode == m {
		l.mu.Unlock()
		return nil
	}
	l.mode = m
	refused := l.listener == nil
	if m == Cut {
		l.drop()
	}
	l.changed.Broadcast()
	l.mu.Unlock()
	if m != Cut && refused {
		return l.accept()
	}
	return nil
}

// Close ends the link with all its connections.
func (l *Link) Close() {
	l.mu.Lock()
	l.closed = true
	l.drop()
	l.changed.Broadcast()
	l.mu.Unlock()
	l.done.Wait()
}

// drop refuses and resets; the caller holds the lock.
func (l *Link) drop() {
	if l.listener != nil {
		_ = l.listener.Close() // it is replaced
		l.listener = nil
	}
	for p := range l.pairs {
		p.cut = true
		p.reset()
	}
}

func (l *Link) accept() error {
	listener, err := net.Listen("tcp", l.listen)
	if err != nil {
		return fmt.Errorf("link %s: %w", l, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listener = listener
	l.done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			l.done.Go(func() { l.carry(conn.(*net.TCPConn)) })
		}
	})
	return nil
}

// carry leads one connection to the server until both sides have ended it.
func (l *Link) carry(client *net.TCPConn) {
	p := &pair{client: client}
	upstream, err := net.Dial("tcp", l.upstream)
	if err != nil {
		p.reset()
		return
	}
	p.server = upstream.(*net.TCPConn)
	l.mu.Lock()
	if l.closed || l.mode == Cut {
		l.mu.Unlock()
		p.reset()
		return
	}
	l.pairs[p] = struct{}{}
	l.mu.Unlock()

	var both sync.WaitGroup
	both.Go(func() { l.pump(p, p.server, p.client, HalfUp) })
	both.Go(func() { l.pump(p, p.client, p.server, HalfDown) })
	both.Wait()
	p.reset()
	l.mu.Lock()
	delete(l.pairs, p)
	l.mu.Unlock()
}

// pump copies one direction. An end or a break of one side reaches the other one through the link, like every byte.
func (l *Link) pump(p *pair, to, from *net.TCPConn, half Mode) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !l.pass(p, half) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				p.reset()
				return
			}
		}
		if err == io.EOF { //nolint:errorlint // the reader's own
			_ = to.CloseWrite() // gone already is the same
			return
		}
		if err != nil {
			p.reset()
			return
		}
	}
}

// pass waits until the link lets bytes of a direction through; false when the connection was cut.
func (l *Link) pass(p *pair, half Mode) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !p.cut && (l.mode == Stall || l.mode == half) {
		l.changed.Wait()
	}
	return !p.cut
}

// reset ends both connections without a farewell.
func (p *pair) reset() {
	p.once.Do(func() {
		for _, c := range []*net.TCPConn{p.client, p.server} {
			if c != nil {
				_ = c.SetLinger(0) // a reset instead of an orderly end
				_ = c.Close()
			}
		}
	})
}
