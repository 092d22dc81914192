package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync"
	"time"

	"buf.build/go/protovalidate"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// MaxMessage is the largest message of the mesh in bytes, both ways: a stored tool result (8 MiB) with room around it.
const MaxMessage = 17 << 20

// streamWorkers is how many goroutines are kept for calls. Their stacks have grown to what a call needs; further calls at the same time get
// goroutines of their own.
const streamWorkers = 32

// Authorizer answers whether a principal holds a permission.
type Authorizer interface {
	// Decide answers from a cache where it can. An error means that there is no answer; the call is then refused as unavailable.
	Decide(ctx context.Context, p *policyv1.Principal, permission string) (authz.Verdict, error)
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
	public      *publicView
	permissions map[string]string
	internal    map[string]bool // the methods that are for roles of the mesh only
	direct      *direct
	left        chan struct{} // closed when handlers were left behind
	leave       sync.Once
	// stopping ends when Stop begins.
	stopping context.Context //nolint:containedctx // of the server, not of a call
	stop     context.CancelFunc
}

// maxHeaders bounds the metadata of a call, in bytes: a token with the claims of a user, which came in headers of 64 KiB, is the largest part.
const maxHeaders = 256 << 10

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
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.direct = newDirect(s)
	s.grpc = grpc.NewServer(
		grpc.StatsHandler(serverStats()),
		grpc.ChainStreamInterceptor(s.stream),
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return nil }), // the interceptor refuses what it does not know
		grpc.ForceServerCodecV2(newCodec()), grpc.MaxRecvMsgSize(readLimit), grpc.MaxHeaderListSize(maxHeaders), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	)
	s.public = newPublicView(s.grpc)
	healthv1.RegisterHealthServer(s, s.health)
	s.public.register(s)
	return s, nil
}

// RegisterService implements grpc.ServiceRegistrar.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.grpc.RegisterService(s.asStreams(desc), impl)
	s.direct.register(desc, impl)
}

// SetServing tells health checkers whether the server takes calls: "" stands for the whole server, and each service that is not internal has
// its name. A server that was not told says NOT_SERVING.
func (s *Server) SetServing(ok bool) {
	st := healthv1.HealthCheckResponse_NOT_SERVING
	if ok {
		st = healthv1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", st)
	for name := range s.public.GetServiceInfo() {
		s.health.SetServingStatus(name, st)
	}
}

// Prepare checks that every registered RPC declares its permission. Serve does it by itself; call it earlier to fail earlier.
func (s *Server) Prepare() error {
	p, err := Permissions(s.grpc.GetServiceInfo())
	if err != nil {
		return err
	}
	s.permissions, s.internal = p, map[string]bool{}
	for method := range p {
		s.internal[method] = Internal(method)
	}
	s.SetServing(false)
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

// Stop lets calls under way end until ctx does, then cuts them. Handlers that do not return within a second of that are left behind: they run on until
// the process ends.
func (s *Server) Stop(ctx context.Context) {
	s.health.Shutdown()
	s.stop()
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
