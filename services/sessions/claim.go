package sessions

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// claimable reports whether a worker claims steps of a kind. The ends of waits and input are written by this service.
func claimable(kind turnv1.StepKind) bool {
	switch kind {
	case turnv1.StepKind_STEP_KIND_WAIT, turnv1.StepKind_STEP_KIND_STEER:
		return false
	}
	return stepkey.KindName(kind) != ""
}

// askBudgetAgain is after what time a step that waits for a budget is best claimed again at first.
const askBudgetAgain = 50 * time.Millisecond

// maxStepKey bounds a step's key in bytes.
const maxStepKey = 64

func leaseLost(turn, step string) error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_LEASE_LOST, "the lease of step %q of turn %s is another's or over", step, turn).
		Hint("Drop what was done; the worker that holds the lease goes on.")
}

// ClaimStep implements ExecutionService.
func (s *Service) ClaimStep(ctx context.Context, req *executionv1.ClaimStepRequest) (*executionv1.ClaimStepResponse, error) {
	if err := s.checkClaim(req); err != nil {
		return nil, err
	}
	var out *executionv1.ClaimStepResponse
	err := s.journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(authn.Tenant(ctx), req.GetTurnId())
		if err != nil {
			return err
		}
		out, err = s.claim(tx, &t, req, false)
		return err
	})
	if err != nil {
		return nil, turnFault(err, req.GetTurnId())
	}
	out.NowMicros = s.store.NowUs()
	return out, nil
}

func (s *Service) checkClaim(req *executionv1.ClaimStepRequest) error {
	switch key := req.GetStep().GetKey(); {
	case key == "" || len(key) > maxStepKey || !access.Storable(key):
		return fault.Invalid("step.key", "must have 1 to %d characters", maxStepKey)
	case !claimable(req.GetStep().GetKind()):
		return fault.Invalid("step.kind", "is not set")
	case time.Duration(req.GetTtlMs())*time.Millisecond > s.cfg.MaxLease:
		return fault.Invalid("ttl_ms", "is longer than %s", s.cfg.MaxLease)
	}
	return nil
}

// turnFault translates the errors about a turn that does not exist, or that another driver changed; other errors pass.
func turnFault(err error, turn string) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return access.NoTurn(turn)
	case errors.Is(err, store.ErrNotNew):
		return fault.Conflict("a step of turn %s was claimed meanwhile", turn)
	}
	return err
}

// claim answers a claim for a step of a turn whose session is locked.
func (s *Service) claim(tx *journal.Tx, t *store.Turn, req *executionv1.ClaimStepRequest, optimistic bool) (*executionv1.ClaimStepResponse, error) {
	out, step, err := s.decideClaim(tx, t, req, optimistic)
	if err != nil || out.GetLease() == nil {
		return out, err
	}
	return out, tx.SaveStep(tx.Context(), step)
}

// decideClaim is claim without saving the step, which is the caller's part. With optimistic the step is assumed to be new; saving it checks that, see
// store.ErrNotNew.
func (s *Service) decideClaim(
	tx *journal.Tx, t *store.Turn, req *executionv1.ClaimStepRequest, optimistic bool,
) (*executionv1.ClaimStepResponse, store.Step, error) {
	out := &executionv1.ClaimStepResponse{CancelRequested: t.CancelRequested}
	step, err := store.Step{}, store.ErrNotFound
	if optimistic && (ended(*t) || tx.Session.ActiveTurnID != t.ID) {
		return nil, step, store.ErrNotNew
	}
	if !optimistic {
		step, err = tx.Step(tx.Context(), t.Tenant, t.ID, req.GetStep().GetKey())
	}
	fresh := errors.Is(err, store.ErrNotFound)
	switch {
	case err != nil && !fresh:
		return nil, step, err
	case step.Done:
		outcome, err := outcomeOf(step)
		out.Result = &executionv1.ClaimStepResponse_Done{Done: outcome}
		return out, step, err
	case ended(*t):
		return nil, step, fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "turn %s is %s", t.ID, enum.Name(turnStatus(*t)))
	case tx.Session.ActiveTurnID != t.ID:
		return nil, step, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "turn %s waits for turn %s", t.ID, tx.Session.ActiveTurnID)
	case step.LeaseExpiresUs > tx.NowUs: // held, or at rest
		out.Result = &executionv1.ClaimStepResponse_Busy{Busy: busy(step, tx.NowUs)}
		return out, step, nil
	}
	got, err := s.budgets.Reserve(tx, *t, step, req.GetStep())
	switch {
	case err != nil:
		return nil, step, err
	case optimistic && (got.Exhausted != nil || got.WaitsFor != ""):
		return nil, step, store.ErrNotNew
	case got.Exhausted != nil:
		outcome, err := exhaust(tx, *t, req, got.Exhausted)
		out.Result = &executionv1.ClaimStepResponse_Done{Done: outcome}
		return out, step, err
	case got.WaitsFor != "":
		out.Result = &executionv1.ClaimStepResponse_Busy{Busy: &executionv1.Busy{BudgetId: got.WaitsFor, ExpiresInMs: int32(askBudgetAgain.Milliseconds())}}
		return out, step, nil
	}
	lease, err := takeLease(tx, t, &step, req)
	if err != nil {
		return nil, step, err
	}
	step.Optimistic, lease.MaxOutputTokens = optimistic, int32(got.MaxOutput)
	out.Result = &executionv1.ClaimStepResponse_Lease{Lease: lease}
	return out, step, nil
}

func busy(step store.Step, nowUs int64) *executionv1.Busy {
	left := time.Duration(step.LeaseExpiresUs-nowUs) * time.Microsecond
	return &executionv1.Busy{Owner: step.Owner, ExpiresInMs: int32(left.Milliseconds()) + 1}
}

// takeLease gives the step to the caller, who has to save it. The step is the zero value if nobody claimed it before.
func takeLease(tx *journal.Tx, t *store.Turn, step *store.Step, req *executionv1.ClaimStepRequest) (*executionv1.Lease, error) {
	previous := step.Owner
	if err := countLost(t, *step); err != nil {
		return nil, err
	}
	if step.Fence == 0 {
		*step = store.Step{
			Tenant: t.Tenant, TurnID: t.ID, Key: req.GetStep().GetKey(), Kind: int32(req.GetStep().GetKind()), FirstSeq: tx.Session.LastSeq + 1,
		}
		switch req.GetStep().GetKind() {
		case turnv1.StepKind_STEP_KIND_INFER:
			step.MessageID = ids.New(ids.Message)
		case turnv1.StepKind_STEP_KIND_TOOL:
			step.Tool = req.GetToolCall().GetTool()
			if step.Tool == "" {
				step.Tool = req.GetStep().GetCall().GetTool()
			}
		}
	}
	step.Fence, step.Attempt = step.Fence+1, step.Attempt+1
	step.Owner, step.StartedUs = req.GetOwner(), tx.NowUs
	step.LeaseExpiresUs = tx.NowUs + int64(req.GetTtlMs())*1000
	for _, e := range claimEvents(*step, previous, req) {
		if _, err := tx.Append(journal.OfStep(*t, *step), e); err != nil {
			return nil, err
		}
	}
	changed := previous != ""
	if turnStatus(*t) == turnv1.TurnStatus_TURN_STATUS_QUEUED {
		t.Status, t.StartUs = int32(turnv1.TurnStatus_TURN_STATUS_RUNNING), tx.NowUs
		changed = true
	}
	if changed {
		tx.KeepTurn(t)
	}
	return &executionv1.Lease{Fence: step.Fence, Attempt: step.Attempt, BaseSeq: tx.Session.LastSeq, MessageId: step.MessageID}, nil
}

// claimEvents tells of a claim. The event that deltas hang on comes last.
func claimEvents(step store.Step, previous string, req *executionv1.ClaimStepRequest) []*turnv1.Event {
	var events []*turnv1.Event
	add := func(e *turnv1.Event) { events = append(events, e) }
	first := step.Attempt == 1
	if !first && previous != "" && previous != step.Owner { // "" = it was given back
		add(&turnv1.Event{Data: &turnv1.Event_TurnRecovered{TurnRecovered: &turnv1.TurnRecovered{PreviousOwner: previous, Owner: step.Owner}}})
	}
	if first {
		add(&turnv1.Event{Data: &turnv1.Event_StepStarted{StepStarted: &turnv1.StepStarted{
			Kind: stepkey.KindName(turnv1.StepKind(step.Kind)), Title: req.GetStep().GetTitle(),
		}}})
	}
	switch turnv1.StepKind(step.Kind) {
	case turnv1.StepKind_STEP_KIND_TOOL:
		if first && req.GetToolCall() != nil && req.GetStep().GetRound() <= 1 {
			add(&turnv1.Event{Data: &turnv1.Event_ToolCallStarted{ToolCallStarted: req.GetToolCall()}})
		}
	case turnv1.StepKind_STEP_KIND_INFER:
		if first {
			add(&turnv1.Event{Data: &turnv1.Event_MessageStarted{MessageStarted: &turnv1.MessageStarted{MessageId: step.MessageID, Model: req.GetModel()}}})
			break
		}
		reason := "the step was given back"
		if previous != "" {
			reason = "worker lost"
		}
		add(&turnv1.Event{Data: &turnv1.Event_MessageReset{MessageReset: &turnv1.MessageReset{MessageId: step.MessageID, Reason: reason}}})
	}
	return events
}

func outcomeOf(step store.Step) (*turnv1.StepOutcome, error) {
	return step.StepOutcome()
}
