package registry_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/secret"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/grpcapi/grpctest"
)

const canary = "canary-2f9d61"

func testSealer(t testing.TB) *providerdata.Sealer {
	t.Helper()
	s, err := providerdata.NewSealer(secret.New(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// carrying returns a context whose calls carry provider data.
func carrying(t *testing.T, scope providerdata.Scope, text string) context.Context {
	t.Helper()
	d, err := providerdata.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := testSealer(t).Seal(d, scope)
	if err != nil {
		t.Fatal(err)
	}
	return providerdata.With(t.Context(), sealed)
}

func TestProviderDataOfACall(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	r := w.start(config())
	api.set(func() {
		api.answer = func(rw http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(rw, "%t|%s|%s", r.Header.Get("X-Key") == canary, r.Header.Get("X-Key"), r.Header.Get("X-Other"))
		}
	})
	w.bridge.set(func() { w.bridge.tools["remote"] = []*mcpbridgev1.Tool{tool("read", "read")} })
	remote, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "remote", Kind: "mcp", Url: "http://127.0.0.1:1/", ProviderData: &registryv1.SourceProviderData{
			Meta: []string{"token"}, Headers: map[string]string{"X-Key": "token", "X-Other": "other"}, Optional: []string{"other"},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.createAPI(&registryv1.Source{
		Name: "pets", Url: api.URL + "/openapi.json",
		ProviderData: &registryv1.SourceProviderData{
			Headers: map[string]string{"X-Key": "token", "X-Other": "other"}, Optional: []string{"other"},
		},
	})
	direct := providerdata.OfCaller(authn.Local())
	data := `{"token":"` + canary + `","undeclared":"` + canary + `-2"}`

	// An API gets it in its headers, and it does not come back.
	invoke := func(ctx context.Context, tool string) (string, error) {
		arguments := map[string]any{"text": "x"}
		if tool == "pets__getPet" {
			arguments = map[string]any{"id": 7}
		}
		args, err := structpb.NewStruct(arguments)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.tools.InvokeTool(ctx, &registryv1.InvokeToolRequest{Name: tool, Arguments: args})
		if err != nil {
			return "", err
		}
		return resp.GetContent()[0].GetText(), nil
	}
	if got, err := invoke(carrying(t, direct, data), "pets__getPet"); err != nil || got != "true|***|" {
		t.Errorf("an API: %q, %v", got, err)
	}

	// An MCP server gets what it declared, sealed on the way to the bridge.
	sentTo := func() *mcpbridgev1.CallToolRequest { all := w.bridge.seen(); return all[len(all)-1] }
	check := func(what string) {
		t.Helper()
		sealed := sentTo().GetProviderData()
		d, err := testSealer(t).Open(sealed, providerdata.OfServer(remote.GetId()))
		if err != nil || fmt.Sprint(d.Keys()) != "[header.X-Key meta.token]" || bytes.Contains(sealed, []byte(canary)) {
			t.Errorf("%s: the bridge got %v, %v", what, d.Keys(), err)
		}
		if text := sentTo().String(); strings.Contains(text, canary) {
			t.Errorf("%s: it is in the request: %s", what, text)
		}
	}
	if _, err := invoke(carrying(t, direct, data), "remote__read"); err != nil {
		t.Fatal(err)
	}
	check("a direct call")
	req := r.request("remote__read", "of a turn")
	req.TurnId = "trn_1"
	if s := r.call(carrying(t, providerdata.OfTurn("default", "trn_1"), data), req); s.completed.GetResult().GetIsError() {
		t.Fatalf("in a turn: %+v", s)
	}
	check("a turn")

	calls := len(w.bridge.seen())
	for name, row := range map[string]struct {
		ctx        context.Context
		tool, want string
	}{
		"without":               {t.Context(), "remote__read", `source "remote" needs the key "token" in the header X-Windlass-Provider-Data`},
		"without, an API":       {t.Context(), "pets__getPet", `source "pets" needs the key "token"`},
		"with another key":      {carrying(t, direct, `{"tokens":"`+canary+`"}`), "remote__read", `needs the key "token"`},
		"of a turn":             {carrying(t, providerdata.OfTurn("default", "trn_1"), data), "remote__read", "cannot be opened"},
		"of another caller":     {carrying(t, providerdata.OfCaller(authn.User("eve")), data), "remote__read", "cannot be opened"},
		"an object in a header": {carrying(t, direct, `{"token":{"a":"`+canary+`"}}`), "pets__getPet", "its value must be a string"},
		"a line in a header":    {carrying(t, direct, `{"token":"`+canary+`\n"}`), "pets__getPet", "its value must be a string"},
	} {
		_, err := invoke(row.ctx, row.tool)
		if fault.CodeOf(err) != "failed_precondition" || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n := len(w.bridge.seen()); n != calls {
		t.Errorf("%d calls without their provider data arrived", n-calls)
	}
}

func TestSourcesThatDeclareProviderDataAreChecked(t *testing.T) {
	r := newWorld(t).start(config())
	mcp := func(d *registryv1.SourceProviderData, change ...func(*registryv1.Source)) *registryv1.Source {
		s := &registryv1.Source{Name: "x", Kind: "mcp", Url: "http://x/", ProviderData: d}
		for _, f := range change {
			f(s)
		}
		return s
	}
	program := func(s *registryv1.Source) { s.Url, s.Command = "", []string{"y"} }
	type declared = registryv1.SourceProviderData
	metaOnly := &declared{Meta: []string{"a"}}
	keyed := func(s *registryv1.Source) { s.Headers = map[string]string{"x-key": "${env:X}"} }
	bearer := func(s *registryv1.Source) { s.Auth = &registryv1.SourceAuth{Kind: "bearer", Secret: "${env:X}"} }
	header := func(name, key string) *declared { return &declared{Headers: map[string]string{name: key}} }
	for want, src := range map[string]*registryv1.Source{
		"source.provider_data: give meta or headers":    mcp(&declared{}),
		"meta: only an MCP server":                      {Name: "x", Kind: "openapi", Url: "http://x/", ProviderData: metaOnly},
		"headers: only an HTTP API":                     mcp(header("X", "a"), program),
		"headers.Host: this header is the protocol's":   mcp(header("Host", "a")),
		"headers.mcp-method: this header is the":        mcp(header("mcp-method", "a")),
		"headers: not a valid header":                   mcp(header("a b", "a")),
		"keys consist of letters":                       mcp(header("X", "a b")),
		"optional: b is neither in meta nor in headers": mcp(&declared{Meta: []string{"a"}, Optional: []string{"b"}}),
		"meta: progressToken is set by Windlass":        mcp(&declared{Meta: []string{"progressToken"}}),
		"headers.X-Key: this header is set by headers":  mcp(header("X-Key", "a"), keyed),
		"headers.authorization: this header is set by":  mcp(header("authorization", "a"), bearer),
		"base_url: it is required with provider_data":   {Name: "x", Kind: "openapi", Document: "{}", ProviderData: header("X", "a")},
		"headers: only an HTTP API, or an MCP server":   {Name: "windlass", Kind: "builtin", ProviderData: header("X", "a")},
	} {
		_, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: src, ValidateOnly: true})
		text := ""
		if f := fault.From(err); f != nil {
			for _, field := range f.Fields {
				text += field.Path + ": " + field.Message + "\n"
			}
		}
		if err == nil || !strings.Contains(text, want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestProviderDataOfAGRPCSource: a server gets what the source declares as metadata, and what it repeats does not come back.
func TestProviderDataOfAGRPCSource(t *testing.T) {
	server := grpctest.Serve(t, grpctest.Options{Reflection: "v1"})
	got := make(chan metadata.MD, 1)
	server.Set(func(_ string, _ *dynamicpb.Message, stream grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(stream.Context())
		got <- md
		order := server.Message(t, "shop.v1.Order")
		order.Set(order.Descriptor().Fields().ByName("id"), protoreflect.ValueOfString("for "+strings.Join(md.Get("x-key"), ",")))
		return stream.SendMsg(order)
	})
	r := newWorld(t).start(config())
	r.createGRPC(&registryv1.Source{
		Name: "shop", Url: "grpc://" + server.Address, ProviderData: &registryv1.SourceProviderData{Headers: map[string]string{"X-Key": "token"}},
	})
	args, err := structpb.NewStruct(map[string]any{"id": "a7"})
	if err != nil {
		t.Fatal(err)
	}
	req := &registryv1.InvokeToolRequest{Name: "shop__Orders_GetOrder", Arguments: args}
	ctx := carrying(t, providerdata.OfCaller(authn.Local()), `{"token":"`+canary+`","undeclared":"`+canary+`-2"}`)
	resp, err := r.tools.InvokeTool(ctx, req)
	if err != nil || !strings.Contains(resp.String(), "for ***") || strings.Contains(resp.String(), canary) {
		t.Fatalf("got %v, %v", resp, err)
	}
	if md := <-got; fmt.Sprint(md.Get("x-key")) != "["+canary+"]" || strings.Contains(fmt.Sprint(md), canary+"-2") {
		t.Errorf("the server got %v", md)
	}
	if _, err := r.tools.InvokeTool(t.Context(), req); err == nil || !strings.Contains(err.Error(), `needs the key "token"`) || len(got) > 0 {
		t.Errorf("a call without: %v", err)
	}
}
