package e2e

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// stranger calls gRPC methods that it knows by reflection alone, as grpcurl does.
type stranger struct {
	t      *testing.T
	conn   *grpc.ClientConn
	stream reflectionpb.ServerReflection_ServerReflectionInfoClient
	files  map[string]*descriptorpb.FileDescriptorProto
}

func newStranger(t *testing.T, address string) *stranger {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the test is over
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &stranger{t: t, conn: conn, stream: stream, files: map[string]*descriptorpb.FileDescriptorProto{}}
}

func (s *stranger) ask(q *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
	s.t.Helper()
	if err := s.stream.Send(q); err != nil {
		s.t.Fatal(err)
	}
	a, err := s.stream.Recv()
	if err != nil {
		s.t.Fatal(err)
	}
	if e := a.GetErrorResponse(); e != nil {
		s.t.Fatalf("reflection of %v: %v", q, e)
	}
	return a
}

func (s *stranger) services() []string {
	s.t.Helper()
	var names []string
	list := s.ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
	for _, srv := range list.GetListServicesResponse().GetService() {
		names = append(names, srv.GetName())
	}
	return names
}

// learn keeps the files of an answer and asks for those that they import.
func (s *stranger) learn(a *reflectionpb.ServerReflectionResponse) {
	s.t.Helper()
	for _, raw := range a.GetFileDescriptorResponse().GetFileDescriptorProto() {
		var f descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(raw, &f); err != nil {
			s.t.Fatal(err)
		}
		s.files[f.GetName()] = &f
	}
	for _, f := range s.files {
		for _, name := range f.GetDependency() {
			if s.files[name] == nil {
				file := &reflectionpb.ServerReflectionRequest_FileByFilename{FileByFilename: name}
				s.learn(s.ask(&reflectionpb.ServerReflectionRequest{MessageRequest: file}))
			}
		}
	}
}

// service describes a service by its name.
func (s *stranger) service(name string) protoreflect.ServiceDescriptor {
	s.t.Helper()
	symbol := &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}
	s.learn(s.ask(&reflectionpb.ServerReflectionRequest{MessageRequest: symbol}))
	var set descriptorpb.FileDescriptorSet
	for _, f := range s.files {
		set.File = append(set.File, f)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		s.t.Fatalf("what reflection tells of %s makes no whole: %v", name, err)
	}
	return find(s.t, files, name)
}

func find(t *testing.T, files *protoregistry.Files, name string) protoreflect.ServiceDescriptor {
	t.Helper()
	d, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatal(err)
	}
	srv, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		t.Fatalf("%s is no service", name)
	}
	return srv
}

// call makes a unary call with a request written as JSON.
func (s *stranger) call(srv protoreflect.ServiceDescriptor, method, request string) (*dynamicpb.Message, error) {
	s.t.Helper()
	md, in := s.request(srv, method, request)
	out := dynamicpb.NewMessage(md.Output())
	return out, s.conn.Invoke(s.t.Context(), path(md), in, out)
}

func (s *stranger) request(srv protoreflect.ServiceDescriptor, method, request string) (protoreflect.MethodDescriptor, *dynamicpb.Message) {
	s.t.Helper()
	md := srv.Methods().ByName(protoreflect.Name(method))
	if md == nil {
		s.t.Fatalf("%s has no %s", srv.FullName(), method)
	}
	in := dynamicpb.NewMessage(md.Input())
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		s.t.Fatal(err)
	}
	return md, in
}

func path(md protoreflect.MethodDescriptor) string {
	return "/" + string(md.Parent().FullName()) + "/" + string(md.Name())
}

// read reads a server stream to its end.
func (s *stranger) read(srv protoreflect.ServiceDescriptor, method, request string, each func(*dynamicpb.Message)) error {
	s.t.Helper()
	md, in := s.request(srv, method, request)
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	stream, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path(md))
	if err != nil {
		return err
	}
	if err := errors.Join(stream.SendMsg(in), stream.CloseSend()); err != nil {
		return err
	}
	for {
		out := dynamicpb.NewMessage(md.Output())
		switch err := stream.RecvMsg(out); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		each(out)
	}
}

// str returns a field of a message, or of one inside it, as text.
func str(m protoreflect.Message, names ...string) string {
	for _, name := range names[:len(names)-1] {
		m = m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name))).Message()
	}
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(names[len(names)-1]))).String()
}

func TestGRPCByReflectionAlone(t *testing.T) {
	t.Parallel()
	address, _ := shared().Ready["grpc"].(string)
	s := newStranger(t, address)
	names := s.services()
	for _, want := range []string{
		"grpc.health.v1.Health", "windlass.inference.v1.InferenceService", "windlass.policy.v1.PolicyService",
		"windlass.registry.v1.SourceService",
		"windlass.registry.v1.ToolService", "windlass.sessions.v1.AgentService", "windlass.sessions.v1.SessionService",
		"windlass.sessions.v1.TurnService",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not listed in %v", want, names)
		}
	}
	for _, name := range names {
		if s.service(name).Methods().Len() == 0 {
			t.Errorf("%s has no methods", name)
		}
	}
	health, err := s.call(s.service("grpc.health.v1.Health"), "Check", `{}`)
	if err != nil || str(health, "status") != "1" {
		t.Errorf("health = %v, %v", health, err)
	}

	sessions, turns := s.service("windlass.sessions.v1.SessionService"), s.service("windlass.sessions.v1.TurnService")
	session, err := s.call(sessions, "CreateSession", `{"agent_id":"assistant"}`)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.call(turns, "CreateTurn", `{"session_id":"`+str(session, "id")+`","input":"`+sum+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	id := str(turn, "id")
	var types []string
	err = s.read(turns, "WatchTurn", `{"turn_id":"`+id+`"}`, func(m *dynamicpb.Message) { types = append(types, str(m, "event", "type")) })
	if err != nil || types[0] != "turn.queued" || types[len(types)-1] != "turn.completed" || !slices.Contains(types, "message.completed") {
		t.Errorf("watched %v, %v", types, err)
	}
	got, err := s.call(turns, "GetTurn", `{"turn_id":"`+id+`","wait":"30s"}`)
	if err != nil || str(got, "status") != strconv.Itoa(int(turnv1.TurnStatus_TURN_STATUS_COMPLETED)) ||
		!strings.Contains(str(got, "output"), "391") {
		t.Errorf("turn = %v, %v", got, err)
	}
}

// The rules hold on this door as on the other: nothing is trusted because it comes over gRPC.
func TestGRPCRefuses(t *testing.T) {
	t.Parallel()
	address, _ := shared().Ready["grpc"].(string)
	s := newStranger(t, address)
	for _, tc := range []struct {
		name, service, method, request string
		code                           codes.Code
		reason, field                  string
	}{
		{"an unknown session", "sessions.v1.SessionService", "GetSession", `{"session_id":"ses_nope"}`, codes.NotFound, "NOT_FOUND", ""},
		{"an empty id", "sessions.v1.SessionService", "GetSession", `{}`, codes.InvalidArgument, "INVALID_ARGUMENT", "session_id"},
		{
			"an agent's id", "sessions.v1.AgentService", "CreateAgent", `{"agent":{"id":"Not Good"}}`, codes.InvalidArgument, "INVALID_ARGUMENT",
			"agent.id",
		},
		{
			"a garbage page", "sessions.v1.AgentService", "ListAgents", `{"page_token":"zzz"}`, codes.InvalidArgument, "INVALID_PAGE_TOKEN",
			"page_token",
		},
		{"no input", "sessions.v1.TurnService", "CreateTurn", `{"session_id":"ses_nope"}`, codes.InvalidArgument, "INVALID_ARGUMENT", "input"},
		{
			"wrong arguments", "registry.v1.ToolService", "InvokeTool", `{"name":"calculator__evaluate","arguments":{"expression":3}}`,
			codes.InvalidArgument, "INVALID_TOOL_ARGUMENTS", "arguments/expression",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := s.call(s.service("windlass."+tc.service), tc.method, tc.request)
			st := status.Convert(err)
			var reason, field string
			for _, d := range st.Details() {
				switch d := d.(type) {
				case *errdetails.ErrorInfo:
					reason = d.GetReason()
				case *errdetails.BadRequest:
					field = d.GetFieldViolations()[0].GetField()
				}
			}
			if st.Code() != tc.code || reason != tc.reason || tc.field != "" && field != tc.field {
				t.Errorf("got %v %s %q (%s), want %v %s %q", st.Code(), reason, field, st.Message(), tc.code, tc.reason, tc.field)
			}
		})
	}
	watch := s.service("windlass.sessions.v1.TurnService")
	for request, want := range map[string]codes.Code{
		`{}`: codes.InvalidArgument, `{"turn_id":"trn_nope"}`: codes.NotFound, `{"turn_id":"t","session_id":"s"}`: codes.InvalidArgument,
	} {
		err := s.read(watch, "WatchTurn", request, func(m *dynamicpb.Message) { t.Errorf("watch %s got %v", request, m) })
		if status.Code(err) != want {
			t.Errorf("watch %s: %v, want %v", request, err, want)
		}
	}
}
