package mcp

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

func (d driver) Call(ctx context.Context, r *source.Request, notice func(source.Notice)) (source.Reply, error) {
	var sealed []byte
	if len(r.Given.Keys()) > 0 {
		var err error
		if sealed, err = d.env.Sealer.Seal(r.Given, providerdata.OfServer(r.Source.ID)); err != nil {
			return source.Reply{}, source.Unsent(err)
		}
	}
	// Do not wait for an unreachable bridge: nothing is sent then, and the caller decides how long to retry.
	server, err := d.server(r.Source, r.As)
	if err != nil {
		return source.Reply{}, source.Unsent(err)
	}
	if !r.Until.IsZero() { // the bridge's own time ends first, so that it can say whether the call was sent
		server.CallTimeout = durationpb.New(max(min(d.env.CallTimeout(r.Source), time.Until(r.Until)), time.Millisecond))
	}
	stream, err := d.bridge.CallTool(ctx, &mcpbridgev1.CallToolRequest{
		Server: server, Tool: r.Tool, ArgumentsJson: r.Arguments.JSON(), Meta: r.Meta,
		CanAsk: r.CanAsk && r.Source.Spec.Elicitation != "off", Answer: bridgeAnswer(r.Answer),
		Accepts: accepted(r.Source, r.Accepts), LogLevel: r.LogLevel, ProviderData: sealed,
	}, grpc.WaitForReady(false))
	if err != nil {
		return source.Reply{}, notOpened(err)
	}
	for {
		msg, err := stream.Recv()
		if refused := refusedToken(r.Source, err); refused != nil {
			return source.Reply{}, refused
		}
		if err != nil {
			return source.Reply{}, broken(err)
		}
		switch event := msg.GetEvent().(type) {
		case *mcpbridgev1.CallToolResponse_Progress:
			notice(source.Notice{Progress: &source.Progress{
				Done: event.Progress.GetProgress(), Total: event.Progress.GetTotal(), Message: event.Progress.GetMessage(),
			}})
		case *mcpbridgev1.CallToolResponse_Log:
			notice(source.Notice{Log: &source.Log{Level: event.Log.GetLevel(), Logger: event.Log.GetLogger(), Data: event.Log.GetDataJson()}})
		case *mcpbridgev1.CallToolResponse_Result:
			return source.Reply{Result: &turnv1.ToolResult{
				Content: event.Result.GetContent(), StructuredContent: event.Result.GetStructuredContent(), IsError: event.Result.GetIsError(),
			}}, nil
		case *mcpbridgev1.CallToolResponse_InputRequired:
			return source.Reply{Input: &registryv1.InputRequired{
				Message: event.InputRequired.GetMessage(), SchemaJson: event.InputRequired.GetSchemaJson(), State: event.InputRequired.GetState(),
				RequestsJson: event.InputRequired.GetRequestsJson(),
			}}, nil
		}
	}
}

func (d driver) Forward(ctx context.Context, s store.Source, as source.User, method string, params []byte, accepts []string,
) (*mcpbridgev1.ForwardResponse, error) {
	server, err := d.server(s, as)
	if err != nil {
		return nil, err
	}
	resp, err := d.bridge.Forward(ctx, &mcpbridgev1.ForwardRequest{
		Server: server, Method: method, ParamsJson: params, Accepts: accepted(s, accepts),
	})
	if refused := refusedToken(s, err); refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, broken(err)
	}
	return resp, nil
}

func (d driver) WatchResources(ctx context.Context, s store.Source, as source.User, offers source.Offers,
	on func(changed source.Offers) error,
) error {
	server, err := d.server(s, as)
	if err != nil {
		return err
	}
	stream, err := d.bridge.WatchResources(ctx, &mcpbridgev1.WatchResourcesRequest{
		Server: server, Uris: offers.URIs, ResourceList: offers.ResourceList, PromptList: offers.PromptList,
	})
	if err != nil {
		return fault.From(err)
	}
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			if refused := refusedToken(s, err); refused != nil {
				return refused
			}
			return fault.From(err)
		}
		changed := source.Offers{ResourceList: m.GetResourceList(), PromptList: m.GetPromptList()}
		if m.GetUri() != "" {
			changed.URIs = []string{m.GetUri()}
		}
		if err := on(changed); err != nil {
			return err
		}
	}
}

// accepted returns the requests of a source's server that the caller answers. The bridge knows which of them the source allows besides
// questions to users.
func accepted(s store.Source, accepts []string) []string {
	if s.Spec.Elicitation != "off" {
		return accepts
	}
	return slices.DeleteFunc(slices.Clone(accepts), func(method string) bool { return method == source.Elicitation })
}

func bridgeAnswer(a *registryv1.InputAnswer) *mcpbridgev1.InputAnswer {
	if a == nil {
		return nil
	}
	return &mcpbridgev1.InputAnswer{Action: a.GetAction(), Content: a.GetContent(), State: a.GetState(), ResponsesJson: a.GetResponsesJson()}
}

// notOpened classifies the error of opening a stream. grpc-go reports here only what failed before the request was written to a connection;
// later failures come from Recv.
func notOpened(err error) *source.Error {
	f := fault.From(err)
	if f.Code == codes.Unavailable {
		return &source.Error{Outcome: source.Away, Fault: f}
	}
	return source.Unsent(f)
}

// broken classifies a stream that ended without a result. The call certainly did not run only if the bridge says so, or rejects the request
// before processing it.
func broken(err error) *source.Error {
	if errors.Is(err, io.EOF) {
		return source.Doubtful(fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
			"the bridge ended the call without a result"))
	}
	f := fault.From(err)
	switch f.Reason {
	case faultv1.Reason_REASON_TOOL_UNAVAILABLE, faultv1.Reason_REASON_EGRESS_DENIED, faultv1.Reason_REASON_AUTHORIZATION_REQUIRED:
		return source.Unsent(f)
	case faultv1.Reason_REASON_OUTCOME_UNKNOWN:
		return source.Doubtful(f)
	case faultv1.Reason_REASON_TOO_LARGE:
		return &source.Error{Outcome: source.TooLarge, Fault: f}
	}
	switch f.Code {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.NotFound:
		return source.Unsent(f)
	default:
		return source.Doubtful(f)
	}
}
