package rpc

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/stack"
)

// direct serves calls from the same process, with the interceptors and telemetry of a network server.
type direct struct {
	server  *Server
	stats   stats.Handler
	methods map[string]unaryMethod
	streams map[string]streamMethod

	mu      sync.Mutex
	roles   []*memoryRole
	stopped bool
	calls   sync.WaitGroup
	// life is cancelled to end the contexts of calls at a hard stop.
	life context.Context // of the server, not of a call
	cut  context.CancelFunc
}

type unaryMethod struct {
	handle grpc.MethodHandler
	impl   any
}

type streamMethod struct {
	desc grpc.StreamDesc
	impl any
}

func newDirect(s *Server) *direct {
	d := &direct{server: s, stats: serverStats(), methods: map[string]unaryMethod{}, streams: map[string]streamMethod{}}
	d.life, d.cut = context.WithCancel(context.Background())
	return d
}

func (d *direct) register(desc *grpc.ServiceDesc, impl any) {
	for _, m := range desc.Methods {
		d.methods["/"+desc.ServiceName+"/"+m.MethodName] = unaryMethod{m.Handler, impl}
	}
	for _, s := range desc.Streams {
		d.streams["/"+desc.ServiceName+"/"+s.StreamName] = streamMethod{s, impl}
	}
}

// enter counts a call, which must then leave; false if the server is stopping.
func (d *direct) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return false
	}
	d.calls.Add(1)
	return true
}

func (d *direct) leave() { d.calls.Done() }

// serve accepts the calls of a role until stop.
func (d *direct) serve(role *memoryRole) {
	d.mu.Lock()
	d.roles = append(d.roles, role)
	d.mu.Unlock()
	role.set(nil, d)
}

// cutPatience is how long cancelled calls may take to end. One that ignores its context is abandoned: the process is about to exit.
const cutPatience = time.Second

// stop accepts no more calls, waits for those in progress until ctx ends, then cancels them.
func (d *direct) stop(ctx context.Context) {
	d.mu.Lock()
	d.stopped = true
	roles := d.roles
	d.mu.Unlock()
	for _, role := range roles {
		role.set(d, nil)
	}
	defer d.cut()
	idle := make(chan struct{})
	go func() {
		d.calls.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return
	case <-ctx.Done():
	}
	d.cut()
	select {
	case <-idle:
	case <-time.After(cutPatience):
	}
}

// incoming returns a handler's context: it has the client context's cancellation, deadline and metadata, nothing else.
func (d *direct) incoming(ctx context.Context, name string, call grpc.ServerTransportStream) context.Context {
	in := context.Context(onlyEnd{ctx})
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		in = metadata.NewIncomingContext(in, md)
	}
	in = grpc.NewContextWithServerTransportStream(peer.NewContext(in, memoryPeer()), call)
	return d.stats.TagRPC(in, &stats.RPCTagInfo{FullMethodName: name})
}

// invoke runs a unary call.
func (d *direct) invoke(ctx context.Context, call *reply, req, resp any) (err error) {
	m, ok := d.methods[call.name]
	if !ok {
		return d.server.finish(ctx, call.name, nil, fault.Unimplemented(call.name))
	}
	in := d.incoming(ctx, call.name, call)
	d.stats.HandleRPC(in, &stats.Begin{BeginTime: time.Now()})
	defer func() { d.stats.HandleRPC(in, &stats.End{EndTime: time.Now(), Error: err}) }()
	out, err := m.handle(m.impl, in, func(into any) error {
		p, err := pack(req)
		if err != nil {
			return err // the caller's mistake, which a network client finds before it sends
		}
		if err := p.open(into); err != nil {
			return d.server.finish(in, call.name, nil, received(err))
		}
		return nil
	}, d.server.unary)
	if err != nil {
		return err
	}
	p, err := encode(out)
	if err != nil {
		return err
	}
	if p.bytes > MaxMessage {
		p.free()
		return d.server.finish(in, call.name, nil, responseTooLarge(p.bytes))
	}
	return p.open(resp)
}

// open starts a stream: its handler runs until it ends or the client's context does.
func (d *direct) open(ctx context.Context, s *memoryStream) error {
	m, ok := d.streams[s.name]
	if !ok {
		return d.server.finish(ctx, s.name, nil, fault.Unimplemented(s.name))
	}
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(d.life, cancel)
	server := &serverSide{memoryStream: s}
	server.ctx = d.incoming(ctx, s.name, &s.reply)
	go func() {
		stack.Grow()
		defer d.leave()
		defer cancel()
		defer unhook()
		d.stats.HandleRPC(server.ctx, &stats.Begin{
			BeginTime: time.Now(), IsClientStream: m.desc.ClientStreams,
			IsServerStream: m.desc.ServerStreams,
		})
		err := d.server.stream(m.impl, server, &grpc.StreamServerInfo{
			FullMethod: s.name, IsClientStream: m.desc.ClientStreams, IsServerStream: m.desc.ServerStreams,
		}, m.desc.Handler)
		d.stats.HandleRPC(server.ctx, &stats.End{EndTime: time.Now(), Error: err})
		if err != nil && d.life.Err() != nil {
			err = errStopped()
		}
		s.finish(err)
	}()
	return nil
}

func errStopped() error { return status.Error(codes.Unavailable, "the server has stopped") }

// onlyEnd is a context without its parent's values: a server must not see its caller's.
type onlyEnd struct{ context.Context }

// Value implements context.Context. Package context looks up a *int key, as no other code does, to find a context that children can attach
// to; without it, it starts a goroutine for each child.
func (o onlyEnd) Value(key any) any {
	if _, own := key.(*int); own {
		return o.Context.Value(key)
	}
	return nil
}
