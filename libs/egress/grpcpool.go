package egress

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
)

// maxPooledGRPC is the number of pooled gRPC connections from which on unused ones are closed.
const maxPooledGRPC = 256

// grpcPool shares connections to gRPC servers among calls.
type grpcPool struct {
	mu    sync.Mutex
	conns map[string]*pooledGRPC
}

// pooledGRPC is a connection with its users.
type pooledGRPC struct {
	*grpc.ClientConn
	key     string
	users   int
	retired bool // no new calls; closed with the last one
	denied  atomic.Pointer[DeniedError]
	broken  atomic.Bool // it cannot connect, or leads nowhere
}

// open opens a stream. If it cannot, nothing of the call was queued. The error is a *DeniedError for a forbidden address.
func (c *pooledGRPC) open(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := c.ClientConn.NewStream(ctx, desc, method, append(opts, grpc.WaitForReady(false))...)
	if err == nil {
		return stream, nil
	}
	if ctx.Err() == nil {
		c.broken.Store(true)
	}
	if denied := c.denied.Load(); denied != nil {
		return nil, denied
	}
	return nil, err
}

// borrow returns the connection to a server, and takes part in its use until release.
func (e *Egress) borrow(address string, secure bool) (*pooledGRPC, error) {
	p := &e.grpc
	var unused []*pooledGRPC
	defer func() { closeAll(unused) }()
	p.mu.Lock()
	defer p.mu.Unlock()
	key := strconv.FormatBool(secure) + " " + address
	if c := p.conns[key]; c != nil {
		c.users++
		return c, nil
	}
	if len(p.conns) >= maxPooledGRPC {
		unused = p.unused()
	}
	c := &pooledGRPC{key: key, users: 1}
	conn, err := e.newGRPC(address, secure, func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := e.DialContext(ctx, network, address)
		if denied, ok := err.(*DeniedError); ok { //nolint:errorlint // DialContext returns it bare, and gRPC keeps only the text
			c.denied.Store(denied)
		}
		return conn, err
	}, grpc.WithStatsHandler(observer{}))
	if err != nil {
		return nil, err
	}
	c.ClientConn = conn
	if p.conns == nil {
		p.conns = map[string]*pooledGRPC{}
	}
	p.conns[key] = c
	return c, nil
}

// release ends a use of a connection. One that cannot connect is not used again: gRPC waits up to two minutes before it dials again, and
// fails calls until then.
func (e *Egress) release(c *pooledGRPC) {
	p := &e.grpc
	p.mu.Lock()
	if !c.retired && c.broken.Load() {
		c.retired = true
		delete(p.conns, c.key)
	}
	c.users--
	last := c.users == 0 && c.retired
	p.mu.Unlock()
	if last {
		closeAll([]*pooledGRPC{c})
	}
}

// unused takes the connections without calls out of the pool. The caller holds mu.
func (p *grpcPool) unused() (out []*pooledGRPC) {
	for key, c := range p.conns {
		if c.users == 0 {
			delete(p.conns, key)
			out = append(out, c)
		}
	}
	return out
}

// closeAll closes unused connections. It may take seconds, so no lock is held.
func closeAll(conns []*pooledGRPC) {
	for _, c := range conns {
		_ = c.Close() // it fails only if it is closed already
	}
}

// GRPCConn returns a shared connection to an external gRPC server for calls that may be repeated, such as those that only read. The caller
// calls release when all its calls have ended.
func (e *Egress) GRPCConn(address string, secure bool) (conn grpc.ClientConnInterface, release func(), err error) {
	c, err := e.borrow(address, secure)
	if err != nil {
		return nil, nil, err
	}
	return sharedGRPC{c}, func() { e.release(c) }, nil
}

// sharedGRPC is a connection whose errors say why it cannot be dialled.
type sharedGRPC struct{ *pooledGRPC }

// NewStream implements grpc.ClientConnInterface. It returns a *DeniedError for a forbidden address.
func (c sharedGRPC) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.open(ctx, desc, method, opts...)
}
