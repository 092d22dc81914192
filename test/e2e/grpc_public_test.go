package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/windlass-dev/windlass/libs/rpc"
	_ "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1" // the descriptors of everything there is
	_ "github.com/windlass-dev/windlass/proto/gen/windlass/health/v1"
	_ "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	_ "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	_ "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	_ "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	_ "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// notREST are the RPCs for users that have no path of their own in REST: what streams, and what REST does in another way.
var notREST = []string{
	"windlass.sessions.v1.TurnService.WatchTurn", "windlass.sessions.v1.EventService.WatchEvents",
	"windlass.sessions.v1.ApprovalService.WatchApprovals",
	"windlass.inference.v1.InferenceService.ResolveModel",
	"windlass.registry.v1.ToolService.RunTool", "windlass.registry.v1.ToolService.StopTool", "windlass.registry.v1.ToolService.WatchTools",
	"windlass.registry.v1.ServerService.ListServers", "windlass.registry.v1.ServerService.ForwardRequest", // REST's way is MCP
	"windlass.registry.v1.ServerService.WatchResources",
	"windlass.sessions.v1.ShareService.WatchShared",                                            // a stream, see gateway/sse
	"windlass.knowledge.v1.DocumentService.UploadDocument",                                     // a form, see gateway/upload
	"windlass.sessions.v1.FileService.UploadFile", "windlass.sessions.v1.FileService.ReadFile", // a form and bytes, see gateway/upload
	"windlass.sessions.v1.FileService.CreateUpload", "windlass.sessions.v1.FileService.AppendUpload", // and the tus protocol
	"windlass.sessions.v1.FileService.DeleteUpload",
}

// everyMethod calls f with all RPCs that the mesh serves.
func everyMethod(f func(full string, m protoreflect.MethodDescriptor)) {
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(fd.Package()), "windlass.") || fd.Package() == "windlass.executor.v1" { // which users serve
			return true
		}
		for i := range fd.Services().Len() {
			s := fd.Services().Get(i)
			for n := range s.Methods().Len() {
				f("/"+string(s.FullName())+"/"+string(s.Methods().Get(n).Name()), s.Methods().Get(n))
			}
		}
		return true
	})
}

// What is not for users is marked so, and what is for them is in REST too, but for a few.
func TestWhatIsForUsers(t *testing.T) {
	t.Parallel()
	everyMethod(func(full string, m protoreflect.MethodDescriptor) {
		rest := proto.HasExtension(m.Options(), annotations.E_Http) || slices.Contains(notREST, string(m.FullName()))
		if rest == rpc.Internal(full) {
			t.Errorf("%s: internal is %t, and for REST %t", full, rpc.Internal(full), rest)
		}
	})
}

// TestS14EveryRPCNamesAPermission: an RPC that names none, or one that is not "area.noun.verb", fails here. The few that need
// none are listed.
func TestS14EveryRPCNamesAPermission(t *testing.T) {
	t.Parallel()
	permission := regexp.MustCompile(`^[a-z]+\.[a-z_]+\.[a-z_]+$|^health\.get$`)
	var without []string
	everyMethod(func(full string, m protoreflect.MethodDescriptor) {
		switch p := rpc.Permission(m); {
		case p == rpc.Public || p == rpc.Authenticated:
			without = append(without, p+" "+full)
		case !permission.MatchString(p):
			t.Errorf("%s: the permission is %q", full, p)
		}
	})
	slices.Sort(without)
	if want := []string{
		"authenticated /windlass.policy.v1.PolicyService/GetCaller",
		"authenticated /windlass.sessions.v1.ShareService/GetShared", // who has the token of a share, if its audience says so
		"authenticated /windlass.sessions.v1.ShareService/WatchShared",
	}; !slices.Equal(without, want) {
		t.Errorf("RPCs that need no permission:\n%s\nwant\n%s", strings.Join(without, "\n"), strings.Join(want, "\n"))
	}
}

// On the port of users each RPC that is for them answers, and no other is there. A health check knows the services that are.
func TestThePublicPort(t *testing.T) {
	t.Parallel()
	address, _ := shared().Ready["grpc"].(string)
	s := newStranger(t, address)
	names := s.services()
	health := healthv1.NewHealthClient(s.conn)
	public := map[string]bool{}
	everyMethod(func(full string, m protoreflect.MethodDescriptor) {
		service := string(m.Parent().FullName())
		public[service] = public[service] || !rpc.Internal(full)
		code, reason := bare(t, s.conn, full)
		if rpc.Internal(full) != (code == codes.Unimplemented) || rpc.Internal(full) != (reason == "UNIMPLEMENTED") {
			t.Errorf("%s answers %s %s, internal is %t", full, code, reason, rpc.Internal(full))
		}
	})
	for service, want := range public {
		if slices.Contains(names, service) != want {
			t.Errorf("reflection lists %s: %t, want %t", service, !want, want)
		}
		resp, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		if want != (resp.GetStatus() == healthv1.HealthCheckResponse_SERVING) || !want && status.Code(err) != codes.NotFound {
			t.Errorf("health of %s: %v, %v", service, resp, err)
		}
	}
	for _, name := range append(names, "") {
		if resp, err := health.Check(t.Context(),
			&healthv1.HealthCheckRequest{Service: name}); resp.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", name, resp, err)
		}
	}
	if code, reason := bare(t, s.conn, "/no.such.Service/Do"); code != codes.Unimplemented || reason != "UNIMPLEMENTED" {
		t.Errorf("an unknown service: %s %s", code, reason)
	}
}

// bare calls a method with an empty message, and gives code and reason of what it answers. A stream that begins well is left.
func bare(t *testing.T, conn *grpc.ClientConn, method string) (codes.Code, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		err = stream.SendMsg(&emptypb.Empty{})
	}
	if err == nil || errors.Is(err, io.EOF) {
		_ = stream.CloseSend() // receiving tells
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	st := status.Convert(err)
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return st.Code(), info.GetReason()
		}
	}
	return st.Code(), ""
}

// A page token that cannot be used is named over REST as over gRPC.
func TestABadPageTokenIsAField(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/v1/agents", "/v1/sessions", "/v1/turns", "/v1/sources", "/v1/tools", "/v1/tool-groups", "/v1/executions", "/v1/decisions", "/v1/models",
		"/v1/approvals", "/v1/audit", "/v1/budgets", "/v1/schedules", "/v1/webhooks",
	} {
		code, got, err := client(t).Do(t.Context(), "GET", path+"?page_token=zzz", nil)
		fields, _ := got["fields"].([]any)
		if err != nil || code != http.StatusBadRequest || got.Str("code") != "invalid_page_token" || len(fields) != 1 ||
			fields[0].(map[string]any)["field"] != "page_token" {
			t.Errorf("%s: %d %v, %v", path, code, got, err)
		}
	}
}
