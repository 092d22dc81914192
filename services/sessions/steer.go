package sessions

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/timestamp"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// SteerTurn implements TurnService.
func (s *Service) SteerTurn(ctx context.Context, req *sessionsv1.SteerTurnRequest) (*sessionsv1.SteerTurnResponse, error) {
	content, err := s.checkInput(req)
	if err != nil {
		return nil, err
	}
	bare := proto.CloneOf(req)
	bare.IdempotencyKey = ""
	once, err := idempotency.Of(ctx, "steer_turn", req.GetIdempotencyKey(), bare)
	if err != nil {
		return nil, err
	}
	seen, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.SteerTurnResponse{TurnId: seen.ID}
	err = s.journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(seen.Tenant, seen.ID)
		if err != nil {
			return err
		}
		once := once
		once.TurnID, once.MessageID = t.ID, ids.New(ids.Message)
		stands, added, err := s.keys.Remember(tx, once)
		if err != nil {
			return err
		}
		out.MessageId = stands.MessageID
		if !added {
			out.Seq = 0 // read below
			return nil
		}
		if err := steerable(tx, t); err != nil {
			return err
		}
		out.Seq, err = s.steer(tx, &t, once.MessageID, content)
		return err
	})
	if err != nil {
		return nil, turnFault(err, seen.ID)
	}
	if out.GetSeq() != 0 {
		return out, nil
	}
	row, err := s.store.Message(ctx, seen.Tenant, out.GetMessageId())
	if errors.Is(err, store.ErrNotFound) {
		return nil, access.NoTurn(seen.ID) // it was deleted just now
	}
	if err != nil {
		return nil, err
	}
	out.Seq = uint32(row.Seq)
	return out, nil
}

// steerable returns why a turn cannot take input.
func steerable(tx *journal.Tx, t store.Turn) error {
	switch {
	case ended(t):
		return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "turn %s is %s", t.ID, enum.Name(turnStatus(t))).
			Hint("Send the input as a new turn.")
	case t.CancelRequested:
		return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "turn %s is about to be cancelled", t.ID).
			Hint("Send the input as a new turn.")
	case tx.Session.ActiveTurnID != t.ID:
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "turn %s has not begun: it waits for turn %s", t.ID, tx.Session.ActiveTurnID).
			Hint("Steer the turn that runs, or send the input as a new turn.")
	}
	return nil
}

// steer gives more input to the active turn of a locked session: message, event, and the outcome that has the model asked again. It gives the
// event's seq.
func (s *Service) steer(tx *journal.Tx, t *store.Turn, message string, content []*turnv1.ContentPart) (uint32, error) {
	if int(t.Inputs) >= s.cfg.MaxTurnInputs {
		return 0, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "turn %s was given %d inputs while it runs", t.ID, t.Inputs).
			Hint("Send the input as a new turn.")
	}
	t.Inputs++
	if err := takeInput(tx, *t); err != nil {
		return 0, err
	}
	seq, err := tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_InputAccepted{InputAccepted: &turnv1.InputAccepted{
		MessageId: message, Content: content, Number: t.Inputs,
	}}})
	if err != nil {
		return 0, err
	}
	m := &turnv1.Message{
		Id: message, SessionId: t.SessionID, TurnId: t.ID, Role: turnv1.Role_ROLE_USER, Content: content, CreateTime: timestamp.OfMicros(tx.NowUs), Seq: seq,
	}
	if err := addMessage(tx, *t, m); err != nil {
		return 0, err
	}
	if err := record(tx, *t, &turnv1.StepOutcome{
		Key: stepkey.Steer(int(t.Inputs)), Kind: turnv1.StepKind_STEP_KIND_STEER, MessageId: message, CommittedMicros: tx.NowUs,
		ContextTokens: conversation.MessageTokens(m),
	}); err != nil {
		return 0, err
	}
	if err := tx.SaveTurn(tx.Context(), *t); err != nil {
		return 0, err
	}
	return seq, s.notifyWorkflow(tx, *t)
}

// steerActive gives an order's input to the active turn of its session, if there is one that can take it. It returns that turn's id, "" when
// a new turn is to begin.
func (s *Service) steerActive(tx *journal.Tx, o order) (string, error) {
	if o.mode != modeSteer || o.fresh {
		return "", nil
	}
	if err := tx.Lock(o.session.Tenant, o.session.ID); err != nil || tx.Session.ActiveTurnID == "" {
		return "", err
	}
	t, err := tx.Turn(tx.Context(), o.session.Tenant, tx.Session.ActiveTurnID)
	if err != nil {
		return "", err
	}
	if t.CancelRequested {
		return "", nil
	}
	once := o.once
	once.TurnID, once.MessageID = t.ID, ids.New(ids.Message)
	stands, added, err := s.keys.Remember(tx, once)
	if err != nil || !added {
		return stands.TurnID, err
	}
	_, err = s.steer(tx, &t, once.MessageID, o.content)
	return t.ID, err
}

// inputs gives the outcomes of all input that a turn was given while it runs; none for a turn that was given none, which costs nothing.
func inputs(tx *journal.Tx, t store.Turn) ([]*turnv1.StepOutcome, error) {
	if t.Inputs == 0 {
		return nil, nil
	}
	steps, err := tx.StepsOf(tx.Context(), t.Tenant, t.ID, int32(turnv1.StepKind_STEP_KIND_STEER))
	if err != nil {
		return nil, err
	}
	var out []*turnv1.StepOutcome
	for _, step := range steps {
		outcome, err := outcomeOf(step)
		if err != nil {
			return nil, err
		}
		out = append(out, outcome)
	}
	return out, nil
}

// moveUnreadInput moves input that came while a model step ran, and that the model could not read, behind what the model said.
func moveUnreadInput(tx *journal.Tx, t store.Turn, outcome *turnv1.StepOutcome) error {
	if outcome.GetInputs() >= t.Inputs {
		return nil
	}
	given, err := inputs(tx, t)
	if err != nil {
		return err
	}
	heard := map[string]bool{}
	for n := range int(outcome.GetInputs()) {
		heard[stepkey.Steer(n+1)] = true
	}
	for _, o := range given {
		if heard[o.GetKey()] {
			continue
		}
		if err := tx.MoveMessage(tx.Context(), t.Tenant, o.GetMessageId(), int64(tx.Session.LastSeq)); err != nil {
			return err
		}
	}
	return nil
}

// stale reports whether a commit would end a turn with an answer that was written before all input was read.
func stale(t store.Turn, req *executionv1.CommitStepRequest) bool {
	end := req.GetEnding()
	return end.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED && end.GetStopReason() == stopEnd &&
		req.GetInputs() < t.Inputs && !t.CancelRequested && !ended(t)
}

// stopEnd is the stop reason of a turn that ends with an answer.
const stopEnd = "end"

// refuseStale answers a finish step that was decided without knowing of newer input. A lease on it is given back.
func refuseStale(tx *journal.Tx, t store.Turn, req *executionv1.CommitStepRequest) (*executionv1.CommitStepResponse, error) {
	out := &executionv1.CommitStepResponse{Stale: true}
	var err error
	if out.Inputs, err = inputs(tx, t); err != nil || req.GetClaim() != nil {
		return out, err
	}
	step, err := heldStep(tx, t, req.GetOutcome().GetKey(), req.GetFence())
	if err != nil || step.Done {
		return out, err
	}
	step.Owner, step.LeaseExpiresUs = "", 0
	return out, tx.SaveStep(tx.Context(), step)
}
