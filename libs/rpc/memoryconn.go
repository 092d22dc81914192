package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// memoryConn is a connection to a role of this process.
type memoryConn struct {
	caller caller
	role   *memoryRole
	stats  stats.Handler
}

// Close implements Conn.
func (*memoryConn) Close() error { return nil }

// Invoke implements grpc.ClientConnInterface.
func (c *memoryConn) Invoke(ctx context.Context, name string, req, resp any, opts ...grpc.CallOption) (err error) {
	ctx, err = c.caller.sign(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := c.caller.bound(ctx)
	defer cancel()
	ctx = c.stats.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: name})
	c.stats.HandleRPC(ctx, &stats.Begin{Client: true, BeginTime: time.Now()})
	defer func() { c.stats.HandleRPC(ctx, &stats.End{Client: true, EndTime: time.Now(), Error: err}) }()
	d, err := c.enter(ctx, waits(opts))
	if err != nil {
		return err
	}
	defer d.leave()
	unhook := context.AfterFunc(d.life, cancel)
	defer unhook()
	call := &reply{name: name}
	err = d.invoke(ctx, call, req, resp)
	call.tell(opts)
	switch {
	case err == nil:
		return nil
	case d.life.Err() != nil:
		return errStopped()
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	}
	return err
}

// NewStream implements grpc.ClientConnInterface. WaitForReady is the only call option that it supports.
func (c *memoryConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, name string, opts ...grpc.CallOption) (grpc.ClientStream,
	error,
) {
	ctx, err := c.caller.sign(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ctx = c.stats.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: name})
	c.stats.HandleRPC(ctx, &stats.Begin{
		Client: true, BeginTime: time.Now(), IsClientStream: desc.ClientStreams, IsServerStream: desc.ServerStreams,
	})
	client := &clientSide{memoryStream: newMemoryStream(name), ctx: ctx, cancel: cancel, desc: desc, stats: c.stats}
	d, err := c.enter(ctx, waits(opts))
	if err == nil {
		if err = d.open(ctx, client.memoryStream); err != nil {
			d.leave()
		}
	}
	if err != nil {
		client.over(err)
		return nil, err
	}
	client.unhook = context.AfterFunc(ctx, func() { client.over(status.FromContextError(ctx.Err()).Err()) })
	return client, nil
}

// waits reports whether a call waits for a role that is not served, which is the default.
func waits(opts []grpc.CallOption) bool {
	yes := true
	for _, o := range opts {
		if o, ok := o.(grpc.FailFastCallOption); ok {
			yes = !o.FailFast
		}
	}
	return yes
}

// enter begins a call. If the role is not served it waits as long as the call's context and Patience allow; a call without WaitForReady
// waits only for Patience.
func (c *memoryConn) enter(ctx context.Context, waits bool) (*direct, error) {
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	if d := c.role.now(); d != nil {
		return d, nil
	}
	wait, patience := ctx, c.caller.cfg.Patience
	switch {
	case patience > 0:
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	case !waits:
		return nil, status.Error(codes.Unavailable, "no process serves this role now")
	}
	d, err := c.role.enter(wait)
	switch {
	case err == nil:
		return d, nil
	case ctx.Err() == nil:
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "a part of the mesh cannot be reached")
	}
	return nil, status.FromContextError(err).Err()
}
