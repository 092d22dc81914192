package execute

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/toolresult"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// These texts are read by people and models: each says what happened and what to do.

func denied(tool string) *fault.Error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "you may not use the tool %q; it was not called", tool).
		Hint("Go on without it, and tell the user if that matters.")
}

func approvalRequired(tool, rule string) *fault.Error {
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_APPROVAL_REQUIRED,
		"the tool %q requires an approval (approval rule %q), and this call cannot wait for it; it was not called", tool, rule).
		Hint("Have an agent call it in a turn.")
}

func definitionChanged(tool string) *fault.Error {
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_DEFINITION_CHANGED,
		"the definition of the tool %q changed while the turn ran; it was not called", tool).
		Hint("Go on without it, and tell the user to begin a new turn if it is needed.")
}

// definitionHeld is the fault of a tool of a pinned source whose changed definition nobody has accepted.
func definitionHeld(tool string) *fault.Error {
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_DEFINITION_CHANGED,
		"the source of the tool %q changed its definition, which nobody has accepted yet; it was not called", tool).
		Hint("Go on without it, and tell the user that an operator has to accept the new definition.")
}

// certainlyNotRun is the fault of a failed row.
func certainlyNotRun(tool string) *fault.Error {
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the call of %q surely did not run", tool).
		Hint("Call it again if it is needed still.")
}

// outcomeUnknown is the fault of a call whose outcome stays unknown.
func outcomeUnknown(tool, comment string) *fault.Error {
	said := ""
	if comment != "" {
		said = ": " + comment
	}
	return fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
		"it is not known whether the call of %q took effect; nobody could find out, and it was not repeated%s", tool, said).
		Hint("Do not call it again with the same aim; tell the user that the outcome is unknown.")
}

func badArguments(tool string, faults []schema.Fault) *fault.Error {
	texts := make([]string, len(faults))
	fields := make([]fault.Field, len(faults))
	for i, f := range faults {
		fields[i] = fault.Field{Path: "arguments" + f.Pointer, Message: f.Message}
		texts[i] = fields[i].Path + ": " + f.Message
	}
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_TOOL_ARGUMENTS,
		"the arguments do not fit the tool %q, it was not called: %s", tool, strings.Join(texts, "; "))
	e.Fields = fields
	return e.Hint("Correct the arguments and call it again.")
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
func inDoubt(tool string, why *fault.Error, effect store.Effect) *fault.Error {
	reason := ""
	if why != nil {
		reason = ": " + why.Message
	}
	if !effect.Repeatable() {
		return fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
			"it is not known whether the call of %q took effect, and it was not repeated%s", tool, reason).
			Hint(toolresult.DoubtHint).
			Cause(causeOf(why))
	}
	if why != nil && why.Reason == faultv1.Reason_REASON_DEADLINE_EXCEEDED {
		return fault.New(why.Code, why.Reason, "%s", why.Message).Hint("Try again, or ask for less.").Cause(why)
	}
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the tool %q gave no answer%s", tool, reason).
		Hint("Try again later, or go on without it.").Cause(causeOf(why))
}

func causeOf(why *fault.Error) error {
	if why == nil {
		return nil
	}
	return why
}

func timedOut(tool string, limit time.Duration) *fault.Error {
	return fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "the tool %q did not answer within %s", tool, limit)
}

func cancelled() *fault.Error {
	return fault.New(codes.Canceled, faultv1.Reason_REASON_CANCELLED, "the call was cancelled before it was made")
}

// sealed is the result of a call that was carried out, and whose own result cannot be opened any more.
func sealed(tool string) *turnv1.ToolResult {
	text := fmt.Sprintf("The tool %q was called, and its result cannot be read any more: it was sealed with another mesh.key. Do not call it "+
		"again with the same aim before its effect has been checked.", tool)
	return &turnv1.ToolResult{IsError: true, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}}
}

func tooLarge(tool string, limit int) *turnv1.ToolResult {
	text := fmt.Sprintf("The tool %q was called, but its result is too large: the limit is %d bytes. Ask for less, for example a part of it.",
		tool, limit)
	return &turnv1.ToolResult{IsError: true, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}}
}
