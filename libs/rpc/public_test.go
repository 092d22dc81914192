package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	bridge  = "windlass.mcpbridge.v1.BridgeService" // internal as a whole
	policy  = "windlass.policy.v1.PolicyService"    // partly internal
	healthy = "grpc.health.v1.Health"
)

// port is a server on TCP as users reach it: without a token, from this machine.
type port struct {
	server *rpc.Server
	users  *grpc.ClientConn
	roles  rpc.Conn
	log    *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newPort(t *testing.T, authorizer rpc.Authorizer, register ...func(grpc.ServiceRegistrar)) *port {
	t.Helper()
	p := &port{log: &safeBuffer{}}
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	if p.server, err = rpc.NewServer(rpc.ServerConfig{
		Log: slog.New(slog.NewTextHandler(p.log, nil)), Keyring: ring, Authorizer: authorizer,
		Authenticator: authn.NewAuthenticator(nil, []authn.PeerVerifier{authn.Loopback{}}),
	}); err != nil {
		t.Fatal(err)
	}
	mcpbridgev1.RegisterBridgeServiceServer(p.server, mcpbridgev1.UnimplementedBridgeServiceServer{})
	policyv1.RegisterPolicyServiceServer(p.server, fake{get: func(context.Context) (*policyv1.Decision, error) {
		return &policyv1.Decision{Reason: strings.Repeat("x", rpc.MaxMessage)}, nil
	}})
	for _, add := range register {
		add(p.server)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.server.Serve(l) }()
	t.Cleanup(func() {
		p.server.Stop(context.Background())
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if p.users, err = grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(2*rpc.MaxMessage), grpc.MaxCallRecvMsgSize(2*rpc.MaxMessage),
			grpc.WaitForReady(true))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.users.Close() })
	p.roles, err = rpc.Dial(rpc.TCP{Targets: map[string]string{"x": l.Addr().String()}}, "x",
		rpc.ClientConfig{Keyring: ring, As: authn.Service("registry")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.roles.Close() })
	return p
}

// call calls a method as a client without our generated code does, and returns the code and the ErrorInfo.
func call(t *testing.T, conn grpc.ClientConnInterface, method string, req proto.Message) (codes.Code, *errdetails.ErrorInfo, string) {
	t.Helper()
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		if err = stream.SendMsg(req); err == nil || errors.Is(err, io.EOF) {
			_ = stream.CloseSend()
			err = stream.RecvMsg(&emptypb.Empty{})
		}
	}
	st := status.Convert(err)
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return st.Code(), info, st.Message()
		}
	}
	return st.Code(), nil, st.Message()
}

func TestErrorsOfTheFrameworkHaveAReason(t *testing.T) {
	large := &policyv1.GetDecisionRequest{DecisionId: strings.Repeat("x", rpc.MaxMessage+1)}
	garbage := &emptypb.Empty{}
	garbage.ProtoReflect().SetUnknown([]byte{0x0a, 0x7f, 0x01}) // a truncated string field
	for name, row := range map[string]struct {
		method string
		req    proto.Message
		code   codes.Code
		reason string
	}{
		"an unknown service":          {"/no.such.Service/Do", &emptypb.Empty{}, codes.Unimplemented, "UNIMPLEMENTED"},
		"an unknown method":           {"/" + policy + "/Nothing", &emptypb.Empty{}, codes.Unimplemented, "UNIMPLEMENTED"},
		"a method without a handler":  {"/" + policy + "/ListDecisions", &emptypb.Empty{}, codes.Unimplemented, "UNIMPLEMENTED"},
		"a request that is too large": {"/" + policy + "/GetDecision", large, codes.ResourceExhausted, "TOO_LARGE"},
		"a request that is garbage":   {"/" + policy + "/GetDecision", garbage, codes.InvalidArgument, "MALFORMED_BODY"},
		"an answer that is too large": {
			"/" + policy + "/GetDecision", &policyv1.GetDecisionRequest{DecisionId: "dec_1"}, codes.ResourceExhausted, "RESPONSE_TOO_LARGE",
		},
		"an internal service":          {"/" + bridge + "/Discover", &emptypb.Empty{}, codes.Unimplemented, "UNIMPLEMENTED"},
		"an internal stream":           {"/" + bridge + "/Watch", &emptypb.Empty{}, codes.Unimplemented, "UNIMPLEMENTED"},
		"an internal method":           {"/" + policy + "/GetPermissions", &emptypb.Empty{}, codes.Unimplemented, "UNIMPLEMENTED"},
		"health of an unknown service": {"/" + healthy + "/Check", &healthv1.HealthCheckRequest{Service: "no.such"}, codes.NotFound, "NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPort(t, rpctest.AllowAll{})
			code, info, text := call(t, p.users, row.method, row.req)
			if code != row.code || info.GetReason() != row.reason || info.GetDomain() != "windlass.dev" {
				t.Errorf("%s %v: %s", code, info, text)
			}
			if logged := p.log.String(); logged != "" {
				t.Errorf("logged: %s", logged)
			}
		})
	}
}

// Roles of the mesh can call over TCP what users cannot.
func TestRolesReachInternalServices(t *testing.T) {
	p := newPort(t, rpctest.AllowAll{})
	_, err := mcpbridgev1.NewBridgeServiceClient(p.roles).Release(t.Context(), &mcpbridgev1.ReleaseRequest{})
	if code := status.Code(err); code != codes.InvalidArgument {
		t.Errorf("a role gets %v, want a complaint about the request", err)
	}
}

func TestADenialNamesItsRule(t *testing.T) {
	p := newPort(t, denyAll{})
	code, info, text := call(t, p.users, "/"+policy+"/GetDecision", &policyv1.GetDecisionRequest{DecisionId: "dec_1"})
	if code != codes.PermissionDenied || info.GetReason() != "PERMISSION_DENIED" || info.GetMetadata()["rule"] != "no-readers" ||
		info.GetMetadata()["permission"] != "policy.decisions.get" || !strings.Contains(text, `"no-readers"`) {
		t.Errorf("%s %v: %s", code, info, text)
	}
}

func TestHealth(t *testing.T) {
	p := newPort(t, rpctest.AllowAll{})
	c := healthv1.NewHealthClient(p.users)
	served := append(reflected(t, p), "")
	check := func(service string) healthv1.HealthCheckResponse_ServingStatus {
		t.Helper()
		resp, err := c.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatalf("%q: %v", service, err)
		}
		return resp.GetStatus()
	}
	for _, name := range served {
		if got := check(name); got != healthv1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("%q before the start is done: %s", name, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watching, err := c.Watch(ctx, &healthv1.HealthCheckRequest{Service: policy})
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := c.Watch(ctx, &healthv1.HealthCheckRequest{Service: "no.such"})
	if err != nil {
		t.Fatal(err)
	}
	next := func(s healthv1.Health_WatchClient, want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		resp, err := s.Recv()
		if err != nil || resp.GetStatus() != want {
			t.Fatalf("watch: %v, %v, want %s", resp, err, want)
		}
	}
	next(watching, healthv1.HealthCheckResponse_NOT_SERVING)
	next(unknown, healthv1.HealthCheckResponse_SERVICE_UNKNOWN)
	p.server.SetServing(true)
	next(watching, healthv1.HealthCheckResponse_SERVING)
	for _, name := range served {
		if got := check(name); got != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %s", name, got)
		}
	}
	if code, _, _ := call(t, p.users, "/"+healthy+"/Check", &healthv1.HealthCheckRequest{Service: bridge}); code != codes.NotFound {
		t.Errorf("health of an internal service: %s", code)
	}
	// A health watcher does not delay the stop.
	p.server.Stop(t.Context())
	for err == nil {
		_, err = watching.Recv()
	}
}

// reflected returns the services that reflection lists. It fails if their descriptors contain anything internal.
func reflected(t *testing.T, p *port) []string {
	t.Helper()
	stream, err := reflectionv1.NewServerReflectionClient(p.users).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.CloseSend() }()
	ask := func(req *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	var names []string
	for _, s := range ask(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	}).GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
		for _, raw := range ask(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: s.GetName()},
		}).GetFileDescriptorResponse().GetFileDescriptorProto() {
			fd := &descriptorpb.FileDescriptorProto{}
			if err := proto.Unmarshal(raw, fd); err != nil {
				t.Fatal(err)
			}
			for _, service := range fd.GetService() {
				for _, m := range service.GetMethod() {
					if rpc.Internal("/" + fd.GetPackage() + "." + service.GetName() + "/" + m.GetName()) {
						t.Errorf("reflection shows %s.%s", service.GetName(), m.GetName())
					}
				}
			}
		}
	}
	for _, hidden := range []string{bridge, policy + ".GetPermissions"} {
		if e := ask(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: hidden},
		}).GetErrorResponse(); codes.Code(e.GetErrorCode()) != codes.NotFound {
			t.Errorf("reflection knows %s: %v", hidden, e)
		}
	}
	return names
}

func TestReflectionListsWhatIsServed(t *testing.T) {
	names := reflected(t, newPort(t, rpctest.AllowAll{}))
	slices.Sort(names)
	want := []string{healthy, "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection", policy}
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// Clients that know the API by reflection only can read errors, and what methods do.
func TestReflectionExplainsErrorsAndMethods(t *testing.T) {
	p := newPort(t, rpctest.AllowAll{})
	stream, err := reflectionv1.NewServerReflectionClient(p.users).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.CloseSend() }()
	file := func(symbol string) protoreflect.FileDescriptor {
		t.Helper()
		err := stream.Send(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
		})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil || resp.GetErrorResponse() != nil {
			t.Fatalf("%s: %v, %v", symbol, resp, err)
		}
		fd := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(resp.GetFileDescriptorResponse().GetFileDescriptorProto()[0], fd); err != nil {
			t.Fatal(err)
		}
		made, err := protodesc.FileOptions{AllowUnresolvable: true}.New(fd, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	_, err = policyv1.NewPolicyServiceClient(p.users).GetDecision(t.Context(), &policyv1.GetDecisionRequest{})
	for _, detail := range status.Convert(err).Proto().GetDetails() {
		name := detail.MessageName()
		if fd := file(string(name)); fd.Messages().ByName(name.Name()) == nil {
			t.Errorf("%s is not described", name)
		}
	}
	fd := file(policy)
	where := func(d protoreflect.Descriptor) string {
		return fd.SourceLocations().ByDescriptor(d).LeadingComments
	}
	get := fd.Services().ByName("PolicyService").Methods().ByName("GetDecision")
	for d, want := range map[protoreflect.Descriptor]string{
		get.Parent(): "PolicyService", get: "GetDecision returns",
		fd.Messages().ByName("GetDecisionRequest").Fields().ByName("decision_id"): "dec_",
	} {
		if got := where(d); !strings.Contains(got, want) {
			t.Errorf("the comment of %s is %q", d.FullName(), got)
		}
	}
}

// Every answer has the id of its request: the caller's own, or a new one.
func TestAnswersHaveTheRequestID(t *testing.T) {
	p := newPort(t, rpctest.AllowAll{})
	seen := map[string]bool{}
	for _, method := range []string{
		"/" + policy + "/GetDecision", "/" + policy + "/Nothing", "/" + healthy + "/Check", "/" + bridge + "/Discover",
	} {
		var header metadata.MD
		id := func(ctx context.Context) string {
			header = nil
			_ = p.users.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}, grpc.Header(&header)) // most of them fail
			return strings.Join(header.Get("x-request-id"), " ")
		}
		if got := id(metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "of-the-caller")); got != "of-the-caller" {
			t.Errorf("%s echoes %q", method, got)
		}
		if got := id(t.Context()); !strings.HasPrefix(got, "req_") || seen[got] {
			t.Errorf("%s: %q", method, got)
		} else {
			seen[got] = true
		}
	}
}

// TestMetadataIsBounded: metadata is read before the caller is known.
func TestMetadataIsBounded(t *testing.T) {
	p := newPort(t, rpctest.AllowAll{})
	for size, refused := range map[int]bool{64 << 10: false, 1 << 20: true} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-long", strings.Repeat("x", size))
		_, err := policyv1.NewPolicyServiceClient(p.users).GetDecision(ctx, &policyv1.GetDecisionRequest{})
		if got := status.Code(err) != codes.InvalidArgument; got != refused { // other text about the request
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
