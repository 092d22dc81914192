package rpc

import (
	"cmp"
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
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/hostname"
	"github.com/windlass-dev/windlass/libs/peercred"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/rpc/admission"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// MaxMessage is the maximum size of a message in bytes, both ways: a stored tool result (8 MiB) with ample room around it.
const MaxMessage = 17 << 20

// streamWorkers is the number of goroutines reused for calls, whose stacks have already grown. Further concurrent calls get new goroutines.
const streamWorkers = 32

// Authorizer decides whether a principal holds a permission.
type Authorizer interface {
	// Decide answers from a cache if possible. An error means that there is no answer; the call then fails as unavailable.
	Decide(ctx context.Context, p *policyv1.Principal, permission string) (authz.Verdict, error)
	// RecordDenied records a denial for the audit trail before the caller learns of it, if that takes no longer than a moment.
	RecordDenied(ctx context.Context, p *policyv1.Principal, permission, method string)
}

// Require returns why a principal may not call a method or a path: policy cannot be asked, or the permission is missing, which is recorded.
func Require(ctx context.Context, a Authorizer, p *policyv1.Principal, permission, method string) error {
	verdict, err := a.Decide(ctx, p, permission)
	if err != nil {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "policy cannot be asked now").Cause(err)
	}
	if !verdict.Allowed {
		a.RecordDenied(ctx, p, permission, method)
		return fault.Denied(permission, verdict.DeniedBy)
	}
	return nil
}

// ServerConfig holds a server's dependencies; Log, Keyring and Authorizer are required.
type ServerConfig struct {
	// Log receives internal errors.
	Log *slog.Logger
	// Keyring authenticates roles of the mesh.
	Keyring *authn.Keyring
	// Authorizer authorizes them.
	Authorizer Authorizer
	// Authenticator authenticates callers from outside the mesh; nil refuses them.
	Authenticator *authn.Authenticator
	// Hosts are the names by which callers from outside the mesh may address the server, besides loopback and its address.
	Hosts hostname.Names
	// Tokens seals the tokens of callers from outside, for the calls that are made for them; nil = they end here.
	Tokens *callertoken.Sealer
	// ProviderData seals the credentials that callers from outside send with a call; nil refuses calls with some.
	ProviderData *providerdata.Sealer
	// TLS secures connections over TCP; nil leaves them in clear text.
	TLS *ServerTLS
	// NoReflection leaves out the service that describes the others to clients.
	NoReflection bool
	// Auditor records what callers do; nil records nothing.
	Auditor Auditor
	// Track returns a context for the handler of a method that is not internal, and what makes durable that which the handler has changed
	// with it. That is called before the caller learns of the change. nil makes nothing durable.
	Track func(context.Context) (tracked context.Context, flush func() error)
	// Requests counts the calls from outside the mesh towards quotas; nil does not.
	Requests *quota.Counter
	// Admission bounds what callers hold whose credentials are not accepted; the zero value = admission.Defaults.
	Admission admission.Limits
	// UserStreams bounds the open streams of one user, beside those that need no permission; 0 = 10,000.
	UserStreams int
	// DefaultTimeout bounds unary calls without a deadline; 0 = 90 s.
	DefaultTimeout time.Duration
}

// Server is one gRPC server with all interceptors. Register services, then call Serve.
type Server struct {
	cfg         ServerConfig
	grpc        *grpc.Server
	health      *health.Server
	validator   protovalidate.Validator
	public      *publicView
	permissions map[string]string
	internal    map[string]bool // methods that are for roles of the mesh only
	audited     map[string]bool // methods whose calls are recorded
	direct      *direct
	gate        *admission.Gate
	permitted   *permitted
	left        chan struct{} // closed when handlers were abandoned
	leave       sync.Once
	// stopping ends when Stop begins.
	stopping context.Context // of the server, not of a call
	stop     context.CancelFunc
}

// maxHeaders bounds the metadata of a call in bytes. Its largest part is a token with a user's claims, which arrived in headers of up to 64
// KiB.
const maxHeaders = 256 << 10

// handshakeTime is how long a new connection may take until it can be used.
const handshakeTime = 20 * time.Second

// NewServer returns a server without services.
func NewServer(cfg ServerConfig) (*Server, error) {
	if cfg.Log == nil || cfg.Keyring == nil || cfg.Authorizer == nil {
		return nil, errors.New("rpc server needs Log, Keyring and Authorizer")
	}
	if cfg.DefaultTimeout <= 0 {
		cfg.DefaultTimeout = 90 * time.Second
	}
	cfg.UserStreams = cmp.Or(cfg.UserStreams, defaultUserStreams)
	v, err := Validator()
	if err != nil {
		return nil, err
	}
	age, grace, err := cfg.TLS.age()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, health: health.NewServer(), validator: v, left: make(chan struct{}),
		gate: admission.New(cmp.Or(cfg.Admission, admission.Defaults())),
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.direct = newDirect(s)
	s.permitted = &permitted{server: s, open: map[*permittedStream]struct{}{}, users: map[streamUser]int{}}
	s.grpc = grpc.NewServer(
		grpc.Creds(peercred.Credentials(gated{cfg.TLS.transport()})),
		grpc.InTapHandle(begin), grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(handshakeTime),
		grpc.StatsHandler(serverStats()),
		grpc.ChainStreamInterceptor(s.stream),
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return nil }), // the interceptor rejects unknown methods
		grpc.ForceServerCodecV2(newCodec()), grpc.MaxRecvMsgSize(readLimit), grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: 30 * time.Second, Timeout: 10 * time.Second, MaxConnectionAge: age, MaxConnectionAgeGrace: grace,
		}),
	)
	s.public = newPublicView(s)
	healthv1.RegisterHealthServer(s, s.health)
	if !cfg.NoReflection {
		s.public.register(s)
	}
	return s, nil
}

// RegisterService implements grpc.ServiceRegistrar.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.grpc.RegisterService(s.asStreams(desc), impl)
	s.direct.register(desc, impl)
}

// SetServing sets the status that health checkers get: under "" for the whole server, and under each service that is not internal. The
// initial status is NOT_SERVING.
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

// Prepare checks that every registered RPC declares its permission. Serve calls it too; call it earlier to fail earlier.
func (s *Server) Prepare() error {
	p, err := Permissions(s.grpc.GetServiceInfo())
	if err != nil {
		return err
	}
	s.permissions, s.internal, s.audited = p, map[string]bool{}, map[string]bool{}
	for method := range p {
		s.internal[method], s.audited[method] = Internal(method), audited(method)
	}
	s.SetServing(false)
	return nil
}

// Serve accepts calls on all listeners until Stop, and then returns nil.
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
			go func() { ended <- s.grpc.Serve(s.gate.Listener(l)) }() // gRPC's Serve may wait for handlers, see Stop
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

// Stop lets calls in progress finish until ctx ends, then cancels them. Handlers that do not return within a second after that are
// abandoned; they run until the process ends.
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
	go s.grpc.Stop() // may wait for GracefulStop, which waits for handlers
	select {
	case <-done:
	case <-time.After(2 * cutPatience): // direct.stop has its own timeout
		s.leave.Do(func() { close(s.left) })
	}
}
