package property

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// link is a connection that outlives the server it leads to.
type link struct {
	mu   sync.Mutex
	conn grpc.ClientConnInterface
}

func (l *link) set(conn grpc.ClientConnInterface) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
}

func (l *link) get() grpc.ClientConnInterface {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// Invoke implements grpc.ClientConnInterface.
func (l *link) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return l.get().Invoke(ctx, method, args, reply, opts...)
}

// NewStream implements grpc.ClientConnInterface.
func (l *link) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return l.get().NewStream(ctx, desc, method, opts...)
}

// as is a connection on which somebody calls.
type as struct {
	grpc.ClientConnInterface
	who *policyv1.Principal
}

// Invoke implements grpc.ClientConnInterface.
func (a as) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return a.ClientConnInterface.Invoke(authn.With(ctx, a.who), method, args, reply, opts...)
}

// NewStream implements grpc.ClientConnInterface.
func (a as) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return a.ClientConnInterface.NewStream(authn.With(ctx, a.who), desc, method, opts...)
}
