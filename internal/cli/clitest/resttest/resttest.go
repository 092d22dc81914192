// Package resttest serves the REST API of the gateway over services that record requests and return given responses.
package resttest

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/gateway/rest"
)

// Services are all services of the mesh.
type Services struct {
	// Responses are what methods return, by full name; others return an empty message.
	Responses map[string]proto.Message

	mu       sync.Mutex
	requests []proto.Message
}

// Handler returns the REST API over the services.
func (s *Services) Handler(t *testing.T) http.Handler {
	t.Helper()
	api, err := rest.New(rest.Deps{
		Sessions: s, Registry: s, Policy: s, Inference: s, Knowledge: s, Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20,
		Timeout: time.Minute, MaxTimeout: time.Minute, Matched: func(context.Context, string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// Requests returns the requests since the last call of Requests.
func (s *Services) Requests() []proto.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

// Invoke implements grpc.ClientConnInterface.
func (s *Services) Invoke(_ context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, proto.CloneOf(args.(proto.Message)))
	if r := s.Responses[method]; r != nil {
		proto.Merge(reply.(proto.Message), r)
	}
	return nil
}

// NewStream implements grpc.ClientConnInterface.
func (s *Services) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "there are no streams")
}
