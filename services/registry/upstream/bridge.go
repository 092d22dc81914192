package upstream

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Kind classifies a call without an answer.
type Kind int

const (
	// Away means that the bridge was unreachable, so nothing was sent; it may be back in a moment.
	Away Kind = iota + 1
	// NotSent means that nothing was sent. A retry helps only if the tool server was unreachable (TOOL_UNAVAILABLE).
	NotSent
	// Stopped means that nothing was sent, because the source was unreachable several times in a row. An immediate retry is pointless.
	Stopped
	// InDoubt means that the call may have run.
	InDoubt
	// TooLarge means that it ran, and its answer is too large for the mesh.
	TooLarge
)

// Error is a call without an answer.
type Error struct {
	// Kind classifies it.
	Kind Kind
	// Fault says why.
	Fault *fault.Error
}

// Error returns the fault's text.
func (e *Error) Error() string { return e.Fault.Error() }

// NothingSent reports whether this attempt certainly did not run.
func (e *Error) NothingSent() bool { return e.Kind == Away || e.Kind == NotSent || e.Kind == Stopped }

// ServerAway reports whether nothing was sent because the tool server was unreachable.
func (e *Error) ServerAway() bool {
	return e.Kind == NotSent && e.Fault.Reason == faultv1.Reason_REASON_TOOL_UNAVAILABLE
}

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Fault }

func (u *Upstream) callBridge(ctx context.Context, r Request, given providerdata.Data, notice func(Notice)) (Reply, error) {
	sealed, err := u.sealFor(r.Source, given)
	if err != nil {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
	}
	// Do not wait for an unreachable bridge: nothing is sent then, and the caller decides how long to retry.
	server, err := u.logins.server(u.server(r.Source), r.as)
	if err != nil {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
	}
	if !r.Until.IsZero() { // the bridge's own time ends first, so that it can say whether the call was sent
		server.CallTimeout = durationpb.New(max(min(u.CallTimeout(r.Source), time.Until(r.Until)), time.Millisecond))
	}
	stream, err := u.bridge.CallTool(ctx, &mcpbridgev1.CallToolRequest{
		Server: server, Tool: r.Tool, ArgumentsJson: r.Arguments.JSON(), Meta: r.Meta,
		CanAsk: r.CanAsk && r.Source.Spec.Elicitation != "off", Answer: bridgeAnswer(r.Answer),
		Accepts: accepted(r.Source, r.Accepts), LogLevel: r.LogLevel, ProviderData: sealed,
	}, grpc.WaitForReady(false))
	if err != nil {
		return Reply{}, notOpened(err)
	}
	for {
		msg, err := stream.Recv()
		if refused := refusedToken(r.Source, err); refused != nil {
			return Reply{}, refused
		}
		if err != nil {
			return Reply{}, broken(err)
		}
		switch event := msg.GetEvent().(type) {
		case *mcpbridgev1.CallToolResponse_Progress:
			notice(Notice{Progress: &Progress{
				Done: event.Progress.GetProgress(), Total: event.Progress.GetTotal(), Message: event.Progress.GetMessage(),
			}})
		case *mcpbridgev1.CallToolResponse_Log:
			notice(Notice{Log: &Log{Level: event.Log.GetLevel(), Logger: event.Log.GetLogger(), Data: event.Log.GetDataJson()}})
		case *mcpbridgev1.CallToolResponse_Result:
			return Reply{Result: &turnv1.ToolResult{
				Content: event.Result.GetContent(), StructuredContent: event.Result.GetStructuredContent(), IsError: event.Result.GetIsError(),
			}}, nil
		case *mcpbridgev1.CallToolResponse_InputRequired:
			return Reply{Input: &registryv1.InputRequired{
				Message: event.InputRequired.GetMessage(), SchemaJson: event.InputRequired.GetSchemaJson(), State: event.InputRequired.GetState(),
				RequestsJson: event.InputRequired.GetRequestsJson(),
			}}, nil
		}
	}
}

// Forward sends one request about resources, prompts or completions to the server of an MCP source.
func (u *Upstream) Forward(ctx context.Context, s store.Source, method string, params []byte, accepts []string,
) (*mcpbridgev1.ForwardResponse, error) {
	end, failure := u.limits.enter(ctx, s)
	if failure != nil {
		return nil, failure.Fault
	}
	defer end()
	var resp *mcpbridgev1.ForwardResponse
	err := u.logins.with(ctx, s, authn.From(ctx).GetSubject(), func(a as) error {
		server, err := u.logins.server(u.server(s), a)
		if err != nil {
			return err
		}
		_, err = u.breakers.call(s, func() (Reply, error) {
			var err error
			resp, err = u.bridge.Forward(ctx, &mcpbridgev1.ForwardRequest{
				Server: server, Method: method, ParamsJson: params, Accepts: accepted(s, accepts),
			})
			if refused := refusedToken(s, err); refused != nil {
				return Reply{}, refused
			}
			if err != nil {
				return Reply{}, broken(err)
			}
			return Reply{}, nil
		})
		return err
	})
	if failure, ok := errors.AsType[*Error](err); ok {
		return nil, failure.Fault
	}
	return resp, err
}

// Offers is what a server lists besides tools.
type Offers struct {
	// URIs are those of resources.
	URIs []string
	// ResourceList and PromptList are the lists.
	ResourceList, PromptList bool
}

// WatchResources calls on with what has changed of offers, and first with nothing when the server has accepted the subscription.
func (u *Upstream) WatchResources(ctx context.Context, s store.Source, offers Offers, on func(changed Offers) error) error {
	return u.logins.with(ctx, s, authn.From(ctx).GetSubject(), func(a as) error { return watchResources(ctx, u, s, a, offers, on) })
}

func watchResources(ctx context.Context, u *Upstream, s store.Source, a as, offers Offers, on func(changed Offers) error) error {
	server, err := u.logins.server(u.server(s), a)
	if err != nil {
		return err
	}
	stream, err := u.bridge.WatchResources(ctx, &mcpbridgev1.WatchResourcesRequest{
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
		changed := Offers{ResourceList: m.GetResourceList(), PromptList: m.GetPromptList()}
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
	return slices.DeleteFunc(slices.Clone(accepts), func(method string) bool { return method == Elicitation })
}

// Elicitation is the method of a question to the user.
const Elicitation = "elicitation/create"

func bridgeAnswer(a *registryv1.InputAnswer) *mcpbridgev1.InputAnswer {
	if a == nil {
		return nil
	}
	return &mcpbridgev1.InputAnswer{Action: a.GetAction(), Content: a.GetContent(), State: a.GetState(), ResponsesJson: a.GetResponsesJson()}
}

// notOpened classifies the error of opening a stream. grpc-go reports here only what failed before the request was written to a connection;
// later failures come from Recv.
func notOpened(err error) *Error {
	f := fault.From(err)
	if f.Code == codes.Unavailable {
		return &Error{Kind: Away, Fault: f}
	}
	return &Error{Kind: NotSent, Fault: f}
}

// broken classifies a stream that ended without a result. The call certainly did not run only if the bridge says so, or rejects the request
// before processing it.
func broken(err error) *Error {
	if errors.Is(err, io.EOF) {
		return &Error{Kind: InDoubt, Fault: fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
			"the bridge ended the call without a result")}
	}
	f := fault.From(err)
	switch f.Reason {
	case faultv1.Reason_REASON_TOOL_UNAVAILABLE, faultv1.Reason_REASON_EGRESS_DENIED, faultv1.Reason_REASON_AUTHORIZATION_REQUIRED:
		return &Error{Kind: NotSent, Fault: f}
	case faultv1.Reason_REASON_OUTCOME_UNKNOWN:
		return &Error{Kind: InDoubt, Fault: f}
	case faultv1.Reason_REASON_TOO_LARGE:
		return &Error{Kind: TooLarge, Fault: f}
	}
	switch f.Code {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.NotFound:
		return &Error{Kind: NotSent, Fault: f}
	default:
		return &Error{Kind: InDoubt, Fault: f}
	}
}
