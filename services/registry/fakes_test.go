package registry_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// callFunc plays one call of a tool server.
type callFunc func(ctx context.Context, req *mcpbridgev1.CallToolRequest,
	send func(done, total float64, message string)) (*mcpbridgev1.CallToolResult, error)

// bridgeFake is a bridge with one scripted server behind every source.
type bridgeFake struct {
	mcpbridgev1.UnimplementedBridgeServiceServer

	mu        sync.Mutex
	tools     map[string][]*mcpbridgev1.Tool // by source name
	discover  error
	hold      chan struct{} // Discover waits for it
	call      callFunc
	calls     []*mcpbridgev1.CallToolRequest
	discovers int
	released  []string
	events    chan *mcpbridgev1.WatchResponse
}

func newBridge() *bridgeFake {
	return &bridgeFake{
		tools: map[string][]*mcpbridgev1.Tool{}, events: make(chan *mcpbridgev1.WatchResponse, 16),
		call: func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			return answer("ok"), nil
		},
	}
}

func answer(text string) *mcpbridgev1.CallToolResult {
	return &mcpbridgev1.CallToolResult{Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}}
}

// set changes the script.
func (b *bridgeFake) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// seen returns the calls so far.
func (b *bridgeFake) seen() []*mcpbridgev1.CallToolRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

func (b *bridgeFake) discovered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.discovers
}

func (b *bridgeFake) Discover(ctx context.Context, req *mcpbridgev1.DiscoverRequest) (*mcpbridgev1.DiscoverResponse, error) {
	b.mu.Lock()
	b.discovers++
	hold, err := b.hold, b.discover
	b.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return &mcpbridgev1.DiscoverResponse{
		Tools: b.tools[req.GetServer().GetName()], ServerName: "fake", ServerVersion: "1.2", ProtocolVersion: "2025-11-25",
	}, nil
}

func (b *bridgeFake) CallTool(req *mcpbridgev1.CallToolRequest, stream grpc.ServerStreamingServer[mcpbridgev1.CallToolResponse]) error {
	b.mu.Lock()
	b.calls = append(b.calls, req)
	call := b.call
	b.mu.Unlock()
	var failed error
	result, err := call(stream.Context(), req, func(done, total float64, message string) {
		failed = errors.Join(failed, stream.Send(&mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_Progress{
			Progress: &mcpbridgev1.Progress{Progress: done, Total: total, Message: message},
		}}))
	})
	if asks, ok := errors.AsType[*asking](err); ok {
		return stream.Send(&mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_InputRequired{InputRequired: asks.InputRequired}})
	}
	if err != nil || result == nil {
		return err
	}
	return errors.Join(failed, stream.Send(&mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_Result{Result: result}}))
}

func (b *bridgeFake) Watch(_ *mcpbridgev1.WatchRequest, stream grpc.ServerStreamingServer[mcpbridgev1.WatchResponse]) error {
	for {
		select {
		case e := <-b.events:
			if err := stream.Send(e); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func (b *bridgeFake) Release(_ context.Context, req *mcpbridgev1.ReleaseRequest) (*mcpbridgev1.ReleaseResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released = append(b.released, req.GetServerId())
	return &mcpbridgev1.ReleaseResponse{}, nil
}

// asking is the error of a callFunc that asks the user.
type asking struct{ *mcpbridgev1.InputRequired }

func (*asking) Error() string { return "it asks" }

func unreachable() error {
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "connection refused")
}

func outcomeUnknown() error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN, "the connection broke")
}

// policyFake allows what its globs match, for every principal.
type policyFake struct {
	policyv1.UnimplementedPolicyServiceServer

	mu      sync.Mutex
	allow   []string
	away    bool
	asks    *policyv1.ApprovalRule // requires approval of every call
	decided []*policyv1.DecideToolRequest
	// recorded are the records that the registry has handed over.
	recorded []string
	// unreadable is a record that it refuses.
	unreadable string
}

func (p *policyFake) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *policyFake) requests() []*policyv1.DecideToolRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.decided)
}

func (p *policyFake) DecideTool(_ context.Context, req *policyv1.DecideToolRequest) (*policyv1.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "policy is away")
	}
	p.decided = append(p.decided, req)
	d := &policyv1.Decision{Id: ids.New(ids.Decision), Allowed: glob.Any(p.allow, req.GetTool()), Reason: "the fake says so"}
	if req.GetKeepsRecord() && d.GetAllowed() && p.asks == nil {
		d.Record = []byte(d.GetId())
	}
	if d.GetAllowed() && p.asks != nil {
		d.Approval = &policyv1.ApprovalRequirement{Rule: p.asks}
	}
	return d, nil
}

func (p *policyFake) RecordDecisions(_ context.Context, req *policyv1.RecordDecisionsRequest) (*policyv1.RecordDecisionsResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "policy is away")
	}
	if p.unreadable != "" && slices.ContainsFunc(req.GetRecords(), func(r []byte) bool { return string(r) == p.unreadable }) {
		return nil, fault.Invalid("records", "a record is not one of a decision")
	}
	for _, record := range req.GetRecords() {
		p.recorded = append(p.recorded, string(record))
	}
	return &policyv1.RecordDecisionsResponse{}, nil
}

func (p *policyFake) FilterTools(_ context.Context, req *policyv1.FilterToolsRequest) (*policyv1.FilterToolsResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "policy is away")
	}
	resp := &policyv1.FilterToolsResponse{}
	for _, t := range req.GetTools() {
		if glob.Any(p.allow, t) {
			resp.Tools = append(resp.Tools, t)
		}
	}
	return resp, nil
}
