package execute

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/toolresult"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// trusted reports whether the results of a tool are trusted: its source says so, and package builtin for the mesh's own tools.
func trusted(t store.Tool) bool {
	if kinds.Facts(t.Source.Kind).Own {
		return builtin.Trusted(t.OriginalName)
	}
	return glob.Any(t.Source.Spec.Trusted, t.OriginalName)
}

// finish closes the row and returns the outcome. doubt means that the call may have run before: that its last attempt did not run says
// nothing about earlier ones.
func (a *attempt) finish(ctx context.Context, latency time.Duration, reply source.Reply, failure *source.Error, doubt bool,
) (*Outcome, error) {
	x, r, t, row := a.x, a.req, a.tool, a.entry.row
	row.Latency = latency
	if reply.Result != nil {
		reply.Result.Trusted = trusted(t)
	}
	out := &Outcome{Result: reply.Result, Input: reply.Input, ExecutionID: row.ID, Latency: row.Latency}
	row.State, row.EndTime = store.Done, x.deps.Now()
	switch {
	case failure == nil && reply.Input != nil:
		row.State = store.Waiting
	case failure == nil:
	case failure.Outcome == source.TooLarge:
		out.Result, out.Code = tooLarge(r.Tool, x.cfg.MaxResultBytes), fault.CodeName(faultv1.Reason_REASON_TOO_LARGE)
	case failure.NothingSent() && !doubt:
		row.State = store.Failed
		out.Fault = notRun(r.Tool, failure.Fault)
		if out.Fault.Reason == faultv1.Reason_REASON_TOOL_UNAVAILABLE {
			x.deps.Unavailable(t.Source)
		}
	default:
		row.State = store.Unresolved
		out.Unresolved = !t.Effect.Repeatable()
		out.Fault = inDoubt(r.Tool, failure.Fault, t.Effect)
	}
	if out.Fault != nil {
		out.Code = fault.CodeName(out.Fault.Reason)
	}
	switch {
	case out.Input != nil:
		var err error
		if row.Result, err = proto.Marshal(out.Input); err != nil {
			return nil, fault.Internal(err)
		}
	case out.Result != nil:
		out.Result, out.Code, row.Result = x.encode(r, row.ID, out.Result, out.Code)
	}
	givenUp := ctx.Err() != nil && t.Effect.Repeatable() && out.Result == nil && out.Input == nil // the call may run again on the next request
	if givenUp {
		out.Code = fault.CodeName(faultv1.Reason_REASON_CANCELLED)
	}
	row.IsError, row.Code = out.Fault != nil || out.Result.GetIsError(), out.Code
	x.dropResults(ctx, row)
	a.entry.close(ctx, row)
	faultpoint.Hit(faultpoint.ToolClosed)
	if givenUp {
		return out, context.Canceled
	}
	return out, nil
}

// notRun is the fault of a call that certainly did not run.
func notRun(tool string, why *fault.Error) *fault.Error {
	switch why.Reason {
	case faultv1.Reason_REASON_CANCELLED:
		return cancelled()
	case faultv1.Reason_REASON_EGRESS_DENIED, faultv1.Reason_REASON_FAILED_PRECONDITION:
		return fault.New(codes.FailedPrecondition, why.Reason, "the tool %q was not called: %s", tool, why.Message).Hint("%s",
			why.Todo).Cause(why)
	case faultv1.Reason_REASON_AUTHORIZATION_REQUIRED:
		f := fault.New(why.Code, why.Reason, "the tool %q was not called: %s", tool, why.Message).Hint("%s", why.Todo).Cause(why)
		f.Details = why.Details
		return f
	case faultv1.Reason_REASON_INPUT_REQUIRED:
		return why
	case faultv1.Reason_REASON_INVALID_TOOL_ARGUMENTS:
		return fault.New(codes.InvalidArgument, why.Reason, "the arguments cannot be sent to the tool %q, it was not called: %s", tool,
			why.Message).Hint("Correct the arguments and call it again.").Cause(why)
	default:
		return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the tool %q was not called: %s", tool, why.Message).
			Hint("Try again later, or go on without it.").Cause(why)
	}
}

// inDoubt is the fault of a call that may have run. why is nil for an earlier call.
func inDoubt(tool string, why *fault.Error, effect store.Effect) (f *fault.Error) {
	reason := ""
	if why != nil {
		reason = ": " + why.Message
	}
	switch {
	case !effect.Repeatable():
		f = fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
			"it is not known whether the call of %q took effect, and it was not repeated%s", tool, reason).Hint(toolresult.DoubtHint)
	case why != nil && why.Reason == faultv1.Reason_REASON_DEADLINE_EXCEEDED:
		f = fault.New(why.Code, why.Reason, "%s", why.Message).Hint("Try again, or ask for less.")
	default:
		f = fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the tool %q gave no answer%s", tool, reason).
			Hint("Try again later, or go on without it.")
	}
	if why == nil {
		return f
	}
	return f.Cause(why)
}

func cancelled() *fault.Error {
	return fault.New(codes.Canceled, faultv1.Reason_REASON_CANCELLED, "the call was cancelled before it was made")
}
