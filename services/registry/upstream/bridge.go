package upstream

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Kind says what is known of a call that gave no answer.
type Kind int

const (
	// Away means that the bridge could not be reached, so nothing was sent; a moment later it may be back.
	Away Kind = iota + 1
	// NotSent means that nothing was sent. Trying again is of use only where the tool server could not be reached (TOOL_UNAVAILABLE).
	NotSent
	// Stopped means that nothing was sent, because the source could not be reached several times in a row. There is no use in trying again
	// soon.
	Stopped
	// InDoubt means that the call may have run.
	InDoubt
	// TooLarge means that it ran, and its answer is too large for the mesh.
	TooLarge
)

// Error is a call without an answer.
type Error struct {
	// Kind says what is known.
	Kind Kind
	// Fault says why.
	Fault *fault.Error
}

// Error returns the fault's text.
func (e *Error) Error() string { return e.Fault.Error() }

// NothingSent reports whether it is known that this attempt did not run.
func (e *Error) NothingSent() bool { return e.Kind == Away || e.Kind == NotSent || e.Kind == Stopped }

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Fault }

func (u *Upstream) callBridge(ctx context.Context, r Request, progress func(Progress)) (Reply, error) {
	// Not waiting for a bridge that is away: nothing is sent then, and the caller decides how long to try.
	stream, err := u.bridge.CallTool(ctx, &mcpbridgev1.CallToolRequest{
		Server: u.server(r.Source), Tool: r.Tool, ArgumentsJson: r.Arguments.JSON(), Meta: r.Meta,
		CanAsk: r.CanAsk && r.Source.Spec.Elicitation != "off", Answer: bridgeAnswer(r.Answer),
	}, grpc.WaitForReady(false))
	if err != nil {
		return Reply{}, notOpened(err)
	}
	for {
		msg, err := stream.Recv()
		if err != nil {
			return Reply{}, broken(err)
		}
		switch event := msg.GetEvent().(type) {
		case *mcpbridgev1.CallToolResponse_Progress:
			progress(Progress{Done: event.Progress.GetProgress(), Total: event.Progress.GetTotal(), Message: event.Progress.GetMessage()})
		case *mcpbridgev1.CallToolResponse_Result:
			return Reply{Result: &turnv1.ToolResult{
				Content: event.Result.GetContent(), StructuredContent: event.Result.GetStructuredContent(), IsError: event.Result.GetIsError(),
			}}, nil
		case *mcpbridgev1.CallToolResponse_InputRequired:
			return Reply{Input: &registryv1.InputRequired{
				Message: event.InputRequired.GetMessage(), SchemaJson: event.InputRequired.GetSchemaJson(), State: event.InputRequired.GetState(),
			}}, nil
		}
	}
}

func bridgeAnswer(a *registryv1.InputAnswer) *mcpbridgev1.InputAnswer {
	if a == nil {
		return nil
	}
	return &mcpbridgev1.InputAnswer{Action: a.GetAction(), Content: a.GetContent(), State: a.GetState()}
}

// notOpened says what a stream that could not be opened means. grpc-go reports here only what went wrong before the
// request was handed to a connection; failures after that come out of Recv.
func notOpened(err error) *Error {
	f := fault.From(err)
	if f.Code == codes.Unavailable {
		return &Error{Kind: Away, Fault: f}
	}
	return &Error{Kind: NotSent, Fault: f}
}

// broken says what a stream that ended without a result means. Only what the bridge itself vouches for, or what it refuses
// before it looks at the request, is certain not to have run.
func broken(err error) *Error {
	if errors.Is(err, io.EOF) {
		return &Error{Kind: InDoubt, Fault: fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN, "the bridge ended the call without a result")}
	}
	f := fault.From(err)
	switch f.Reason {
	case faultv1.Reason_REASON_TOOL_UNAVAILABLE, faultv1.Reason_REASON_EGRESS_DENIED:
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
