package execute

import (
	"bytes"
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// question returns the question that the tool of a waiting row asked.
func question(row store.Execution) (*registryv1.InputRequired, error) {
	asked := &registryv1.InputRequired{}
	if err := proto.Unmarshal(row.Result, asked); err != nil {
		return nil, fault.Internal(fmt.Errorf("question of execution %s: %w", row.ID, err))
	}
	return asked, nil
}

// answers reports whether the request answers this question, and not an earlier one of the same call.
func (r *request) answers(asked *registryv1.InputRequired) bool {
	return r.Input != nil && bytes.Equal(r.Input.GetState(), asked.GetState())
}

// direct reports whether the call belongs to no turn. What a direct caller says of a question comes from outside, and is checked.
func (r *request) direct() bool { return r.TurnID == "" }

// noQuestion is the fault of an answer to a question that the tool did not ask.
func noQuestion(tool string) *fault.Error {
	return fault.Invalid("answer.state", "is not of a question that %s has asked in this call", tool).
		Hint("Call the tool again without an answer.")
}

// resolved applies a person's resolution to a row whose outcome is unknown. ErrChanged means that the row must be read again.
func (x *Executor) resolved(ctx context.Context, f *flight, r *request, row store.Execution) (Outcome, error) {
	said := store.Resolution{ID: r.Resolution.GetId(), By: r.Resolution.GetSubject(), Comment: r.Resolution.GetComment(), Time: x.deps.Now()}
	switch r.Resolution.GetVerdict() {
	case turnv1.Verdict_VERDICT_ANSWERED:
		said.What = store.SaidDone
		result := r.Resolution.GetResult()
		if result == nil {
			result = &turnv1.ToolResult{}
		}
		result.Trusted = false
		out := Outcome{Cached: true, ExecutionID: row.ID, Latency: row.Latency, source: row.Source}
		out.Result, out.Code, row.Result = x.encode(r, row.ID, result, "")
		row.State, row.IsError, row.Code, row.EndTime, row.Resolution = store.Done, out.Result.GetIsError(), out.Code, said.Time, said
		x.replayDecision(f, row)
		return out, x.deps.Store.Resolve(ctx, row)
	case turnv1.Verdict_VERDICT_NOT_DONE:
		said.What = store.SaidNotDone
		if used(row.Resolution, said) && !row.Effect.Repeatable() {
			x.replayDecision(f, row)
			return unresolved(row), nil // it ran because of this resolution, and its outcome is unknown again
		}
		row.Resolution = said
		return x.attempt(ctx, f, r, &row)
	default:
		said.What = store.SaidNothing
		out := failed(outcomeUnknown(row.Tool, said.Comment))
		out.Cached, out.ExecutionID, out.Latency, out.source = true, row.ID, row.Latency, row.Source
		x.replayDecision(f, row)
		if used(row.Resolution, said) {
			return out, nil
		}
		row.Resolution = said
		return out, x.deps.Store.Resolve(ctx, row)
	}
}

// used reports whether the row was already resolved by this resolution.
func used(had, said store.Resolution) bool {
	said.Time = had.Time
	return had == said
}

// contradicts answers a resolution that contradicts the ledger, which knows that the call did not run: it does not run because someone
// says that it was done or that its outcome is unknown.
func (r *request) contradicts(row store.Execution) (Outcome, bool) {
	if r.Resolution == nil || r.Resolution.GetVerdict() == turnv1.Verdict_VERDICT_NOT_DONE {
		return Outcome{}, false
	}
	out := failed(certainlyNotRun(row.Tool))
	out.Cached, out.ExecutionID, out.Latency, out.source = true, row.ID, row.Latency, row.Source
	return out, true
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
		"it is not known whether the call of %q took effect; it could not be found out, and the call was not repeated%s", tool, said).
		Hint("Do not call it again with the same aim; tell the user that the outcome is unknown.")
}
