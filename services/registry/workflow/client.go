package workflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// Dialer opens gRPC connections; *egress.Egress is one.
type Dialer interface {
	GRPC(address string, secure bool, maxBytes int) (*grpc.ClientConn, error)
}

// Client calls workflows. It is safe for concurrent use.
type Client struct {
	dialer   Dialer
	maxBytes int

	mu    sync.Mutex
	conns map[string]connection // by source id
}

// connection is that of one source.
type connection struct {
	*grpc.ClientConn
	address string
	secure  bool
}

// NewClient returns a Client whose answers have at most maxBytes.
func NewClient(dialer Dialer, maxBytes int) *Client {
	return &Client{dialer: dialer, maxBytes: maxBytes, conns: map[string]connection{}}
}

// conn returns the connection of a source.
func (c *Client) conn(s store.Source) (connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have, ok := c.conns[s.ID]
	at := s.Spec.Temporal
	if ok && have.address == at.Address && have.secure == at.TLS {
		return have, nil
	}
	opened, err := c.dialer.GRPC(at.Address, at.TLS, c.maxBytes)
	if err != nil {
		return connection{}, fmt.Errorf("connect to %s: %w", at.Address, err)
	}
	if ok {
		_ = have.Close()
	}
	c.conns[s.ID] = connection{opened, at.Address, at.TLS}
	return c.conns[s.ID], nil
}

// drop closes a connection; the next call opens a new one.
func (c *Client) drop(sourceID string, conn connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns[sourceID].ClientConn == conn.ClientConn {
		delete(c.conns, sourceID)
	}
	_ = conn.Close()
}

// Forget closes the connection of a source.
func (c *Client) Forget(s store.Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn, ok := c.conns[s.ID]; ok {
		_ = conn.Close()
		delete(c.conns, s.ID)
	}
}

// Close closes all connections. Calls after it open new ones.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, conn := range c.conns {
		_ = conn.Close()
		delete(c.conns, id)
	}
}

// notSentError means that a request certainly did not reach the server.
type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }

// lostError means that no answer came in time, though the call itself has time left.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// server is the Temporal server of one source.
type server struct {
	client    *Client
	source    store.Source
	authorize func(*http.Request) error
}

func (s *server) namespace() string {
	if n := s.source.Spec.Temporal.Namespace; n != "" {
		return n
	}
	return "default"
}

// requestTimeout bounds one request; a server holds one that waits for about 20 seconds.
const requestTimeout = 30 * time.Second

// do sends one request, once. The error is a notSentError, a lostError, or has a gRPC status.
func (s *server) do(ctx context.Context, method string, in, out proto.Message) error {
	conn, err := s.client.conn(s.source)
	if err != nil {
		return notSentError{err}
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	header, err := s.header(ctx)
	if err != nil {
		return notSentError{err}
	}
	// NewStream fails only before anything of the request was written; later failures come from RecvMsg.
	stream, err := conn.NewStream(metadata.NewOutgoingContext(ctx, header), &grpc.StreamDesc{}, "/"+service+"/"+method)
	if err != nil {
		if conn.GetState() == connectivity.TransientFailure {
			s.client.drop(s.source.ID, conn) // it would not try to connect for a while
		}
		return notSentError{err}
	}
	err = stream.SendMsg(in)
	if err == nil || errors.Is(err, io.EOF) { // the reason comes from RecvMsg
		err = stream.RecvMsg(out)
	}
	if err != nil && ctx.Err() != nil && whole.Err() == nil {
		s.client.drop(s.source.ID, conn) // it is dead, or the server is
		return lostError{err}
	}
	return err
}

var service = workflowservice.WorkflowService_ServiceDesc.ServiceName

// header returns the metadata of a request: that of Temporal, and the credentials of the source.
func (s *server) header(ctx context.Context) (metadata.MD, error) {
	r := (&http.Request{Header: http.Header{}}).WithContext(ctx)
	if err := s.authorize(r); err != nil {
		return nil, err
	}
	md := metadata.MD{"temporal-namespace": {s.namespace()}}
	for name, values := range r.Header {
		md[strings.ToLower(name)] = values
	}
	return md, nil
}

// passing reports whether a request may succeed if it is made again.
func passing(err error) bool {
	if _, lost := errors.AsType[lostError](err); lost {
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unknown, codes.Canceled:
		return !tooLarge(err)
	default:
		return false
	}
}

// tooLarge reports whether an answer came that is larger than the connection takes.
func tooLarge(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max")
}
