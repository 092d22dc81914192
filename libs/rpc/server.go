package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"buf.build/go/protovalidate"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// MaxMessage is the largest message of the mesh in bytes, both ways: a stored tool result (8 MiB) with room around it.
const MaxMessage = 17 << 20

// streamWorkers is how many goroutines are kept for calls. Their stacks have grown to what a call needs; further calls at the same time get
// goroutines of their own.
const streamWorkers = 32

// Authorizer answers whether a principal holds a permission.
type Authorizer interface {
	// Allow answers from a cache where it can. An error means that nobody could tell; the call is then refused as unavailable.
	Allow(ctx context.Context, p *policyv1.Principal, permission string) (bool, error)
	// RecordDenied keeps a refusal for the audit. It never blocks.
	RecordDenied(ctx context.Context, p *policyv1.Principal, permission, method string)
}

// ServerConfig is what a server needs; every field but Loopback and DefaultTimeout is required.
type ServerConfig struct {
	// Log gets what went wrong on our side.
	Log *slog.Logger
	// Keyring checks who calls.
	Keyring *authn.Keyring
	// Authorizer decides who may.
	Authorizer Authorizer
	// Loopback is who a caller from this machine is when he shows no token; nil refuses such calls.
	Loopback *policyv1.Principal
	// DefaultTimeout bounds unary calls that come without a deadline; 0 = 90 s.
	DefaultTimeout time.Duration
}

// Server is one gRPC server with all interceptors. Register services, then Serve.
type Server struct {
	cfg         ServerConfig
	grpc        *grpc.Server
	health      *health.Server
	validator   protovalidate.Validator
	permissions map[string]string
	direct      *direct
	left        chan struct{} // closed when handlers were left behind
	leave       sync.Once
}

// NewServer makes a server without services.
func NewServer(cfg ServerConfig) (*Server, error) {
	if cfg.Log == nil || cfg.Keyring == nil || cfg.Authorizer == nil {
		return nil, errors.New("rpc server needs Log, Keyring and Authorizer")
	}
	if cfg.DefaultTimeout <= 0 {
		cfg.DefaultTimeout = 90 * time.Second
	}
	v, err := protovalidate.New()
	if err != nil {
		return nil, fmt.Errorf("build validator: %w", err)
	}
	s := &Server{cfg: cfg, health: health.NewServer(), validator: v, left: make(chan struct{})}
	s.direct = newDirect(s.unary, s.stream)
	s.grpc = grpc.NewServer(
		grpc.StatsHandler(serverStats()),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	)
	healthv1.RegisterHealthServer(s, s.health)
	reflection.Register(s.grpc)
	return s, nil
}

// RegisterService implements grpc.ServiceRegistrar.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.grpc.RegisterService(desc, impl)
	s.direct.register(desc, impl)
}

// SetServing tells health checkers whether a service (full proto name, "" = the whole server) takes calls.
func (s *Server) SetServing(service string, ok bool) {
	st := healthv1.HealthCheckResponse_NOT_SERVING
	if ok {
		st = healthv1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus(service, st)
}

// Prepare checks that every registered RPC declares its permission. Serve does it by itself; call it earlier to fail earlier.
func (s *Server) Prepare() error {
	p, err := Permissions(s.grpc.GetServiceInfo())
	if err != nil {
		return err
	}
	s.permissions = p
	return nil
}

// Serve takes calls on all listeners until Stop. It returns nil after Stop.
func (s *Server) Serve(listeners ...net.Listener) error {
	if s.permissions == nil {
		if err := s.Prepare(); err != nil {
			return err
		}
	}
	var g errgroup.Group
	for _, l := range listeners {
		if role, ok := l.(*memoryRole); ok {
			s.direct.serve(role)
			g.Go(func() error {
				<-s.direct.life.Done()
				return nil
			})
			continue
		}
		g.Go(func() error {
			ended := make(chan error, 1)
			go func() { ended <- s.grpc.Serve(l) }() // gRPC's waits for handlers in some cases, see Stop
			select {
			case err := <-ended:
				if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
					return fmt.Errorf("serve on %s: %w", l.Addr(), err)
				}
			case <-s.left:
			}
			return nil
		})
	}
	return g.Wait()
}

// Stop lets calls under way end until ctx does, then cuts them. Handlers that do not heed that within a second are left behind: they run on until
// the process ends.
func (s *Server) Stop(ctx context.Context) {
	s.health.Shutdown()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var both sync.WaitGroup
		both.Go(func() { s.direct.stop(ctx) })
		both.Go(s.grpc.GracefulStop)
		both.Wait()
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	go s.grpc.Stop() // it may wait for GracefulStop, which waits for handlers
	select {
	case <-done:
	case <-time.After(2 * cutPatience): // direct.stop has its own
		s.leave.Do(func() { close(s.left) })
	}
}
