package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // servers may compress
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// GRPCCall is one call of a method with one request message.
type GRPCCall struct {
	// Address is host:port of the server, Secure means TLS.
	Address string
	Secure  bool
	// Method is "/package.Service/Method".
	Method string
	// Metadata is sent with the request.
	Metadata metadata.MD
	// Message is the encoded request.
	Message []byte
	// MaxBytes limits each message of the response and, of a stream, what is kept of it. MaxMessages limits the number of messages kept.
	MaxBytes, MaxMessages int
	// Enough means that a stream is ended when its limits are reached. Otherwise its end is awaited.
	Enough bool
}

// GRPCAnswer is what a server sent.
type GRPCAnswer struct {
	// Messages are encoded.
	Messages [][]byte
	// Cut means that there were more messages than are kept.
	Cut bool
	// Status is the one that the server ended the call with; nil if it has not.
	Status *status.Status
}

// maxDiscarded is the number of messages that are received and not kept before a call is given up.
const maxDiscarded = 100_000

var errEndless = errors.New("the stream of responses does not end")

// CallGRPC sends the request once, and returns the messages and the status of the server. gRPC repeats a call by itself if the server, or
// anything on the way to it, says that it did not process the call. Here it is written to at most one connection, whatever the peer says.
//
// The error is nil if the server ended the call with a status, or Enough was reached. It is a *NotSentError if the call was certainly not
// sent and a *TooLargeError if a message exceeds its limit. With any other error the call may have run; the answer has what came before.
func (e *Egress) CallGRPC(ctx context.Context, c GRPCCall) (GRPCAnswer, error) {
	conn, err := e.borrow(c.Address, c.Secure)
	if err != nil {
		return GRPCAnswer{}, &NotSentError{Err: err}
	}
	seen := &observed{}
	ctx, cancel := context.WithCancel(context.WithValue(metadata.NewOutgoingContext(ctx, c.Metadata), observedKey{}, seen))
	defer e.release(conn)
	defer cancel()
	// Even of unary methods, so that an error of the client library about the number of messages is not taken for one of the server.
	desc := &grpc.StreamDesc{ServerStreams: true}
	stream, err := conn.open(ctx, desc, c.Method, grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(c.MaxBytes))
	if errors.Is(err, ErrDenied) {
		return GRPCAnswer{}, &NotSentError{Err: err}
	}
	if err != nil {
		return GRPCAnswer{}, &NotSentError{Err: errors.New(status.Convert(err).Message())}
	}
	_ = stream.Context() // documented to disable all retries, of which there were none yet
	if err := stream.SendMsg(c.Message); err != nil && !errors.Is(err, io.EOF) {
		return GRPCAnswer{}, fmt.Errorf("send the request: %s", status.Convert(err).Message())
	}
	// After io.EOF, receiving says why.
	if err := stream.CloseSend(); err != nil && !errors.Is(err, io.EOF) {
		return GRPCAnswer{}, fmt.Errorf("send the request: %s", status.Convert(err).Message())
	}
	answer, err := c.receive(stream, seen)
	if err != nil && ctx.Err() != nil && !seen.header.Load() { // silence
		conn.broken.Store(true)
	}
	return answer, err
}

func (c GRPCCall) receive(stream grpc.ClientStream, seen *observed) (GRPCAnswer, error) {
	var a GRPCAnswer
	kept, discarded := 0, 0
	for {
		var message []byte
		err := stream.RecvMsg(&message)
		switch {
		case errors.Is(err, io.EOF):
			a.Status = status.New(codes.OK, "")
			return a, nil
		case err != nil && isTooLarge(err):
			return a, &TooLargeError{Limit: int64(c.MaxBytes)}
		case err != nil && seen.ended(err):
			a.Status = status.Convert(err)
			return a, nil
		case err != nil:
			return a, errors.New(status.Convert(err).Message())
		case !a.Cut && len(a.Messages) < c.MaxMessages && kept+len(message) <= c.MaxBytes:
			a.Messages, kept = append(a.Messages, message), kept+len(message)
			continue
		}
		if a.Cut = true; c.Enough {
			return a, nil
		}
		if discarded++; discarded > maxDiscarded {
			return a, errEndless
		}
	}
}

// isTooLarge reports whether the client library rejected a message for its size. There is no other sign of it than the text.
func isTooLarge(err error) bool {
	s := status.Convert(err)
	return s.Code() == codes.ResourceExhausted && strings.HasPrefix(s.Message(), "grpc: received message ") &&
		strings.Contains(s.Message(), "larger than max")
}

type observedKey struct{}

// observed is what came back of one call.
type observed struct {
	header, trailer atomic.Bool
	compression     atomic.Pointer[string]
}

// ended reports whether an error is the status that the server ended the call with, and not one that the client library made of what it
// saw: a connection that broke, a stream that was reset, a response of something that is no gRPC server.
func (o *observed) ended(err error) bool {
	if !o.trailer.Load() {
		return false
	}
	name, code := o.compression.Load(), status.Code(err)
	unreadable := name != nil && *name != "" && *name != encoding.Identity && encoding.GetCompressor(*name) == nil
	return !unreadable || code != codes.Internal && code != codes.Unimplemented // which the library says of a message that it cannot read
}

// observer reports to calls what came back.
type observer struct{}

// TagRPC implements stats.Handler.
func (observer) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (observer) HandleRPC(ctx context.Context, s stats.RPCStats) {
	o, ok := ctx.Value(observedKey{}).(*observed)
	if !ok {
		return
	}
	switch s := s.(type) {
	case *stats.InHeader:
		o.header.Store(true)
		o.compression.Store(&s.Compression)
	case *stats.InTrailer:
		o.header.Store(true)
		o.trailer.Store(true)
	}
}

// TagConn implements stats.Handler.
func (observer) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (observer) HandleConn(context.Context, stats.ConnStats) {}

// rawCodec passes encoded messages through.
type rawCodec struct{}

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("cannot send %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot receive %T", v)
	}
	*b = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2.
func (rawCodec) Name() string { return "proto" }
