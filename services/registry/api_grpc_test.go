package registry_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/grpcapi/grpctest"
)

func (r *replica) createGRPC(src *registryv1.Source) *registryv1.Source {
	r.w.t.Helper()
	src.Kind = "grpc"
	got, err := r.sources.CreateSource(r.w.t.Context(), &registryv1.CreateSourceRequest{Source: src})
	if err != nil {
		r.w.t.Fatal(err)
	}
	return got
}

// id is the field "id" of a message.
func id(m protoreflect.Message) string {
	return m.Get(m.Descriptor().Fields().ByName("id")).String()
}

// orders answers with what it was asked.
func orders(t *testing.T, s *grpctest.Server) grpctest.Handler {
	t.Helper()
	return func(method string, request *dynamicpb.Message, stream grpc.ServerStream) error {
		switch method {
		case "PutOrder", "Echo":
			return stream.SendMsg(request)
		case "GetOrder", "FindOrder":
			order := s.Message(t, "shop.v1.Order")
			order.Set(order.Descriptor().Fields().ByName("id"), protoreflect.ValueOfString(id(request)))
			order.Set(order.Descriptor().Fields().ByName("f_int64"), protoreflect.ValueOfInt64(1<<53+1))
			return stream.SendMsg(order)
		case "DropOrder":
			st, err := status.New(codes.FailedPrecondition, "it is paid").WithDetails(
				&errdetails.ErrorInfo{Reason: "PAID", Domain: "shop"}, &errdetails.LocalizedMessage{Locale: "de", Message: "bezahlt"})
			if err != nil {
				return err
			}
			return st.Err()
		case "WatchOrders":
			for i := range 150 {
				order := s.Message(t, "shop.v1.Order")
				order.Set(order.Descriptor().Fields().ByName("id"), protoreflect.ValueOfString(fmt.Sprint(i)))
				if err := stream.SendMsg(order); err != nil {
					return err
				}
			}
			return nil
		case "AddAndWatch":
			for range 2 {
				if err := stream.SendMsg(request); err != nil {
					return err
				}
			}
			return nil
		}
		return stream.SendMsg(s.Message(t, "shop.v1.OrderId"))
	}
}

// TestAGRPCServerBecomesTools: a real server, found by reflection, and all that its methods can answer.
func TestAGRPCServerBecomesTools(t *testing.T) {
	server := grpctest.Serve(t, grpctest.Options{Reflection: "v1"})
	server.Set(orders(t, server))
	r := newWorld(t).start(config())
	src := r.createGRPC(&registryv1.Source{Name: "shop", Url: "grpc://" + server.Address})
	if enum.Name(src.GetState()) != "ready" || src.GetToolCount() != 9 || src.GetProtocolVersion() != "gRPC" ||
		!strings.HasPrefix(strings.Join(src.GetWarnings(), "|"), "shop.v1.Orders/Upload: a stream of requests") {
		t.Fatalf("created: %v", src)
	}
	for _, row := range []struct{ tool, arguments, want string }{
		{"GetOrder", `{"id":"a7"}`, `{"fInt64":"9007199254740993","id":"a7"}`},
		{"Echo", `{"value":"hello"}`, `"hello"`},
		{"DropOrder", `{"id":"a7"}`, "The method answered FAILED_PRECONDITION: it is paid\n" +
			`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PAID","domain":"shop"}` + "\n" +
			`{"@type":"type.googleapis.com/google.rpc.LocalizedMessage","locale":"de","message":"bezahlt"}`},
		{"AddAndWatch", `{"id":"x"}`, `{"messages":[{"id":"x"},{"id":"x"}],"complete":true}`},
		{
			"PutOrder", `{"id":"a7","quantity":1,"at":"2026-01-02T03:04:05Z","payload":{"@type":"a/shop.v1.OrderId","id":"i"}}`,
			`{"at":"2026-01-02T03:04:05Z","payload":{"@type":"a/shop.v1.OrderId","id":"i"},"id":"a7","quantity":1}`,
		},
	} {
		s := r.callAPI("shop__Orders_"+row.tool, row.arguments)
		if s.text() != row.want || s.completed.GetCode() != "" || s.completed.GetResult().GetIsError() != (row.tool == "DropOrder") {
			t.Errorf("%s: %s %q, want %q", row.tool, s.completed.GetCode(), s.text(), row.want)
		}
	}
	if s := r.callAPI("shop__Orders_WatchOrders", `{}`); strings.Count(s.text(), `"id"`) != 100 ||
		!strings.HasSuffix(s.text(), `"complete":false}`) {
		t.Errorf("a stream: %q", s.text())
	}
	for arguments, want := range map[string]string{
		`{"id":"A"}`: "arguments/id", `{"id":"ab","quantity":1,"card":"c","cash":{}}`: `oneof shop.v1.Order.payment is already set`,
		`{"id":"ab","quantity":1,"fBytes":"%"}`: "fBytes", `{"id":"ab","quantity":1,"at":"soon"}`: "soon",
	} {
		if s := r.callAPI("shop__Orders_AddOrder", arguments); s.completed.GetCode() != "invalid_tool_arguments" ||
			!strings.Contains(s.text(), want) {
			t.Errorf("%s: %s %q", arguments, s.completed.GetCode(), s.text())
		}
	}
	r.callAPI("shop__Orders_AddOrder", `{"id":"ab","quantity":1}`) // calls that fail the schema have no row
	if row := r.row(fmt.Sprint("key-", keys.Load())); row.GetEffect() != turnv1.EffectClass_EFFECT_CLASS_ONCE {
		t.Errorf("its row: %v", row)
	}
}

// TestAGRPCServerIsDescribedByItsOwner: without reflection, by a descriptor set, which can be changed.
func TestAGRPCServerIsDescribedByItsOwner(t *testing.T) {
	server := grpctest.Serve(t, grpctest.Options{})
	server.Set(orders(t, server))
	r := newWorld(t).start(config())
	src := r.createGRPC(&registryv1.Source{Name: "blind", Url: "grpc://" + server.Address})
	if enum.Name(src.GetState()) != "invalid" || !strings.Contains(src.GetLastError(), "the server has no reflection; enable it there") {
		t.Fatalf("without descriptors: %v", src)
	}
	file := grpctest.Shop(t)
	src = r.createGRPC(&registryv1.Source{
		Name: "shop", Url: "grpc://" + server.Address, DescriptorSet: grpctest.Set(t, file),
		Operations: &registryv1.OperationFilter{Paths: []string{"shop.v1.Orders/*Order"}},
		Effects:    map[string]turnv1.EffectClass{"Orders_AddOrder": turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT},
	})
	if enum.Name(src.GetState()) != "ready" || src.GetToolCount() != 5 || len(src.GetDescriptorSet()) == 0 || src.GetDocument() != "" {
		t.Fatalf("with descriptors: %s, %d tools, %s", src.GetState(), src.GetToolCount(), src.GetLastError())
	}
	if s := r.callAPI("shop__Orders_FindOrder", `{"id":"a7"}`); s.text() != `{"fInt64":"9007199254740993","id":"a7"}` {
		t.Errorf("called: %q", s.text())
	}
	r.callAPI("shop__Orders_AddOrder", `{"id":"ab","quantity":1}`)
	if row := r.row(fmt.Sprint("key-", keys.Load())); row.GetEffect() != turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT {
		t.Errorf("the owner's effect class: %v", row)
	}
	file.Service[0].Method = file.GetService()[0].GetMethod()[:1]
	src, err := r.sources.UpdateSource(t.Context(), &registryv1.UpdateSourceRequest{
		Source:     &registryv1.Source{Id: src.GetId(), DescriptorSet: grpctest.Set(t, file)},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"descriptor_set"}},
	})
	if err != nil || src.GetToolCount() != 1 {
		t.Errorf("updated: %v, %v", src, err)
	}
	list, err := r.sources.ListSources(t.Context(), &registryv1.ListSourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.GetSources() {
		if len(s.GetDescriptorSet()) > 0 {
			t.Error("the list has descriptors")
		}
	}
}

func TestSourcesOfKindGRPCAreValidated(t *testing.T) {
	r := newWorld(t).start(config())
	const secret = "${env:WINDLASS_TOOL_SECRET}"
	for _, row := range []struct {
		src  *registryv1.Source
		want string
	}{
		{&registryv1.Source{}, "source.url: give the server as grpc://host:port"},
		{&registryv1.Source{Url: "http://a:1"}, "source.url: the URL must be grpc://host:port, or grpcs://host:port with TLS"},
		{&registryv1.Source{Url: "a:1"}, "source.url: the URL must be grpc://host:port"},
		{&registryv1.Source{Url: "grpc://a"}, "source.url: the URL has no port, and gRPC has no default one: want grpc://host:port"},
		{&registryv1.Source{Url: "grpcs://:1"}, "source.url: the URL has no host: want grpcs://host:port"},
		{&registryv1.Source{Url: "grpc://a:99999"}, "source.url: the port must be between 1 and 65535"},
		{&registryv1.Source{Url: "grpc://u:p@a:1"}, "source.url: credentials do not belong into the URL"},
		{&registryv1.Source{Url: "grpc://a:1/p"}, "source.url: the URL has no path"},
		{&registryv1.Source{Url: "grpc://a:1", BaseUrl: "http://a"}, "source.url: a source of kind grpc has a url, and no base_url"},
		{&registryv1.Source{Url: "grpc://a:1", Document: "{}"}, "source.document: a source of kind grpc has a descriptor_set"},
		{&registryv1.Source{Url: "grpc://a:1", Document: "e30=", DescriptorSet: []byte{1}}, "source.document: a source of kind grpc"},
		{&registryv1.Source{Url: "grpc://a:1", Command: []string{"x"}}, "source.kind: an API has no command"},
		{&registryv1.Source{Url: "grpc://a:1", Headers: map[string]string{"x-bin": "a"}}, "binary metadata (-bin) is not supported"},
		{&registryv1.Source{Url: "grpc://a:1", Headers: map[string]string{"grpc-timeout": "a"}}, "gRPC itself sets this metadata"},
		{&registryv1.Source{Url: "grpc://a:1", Headers: map[string]string{"Authorization": "Bearer x"}}, "source.headers.Authorization"},
		{&registryv1.Source{Url: "grpc://a:1", KeyHeader: "a b"}, "source.key_header: names of metadata have letters"},
		{
			&registryv1.Source{Url: "grpc://a:1", Auth: &registryv1.SourceAuth{Kind: "api_key", In: "query", Name: "k", Secret: secret}},
			"source.auth.in: a gRPC call has no query; use header",
		},
		{&registryv1.Source{Url: "grpc://a:1", Auth: &registryv1.SourceAuth{Kind: "bearer", Secret: "x"}}, "source.auth.secret"},
		{&registryv1.Source{Kind: "openapi", Url: "http://a", DescriptorSet: []byte{1}}, "source.descriptor_set: only a source of kind grpc"},
		{&registryv1.Source{Kind: "mcp", Url: "http://a", KeyHeader: "k"}, "source.key_header: only a source of kind grpc has it"},
	} {
		row.src.Name = "x"
		if row.src.GetKind() == "" {
			row.src.Kind = "grpc"
		}
		_, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: row.src, ValidateOnly: true})
		if err == nil || !strings.Contains(fault.From(err).Message, row.want) {
			t.Errorf("%v: %v, want %q", row.src, err, row.want)
		}
	}
}

// TestCredentialsOfAGRPCServer: each kind arrives as metadata, for reflection too, and its value is nowhere else.
func TestCredentialsOfAGRPCServer(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	var mu sync.Mutex
	var got []string
	server := grpctest.Serve(t, grpctest.Options{Reflection: "v1", Server: []grpc.ServerOption{
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			md, _ := metadata.FromIncomingContext(stream.Context())
			said := strings.Join([]string{
				strings.Join(md.Get("authorization"), ","), strings.Join(md.Get("x-key"), ","), strings.Join(md.Get("idempotency-key"), ","),
			}, "|")
			if said == "||" {
				return status.Error(codes.Unauthenticated, "who are you")
			}
			if strings.HasPrefix(info.FullMethod, "/shop") {
				mu.Lock()
				got = append(got, said)
				mu.Unlock()
				return status.Error(codes.PermissionDenied, "not with "+said) // it repeats what it was given
			}
			return next(srv, stream)
		}),
	}})
	r := newWorld(t).start(config())
	const secret = "${env:WINDLASS_TOOL_SECRET}"
	for i, row := range []struct {
		auth       *registryv1.SourceAuth
		headers    map[string]string
		sent, said string
	}{
		{&registryv1.SourceAuth{Kind: "api_key", In: "header", Name: "X-Key", Secret: secret}, nil, "|hunter2-hunter2|", "|***|"},
		{&registryv1.SourceAuth{Kind: "basic", Username: "ann", Secret: secret}, nil, "Basic YW5uOmh1bnRlcjItaHVudGVyMg==||", "Basic ***||"},
		{&registryv1.SourceAuth{Kind: "bearer", Secret: secret}, nil, "Bearer hunter2-hunter2||", "Bearer ***||"},
		{nil, map[string]string{"X-Key": secret}, "|hunter2-hunter2|", "|***|"},
	} {
		name := fmt.Sprint("shop", i)
		src := r.createGRPC(&registryv1.Source{
			Name: name, Url: "grpc://" + server.Address, Auth: row.auth, Headers: row.headers, KeyHeader: "Idempotency-Key",
		})
		if enum.Name(src.GetState()) != "ready" || strings.Contains(src.String(), "hunter2") {
			t.Fatalf("the source: %v", src)
		}
		if s := r.callAPI(name+"__Orders_GetOrder", `{}`); s.text() != "The method answered PERMISSION_DENIED: not with "+row.said {
			t.Errorf("%v: %q", row.auth, s.text())
		}
		s := r.callAPI(name+"__Orders_Echo", `{"value":""}`)
		key := fmt.Sprint("key-", keys.Load())
		if s.text() != "The method answered PERMISSION_DENIED: not with "+row.said+key {
			t.Errorf("%v: %q", row.auth, s.text())
		}
		mu.Lock()
		if want := row.sent + " " + row.sent + key; strings.Join(got, " ") != want {
			t.Errorf("sent %q, want %q", got, want)
		}
		got = nil
		mu.Unlock()
	}
	src := r.createGRPC(&registryv1.Source{Name: "nobody", Url: "grpc://" + server.Address})
	if enum.Name(src.GetState()) != "invalid" || !strings.Contains(src.GetLastError(), "who are you") {
		t.Errorf("without credentials: %v", src)
	}
}

func TestAccessTokensOfAGRPCServer(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	tokens := newIssuer(t)
	var mu sync.Mutex
	valid := "Bearer token-number-1"
	server := grpctest.Serve(t, grpctest.Options{Reflection: "v1", Server: []grpc.ServerOption{
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			md, _ := metadata.FromIncomingContext(stream.Context())
			mu.Lock()
			defer mu.Unlock()
			if strings.Join(md.Get("authorization"), ",") != valid {
				return status.Error(codes.Unauthenticated, "the token is no longer valid")
			}
			return next(srv, stream)
		}),
	}})
	r := newWorld(t).start(config())
	src := r.createGRPC(&registryv1.Source{Name: "shop", Url: "grpc://" + server.Address, Auth: &registryv1.SourceAuth{
		Kind: "oauth2_client_credentials", ClientId: "client", Secret: "${env:WINDLASS_TOOL_SECRET}", TokenUrl: tokens.URL,
		Scopes: []string{"pets:read"}, Audience: "pets",
	}})
	if enum.Name(src.GetState()) != "ready" || tokens.count() != 1 {
		t.Fatalf("%v, %d tokens", src, tokens.count())
	}
	mu.Lock()
	valid = "Bearer token-number-2"
	mu.Unlock()
	if s := r.callAPI("shop__Orders_GetOrder", `{}`); s.text() != "{}" || tokens.count() != 2 {
		t.Errorf("a call that may be repeated: %q, %d tokens", s.text(), tokens.count())
	}
	mu.Lock()
	valid = "Bearer token-number-3"
	mu.Unlock()
	if s := r.callAPI("shop__Orders_Echo", `{"value":"x"}`); !strings.Contains(s.text(), "UNAUTHENTICATED") {
		t.Errorf("a call that may not: %q", s.text())
	}
}

func TestAnswersOfAGRPCServerAreBounded(t *testing.T) {
	server := grpctest.Serve(t, grpctest.Options{Reflection: "v1"})
	cfg := config()
	cfg.MaxResultBytes = 1 << 20
	r := newWorld(t).start(cfg)
	r.createGRPC(&registryv1.Source{Name: "shop", Url: "grpc://" + server.Address, CallTimeoutSeconds: 1})
	server.Set(func(_ string, request *dynamicpb.Message, stream grpc.ServerStream) error {
		big := dynamicpb.NewMessage(request.Descriptor())
		big.Set(big.Descriptor().Fields().ByName("value"), protoreflect.ValueOfString(strings.Repeat("x", 2<<20)))
		return stream.SendMsg(big)
	})
	if s := r.callAPI("shop__Orders_Echo", `{"value":""}`); s.completed.GetCode() != "too_large" || s.completed.GetUnresolved() {
		t.Errorf("too large: %s %q", s.completed.GetCode(), s.text())
	}
	server.Set(func(_ string, request *dynamicpb.Message, stream grpc.ServerStream) error {
		order := server.Message(t, "shop.v1.Order")
		if err := stream.SendMsg(order); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	begin := time.Now()
	if s := r.callAPI("shop__Orders_WatchOrders", `{}`); s.text() != `{"messages":[{}],"complete":false}` {
		t.Errorf("a stream without end: %s %q", s.completed.GetCode(), s.text())
	}
	if s := r.callAPI("shop__Orders_AddAndWatch", `{}`); !s.completed.GetUnresolved() {
		t.Errorf("a stream without end, of a method with effects: %s %q", s.completed.GetCode(), s.text())
	}
	t.Logf("two streams without end took %s", time.Since(begin))
}
