package property

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"

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

// dice picks replicas. It is reset for each sequence, so that a repeated sequence picks the same ones.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newDice() *dice { return &dice{rng: rand.New(rand.NewPCG(0, 0))} }

func (d *dice) reset(seed uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rng = rand.New(rand.NewPCG(seed, 0))
}

func (d *dice) of(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// spread is a connection to several replicas: each call goes to a random one, streams to one after the other.
type spread struct {
	links   []*link
	dice    *dice
	streams atomic.Uint32
}

// Invoke implements grpc.ClientConnInterface.
func (s *spread) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return s.links[s.dice.of(len(s.links))].Invoke(ctx, method, args, reply, opts...)
}

// NewStream implements grpc.ClientConnInterface.
func (s *spread) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return s.links[int(s.streams.Add(1))%len(s.links)].NewStream(ctx, desc, method, opts...)
}

// as is a connection that calls as a principal.
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
