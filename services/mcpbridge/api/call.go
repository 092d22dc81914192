package api

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/connection"
	"github.com/windlass-dev/windlass/services/mcpbridge/notice"
	"github.com/windlass-dev/windlass/services/mcpbridge/question"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// CallTool implements BridgeService.
func (b *Bridge) CallTool(req *mcpbridgev1.CallToolRequest, stream grpc.ServerStreamingServer[mcpbridgev1.CallToolResponse]) error {
	sp, err := b.servers.Resolve(req.GetServer())
	if err != nil {
		return err
	}
	in, err := callFromProto(req)
	if err != nil {
		return err
	}
	if in.Given, err = b.servers.Receive(sp, req.GetProviderData()); err != nil {
		return err
	}
	in.Notice = func(n notice.Notice) error { return stream.Send(noticeToProto(sp, n)) }
	ctx, span := b.tracer.Start(stream.Context(), "tools/call "+in.Tool, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("mcp.method.name", "tools/call"), attribute.String("gen_ai.tool.name", in.Tool),
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("windlass.server_id", sp.ID),
		attribute.String("network.transport", map[bool]string{true: "pipe", false: "tcp"}[sp.Kind == server.Stdio])))
	defer span.End()
	res, asked, err := b.callTool(ctx, sp, in)
	if err != nil {
		span.SetStatus(otelcodes.Error, fault.CodeOf(err))
		return err
	}
	if asked != nil {
		return stream.Send(&mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_InputRequired{InputRequired: inputToProto(asked)}})
	}
	if res.GetIsError() {
		span.SetAttributes(attribute.String("error.type", "tool_error"))
	}
	return stream.Send(&mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_Result{Result: res}})
}

// callTool runs a call and reads its answer: a result or a question.
func (b *Bridge) callTool(ctx context.Context, sp *server.Spec, in connection.Call) (*mcpbridgev1.CallToolResult, *question.Input, error) {
	a, err := b.runner.Tool(ctx, sp, in)
	faultpoint.Hit(faultpoint.BridgeToolDone)
	if e, ok := errors.AsType[*wire.Error](err); ok && e.TooLarge {
		return result.TooLarge(e.Error()), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var raw result.Raw
	if a.Failure == nil && a.Asked == nil {
		if raw, err = result.Parse(a.Result); err != nil {
			return nil, nil, wire.OutcomeUnknown(sp, in.Tool, err)
		}
	}
	asked, why := in.Caller.Of(sp, a.Asked, a.Result)
	switch {
	case why != "":
		return sp.Clean(result.Error(why)), nil, nil
	case asked != nil && !in.Caller.CanAsk && len(in.Caller.Accepts) == 0:
		return result.Error("the tool asks the user something, and this call cannot wait for the answer; have an agent call it in a turn"), nil,
			nil
	case asked != nil:
		return nil, asked, nil
	}
	if a.Failure != nil {
		return sp.Clean(result.Failure(a.Failure.Code, a.Failure.Message)), nil, nil
	}
	return sp.Clean(raw.ToProto(b.maxResultBytes)), nil, nil
}
