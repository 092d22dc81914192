// Package mcpbridge is the MCP client of the mesh: it keeps connections to tool servers over streamable HTTP, SSE and stdio, in both eras
// of the protocol, lists their tools byte for byte, and runs calls so that the caller always knows whether a call may be repeated. It
// stores nothing: each request contains the server's whole entry.
package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/process"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/telemetry"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
)

// Deps holds the bridge's dependencies; Egress and Log are required.
type Deps struct {
	// Egress dials HTTP servers.
	Egress *egress.Egress
	// ProviderData opens the credentials of requests; nil, which is allowed, refuses them.
	ProviderData *providerdata.Sealer
	// Vault has stored secrets; nil, which is allowed, refuses references to them.
	Vault envref.Vault
	// Log receives connections and losses, and at debug level the stderr of tool servers.
	Log *slog.Logger
}

// Service implements BridgeService. The caller must call Close.
type Service struct {
	mcpbridgev1.UnimplementedBridgeServiceServer
	cfg         Config
	programs    *process.Programs
	credentials *credential.Keeper
	secrets     envref.Vault
	sealer      *providerdata.Sealer
	pool        *pool
	tracer      trace.Tracer
}

// New returns a bridge without connections.
func New(cfg Config, deps Deps) (*Service, error) {
	if deps.Egress == nil || deps.Log == nil {
		return nil, errors.New("mcpbridge needs Egress and Log")
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	programs, err := process.NewPrograms(cfg.Programs, cfg.CommandPath)
	if err != nil {
		return nil, fmt.Errorf("mcpbridge: programs: %w", err)
	}
	keeper := credential.New(credential.Config{Env: references(cfg, deps.Vault), Timeout: cfg.ConnectTimeout}, deps.Egress)
	return &Service{
		cfg: cfg, programs: programs, secrets: deps.Vault, credentials: keeper, sealer: deps.ProviderData,
		pool: newPool(cfg, deps.Log, &opener{
			egress: deps.Egress, log: deps.Log, programs: programs, limits: cfg.Limits, probe: cfg.DiscoverTimeout,
		}, keeper.Forget),
		tracer: telemetry.Tracer("mcpbridge"),
	}, nil
}

// Register adds the service to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) { mcpbridgev1.RegisterBridgeServiceServer(r, s) }

// Run closes unused connections until ctx ends, and then closes the bridge. It always returns nil.
func (s *Service) Run(ctx context.Context) error {
	s.pool.run(ctx)
	s.Close()
	return nil
}

// Close ends all connections and processes, including calls, and waits until they are gone. It may be called more than once.
func (s *Service) Close() { s.pool.close() }

// Discover implements BridgeService.
func (s *Service) Discover(ctx context.Context, req *mcpbridgev1.DiscoverRequest) (*mcpbridgev1.DiscoverResponse, error) {
	sp, err := s.resolve(req.GetServer())
	if err != nil {
		return nil, err
	}
	c, tools, err := s.discover(ctx, sp)
	if err != nil {
		return nil, err
	}
	return discoverToProto(c, tools), nil
}

// CallTool implements BridgeService.
func (s *Service) CallTool(req *mcpbridgev1.CallToolRequest, stream grpc.ServerStreamingServer[mcpbridgev1.CallToolResponse]) error {
	sp, err := s.resolve(req.GetServer())
	if err != nil {
		return err
	}
	in, err := callFromProto(req)
	if err != nil {
		return err
	}
	if in.given, err = s.receive(sp, req.GetProviderData()); err != nil {
		return err
	}
	in.notice = func(n notice) error { return stream.Send(sp.noticeToProto(n)) }
	ctx, span := s.tracer.Start(stream.Context(), "tools/call "+in.tool, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("mcp.method.name", "tools/call"), attribute.String("gen_ai.tool.name", in.tool),
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("windlass.server_id", sp.id),
		attribute.String("network.transport", map[bool]string{true: "pipe", false: "tcp"}[sp.kind == overStdio])))
	defer span.End()
	res, asked, err := s.callTool(ctx, sp, in)
	if err != nil {
		span.SetStatus(otelcodes.Error, fault.CodeOf(err))
		return err
	}
	if asked != nil {
		return stream.Send(&mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_InputRequired{InputRequired: asked}})
	}
	if res.GetIsError() {
		span.SetAttributes(attribute.String("error.type", "tool_error"))
	}
	return stream.Send(&mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_Result{Result: res}})
}

// callTool runs a call and reads its answer: a result or a question.
func (s *Service) callTool(ctx context.Context, sp *spec, in call) (*mcpbridgev1.CallToolResult, *mcpbridgev1.InputRequired, error) {
	a, err := s.run(ctx, sp, in)
	faultpoint.Hit(faultpoint.BridgeToolDone)
	if e, ok := errors.AsType[*sendError](err); ok && e.tooLarge {
		return result.TooLarge(e.Error()), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if a.failure == nil && a.asked == nil {
		if err := result.Check(a.result); err != nil {
			return nil, nil, outcomeUnknown(sp, in.tool, err)
		}
	}
	asked, why := sp.questionOf(in, a)
	switch {
	case why != "":
		return sp.clean(result.Error(why)), nil, nil
	case asked != nil && !in.canAsk && len(in.accepts) == 0:
		return result.Error("the tool asks the user something, and this call cannot wait for the answer; have an agent call it in a turn"), nil,
			nil
	case asked != nil:
		return nil, asked, nil
	}
	return sp.clean(answerToProto(a, s.cfg.MaxResultBytes)), nil, nil
}

// Watch implements BridgeService.
func (s *Service) Watch(_ *mcpbridgev1.WatchRequest, stream grpc.ServerStreamingServer[mcpbridgev1.WatchResponse]) error {
	state, w := s.pool.hub.Watch()
	defer s.pool.hub.Leave(w)
	for _, e := range state {
		if err := stream.Send(eventToProto(e)); err != nil {
			return fmt.Errorf("send the present state: %w", err)
		}
	}
	for {
		select {
		case e, ok := <-w.Events():
			if !ok {
				why := "the bridge is stopping"
				if s.pool.hub.Leave(w) {
					why = "the watcher fell behind"
				}
				return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "%s", why).Hint("Watch again; it starts with the present state.")
			}
			if err := stream.Send(eventToProto(e)); err != nil {
				return fmt.Errorf("send an event: %w", err)
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// Release implements BridgeService.
func (s *Service) Release(_ context.Context, req *mcpbridgev1.ReleaseRequest) (*mcpbridgev1.ReleaseResponse, error) {
	s.pool.release(req.GetServerId())
	return &mcpbridgev1.ReleaseResponse{}, nil
}
