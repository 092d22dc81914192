package mcp_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/mcp"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// echo answers a call with its arguments.
type echo struct {
	registryv1.UnimplementedToolServiceServer

	got string
}

func (e *echo) RunTool(r *registryv1.RunToolRequest, stream grpc.ServerStreamingServer[registryv1.RunToolResponse]) error {
	e.got = string(r.GetArgumentsJson())
	v, err := canon.ParseValue(r.GetArgumentsJson())
	if err != nil {
		return err
	}
	return stream.Send(&registryv1.RunToolResponse{Event: &registryv1.RunToolResponse_Result{
		Result: &registryv1.InvokeToolResponse{StructuredContent: v},
	}})
}

// TestNumbersOfACallStayAsTheyAreWritten sends numbers that a double does not hold, and gets them back.
func TestNumbersOfACallStayAsTheyAreWritten(t *testing.T) {
	const numbers = `{"id":9007199254740993,"least":-9223372036854775808,"list":[1e400,-0],"price":3.14159265358979323846264338327950288}`
	tools := &echo{}
	conn := rpctest.Serve(t, "registry", func(s grpc.ServiceRegistrar) { registryv1.RegisterToolServiceServer(s, tools) })
	h, err := mcp.New(mcp.Config{}, mcp.Deps{Registry: conn, Sessions: conn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__b","arguments":`+numbers+`}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if tools.got != numbers {
		t.Errorf("the tool got %s", tools.got)
	}
	if !strings.Contains(string(answer), `"structuredContent":`+numbers) || !strings.Contains(string(answer), `9007199254740993,\"least`) {
		t.Errorf("the client got %s", answer)
	}
}
