package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// reply holds the headers and trailers of a call.
type reply struct {
	name string

	mu              sync.Mutex
	header, trailer metadata.MD
}

// Method implements grpc.ServerTransportStream.
func (r *reply) Method() string { return r.name }

// SetHeader implements grpc.ServerTransportStream.
func (r *reply) SetHeader(md metadata.MD) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header = metadata.Join(r.header, md)
	return nil
}

// SendHeader implements grpc.ServerTransportStream.
func (r *reply) SendHeader(md metadata.MD) error { return r.SetHeader(md) }

// SetTrailer implements grpc.ServerTransportStream.
func (r *reply) SetTrailer(md metadata.MD) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trailer = metadata.Join(r.trailer, md)
	return nil
}

// tell copies headers and trailers into the call options that ask for them.
func (r *reply) tell(opts []grpc.CallOption) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = r.header
		case grpc.TrailerCallOption:
			*o.TrailerAddr = r.trailer
		}
	}
}

// memoryStream is shared by both sides of a stream.
type memoryStream struct {
	reply

	up, down *pipe
	// open is closed when the header is sent, or when the stream ends without one.
	open     chan struct{}
	openOnce sync.Once
	admitted bool // the header is sent; read it when open is closed
}

func newMemoryStream(name string) *memoryStream {
	return &memoryStream{reply: reply{name: name}, up: newPipe(), down: newPipe(), open: make(chan struct{})}
}

// admit sends the header, once.
func (s *memoryStream) admit(yes bool) {
	s.openOnce.Do(func() {
		s.admitted = yes
		close(s.open)
	})
}

// finish ends the stream with the handler's result.
func (s *memoryStream) finish(err error) {
	if err == nil {
		err = io.EOF
		s.admit(true)
	}
	s.admit(false)
	s.up.close(io.EOF)
	s.down.close(err)
}

// serverSide is the handler's side of a stream.
type serverSide struct {
	*memoryStream

	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *serverSide) Context() context.Context { return s.ctx }

// SendHeader implements grpc.ServerStream.
func (s *serverSide) SendHeader(md metadata.MD) error {
	err := s.SetHeader(md)
	s.admit(true)
	return err
}

// SetTrailer implements grpc.ServerStream.
func (s *serverSide) SetTrailer(md metadata.MD) { _ = s.reply.SetTrailer(md) } // never fails

// SendMsg implements grpc.ServerStream.
func (s *serverSide) SendMsg(m any) error {
	s.admit(true)
	return streamError(s.down.send(s.ctx, m))
}

// RecvMsg implements grpc.ServerStream.
func (s *serverSide) RecvMsg(m any) error { return streamError(s.up.receive(s.ctx, m)) }

// clientSide is the caller's side of a stream.
type clientSide struct {
	*memoryStream

	ctx    context.Context
	cancel context.CancelFunc
	desc   *grpc.StreamDesc
	stats  stats.Handler
	unhook func() bool
	once   sync.Once
}

// over records the end, once, and cancels a handler that has not ended yet.
func (c *clientSide) over(err error) {
	c.once.Do(func() {
		defer c.cancel()
		if errors.Is(err, io.EOF) {
			err = nil
		}
		c.stats.HandleRPC(c.ctx, &stats.End{Client: true, EndTime: time.Now(), Error: err})
	})
}

// Header implements grpc.ClientStream. It returns nil if the call was refused; receiving returns why.
func (c *clientSide) Header() (metadata.MD, error) {
	select {
	case <-c.open:
	case <-c.ctx.Done():
		return nil, nil
	}
	if !c.admitted {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return metadata.Join(metadata.MD{}, c.header), nil
}

// Trailer implements grpc.ClientStream.
func (c *clientSide) Trailer() metadata.MD {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trailer
}

// CloseSend implements grpc.ClientStream.
func (c *clientSide) CloseSend() error {
	c.up.close(io.EOF)
	return nil
}

// Context implements grpc.ClientStream.
func (c *clientSide) Context() context.Context { return c.ctx }

// SendMsg implements grpc.ClientStream. It returns io.EOF if the stream is over, but nil for the only request of a call; receiving returns
// why. A message that cannot be sent ends the stream.
func (c *clientSide) SendMsg(m any) error {
	err := streamError(c.up.send(c.ctx, m))
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		c.ended(err)
	case !c.desc.ClientStreams:
		return nil
	}
	return err
}

// RecvMsg implements grpc.ClientStream.
func (c *clientSide) RecvMsg(m any) error {
	err := c.down.receive(c.ctx, m)
	if err == nil && !c.desc.ServerStreams { // the only response counts only if the call succeeded
		if end := c.down.receive(c.ctx, m); !errors.Is(end, io.EOF) {
			err = end
		} else {
			c.ended(nil)
		}
	}
	if err == nil {
		return nil
	}
	err = streamError(err)
	c.ended(err)
	return err
}

func (c *clientSide) ended(err error) {
	c.unhook()
	c.over(err)
}

// streamError maps a context error to its gRPC code. The end of a stream stays io.EOF.
func streamError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if status.Code(err) == codes.Unknown {
			return status.FromContextError(err).Err()
		}
	}
	return err
}
