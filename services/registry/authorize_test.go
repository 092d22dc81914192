package registry_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// A call that its user has to authorize first is not sent, and is the same execution when it is made again.
func TestACallThatNeedsAuthorization(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	w.bridge.set(func() {
		w.bridge.tools["remote"] = []*mcpbridgev1.Tool{tool("write", "write")}
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			f := fault.AuthorizationRequired("remote", fault.Connection, "https://mesh.example/connect", "nobody has connected it")
			f.Details[fault.DetailScopes] = "read write"
			return nil, f
		}
	})
	if _, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "remote", Kind: "mcp", Url: "http://127.0.0.1:1/",
	}}); err != nil {
		t.Fatal(err)
	}
	req := r.request("remote__write", "x")
	got := r.call(t.Context(), req).authorize
	if a := got.GetAuthorization(); a.GetSource() != "remote" || a.GetConnectUrl() != "https://mesh.example/connect" ||
		a.GetKind() != turnv1.AuthorizationKind_AUTHORIZATION_KIND_CONNECTION || got.GetMessage() == "" ||
		strings.Join(a.GetScopes(), " ") != "read write" {
		t.Errorf("got %v", got)
	}
	if _, err := r.tools.InvokeTool(t.Context(), &registryv1.InvokeToolRequest{
		Name: "remote__write", Arguments: &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue("x")}},
	}); !fault.Is(err,
		faultv1.Reason_REASON_AUTHORIZATION_REQUIRED) || fault.From(err).Details[fault.DetailConnectURL] == "" {
		t.Errorf("a direct call: %v", err)
	}
	w.bridge.set(func() {
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			return answer("done"), nil
		}
	})
	if s := r.call(t.Context(), req); s.text() != "done" {
		t.Errorf("made again: %+v", s)
	}
	if row := r.row(req.GetKey()); row.GetAttempts() != 2 {
		t.Errorf("the ledger has %v", row)
	}
}
