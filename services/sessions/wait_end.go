package sessions

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// endWait ends an open wait of a turn whose session is locked, with the verdict and the answer as it stands in w: row, event, the turn's state,
// and the outcome by which the turn goes on. The turn is saved. subject is who answered, "" for none. The caller calls notifyWorkflow afterwards.
func (s *Service) endWait(tx *journal.Tx, t *store.Turn, w *wait, verdict turnv1.Verdict, subject string) error {
	if err := closeWait(tx, t, w, verdict, subject); err != nil {
		return err
	}
	outcome := &turnv1.StepOutcome{
		Key: stepkey.Wait(w.StepKey), Kind: turnv1.StepKind_STEP_KIND_WAIT, Cancelled: t.CancelRequested, CommittedMicros: tx.NowUs,
		Answer: &turnv1.WaitAnswer{WaitId: w.ID, Verdict: verdict},
	}
	if t.PausedUs > 0 && t.PeopleWaits == 0 {
		if err := resume(tx, t); err != nil {
			return err
		}
		outcome.DeadlineMicros = t.DeadlineUs
	}
	if err := record(tx, *t, outcome); err != nil {
		return err
	}
	return tx.SaveTurn(tx.Context(), *t)
}

// closeWait writes that a wait is over, and takes it off the turn's counts, which are not saved.
func closeWait(tx *journal.Tx, t *store.Turn, w *wait, verdict turnv1.Verdict, subject string) error {
	w.Verdict, w.EndUs = int32(verdict), tx.NowUs
	if err := w.save(tx); err != nil {
		return err
	}
	if e := w.resolved(subject); e != nil {
		if _, err := tx.Append(w.origin(*t), e); err != nil {
			return err
		}
	}
	t.OpenWaits--
	if w.forPeople() {
		t.PeopleWaits--
	}
	return nil
}

// resume lets the turn's time run again, later by as long as it waited for people.
func resume(tx *journal.Tx, t *store.Turn) error {
	paused := max(tx.NowUs-t.PausedUs, 0)
	t.PausedUs, t.Status = 0, int32(turnv1.TurnStatus_TURN_STATUS_RUNNING)
	if t.DeadlineUs > 0 {
		t.DeadlineUs += paused
	}
	_, err := tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_TurnResumed{TurnResumed: &turnv1.TurnResumed{PausedMs: paused / 1000}}})
	return err
}

// record writes the outcome of something that nobody claims, as a step that is done.
func record(tx *journal.Tx, t store.Turn, outcome *turnv1.StepOutcome) error {
	data, err := proto.Marshal(outcome)
	if err != nil {
		return fmt.Errorf("outcome of step %s: %w", outcome.GetKey(), err)
	}
	return tx.SaveStep(tx.Context(), store.Step{
		Tenant: t.Tenant, TurnID: t.ID, Key: outcome.GetKey(), Kind: int32(outcome.GetKind()), Fence: 1, Attempt: 1, Done: true,
		StartedUs: tx.NowUs, FirstSeq: tx.Session.LastSeq, MessageID: outcome.GetMessageId(), Outcome: data,
	})
}

// openWaits reads the open waits of a turn whose session is locked. A turn without any costs nothing.
func openWaits(tx *journal.Tx, t store.Turn) ([]*wait, error) {
	if t.OpenWaits == 0 {
		return nil, nil
	}
	rows, err := tx.WaitsOf(tx.Context(), t.Tenant, t.ID)
	if err != nil {
		return nil, err
	}
	var out []*wait
	for _, row := range rows {
		if row.Verdict != 0 {
			continue
		}
		w, err := readWait(row)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// cancelWaits ends all waits of a turn that somebody wants to end, so that it goes on to its end.
func (s *Service) cancelWaits(tx *journal.Tx, t *store.Turn) error {
	open, err := openWaits(tx, *t)
	if err != nil || len(open) == 0 {
		return err
	}
	for _, w := range open {
		if err := s.endWait(tx, t, w, turnv1.Verdict_VERDICT_CANCELLED, ""); err != nil {
			return err
		}
	}
	return s.notifyWorkflow(tx, *t)
}

// dropWaits closes all waits of a turn that ends now.
func dropWaits(tx *journal.Tx, t *store.Turn) error {
	open, err := openWaits(tx, *t)
	if err != nil {
		return err
	}
	for _, w := range open {
		if err := closeWait(tx, t, w, turnv1.Verdict_VERDICT_CANCELLED, ""); err != nil {
			return err
		}
	}
	t.PausedUs = 0
	return nil
}

// ExpireWaits implements ExecutionService.
func (s *Service) ExpireWaits(ctx context.Context, req *executionv1.ExpireWaitsRequest) (*executionv1.ExpireWaitsResponse, error) {
	t, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	return &executionv1.ExpireWaitsResponse{}, turnFault(s.expire(ctx, t, false), t.ID)
}

// expire ends the waits of a turn whose time is up. With tell it notifies the turn's workflow.
func (s *Service) expire(ctx context.Context, seen store.Turn, tell bool) error {
	return s.journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(seen.Tenant, seen.ID)
		if err != nil {
			return err
		}
		open, err := openWaits(tx, t)
		if err != nil {
			return err
		}
		expired := 0
		for _, w := range open {
			if !w.due(tx.NowUs) {
				continue
			}
			expired++
			if err := s.endWait(tx, &t, w, turnv1.Verdict_VERDICT_EXPIRED, ""); err != nil {
				return err
			}
		}
		if expired == 0 || !tell {
			return nil
		}
		return s.notifyWorkflow(tx, t)
	})
}

// GetWait implements ExecutionService.
func (s *Service) GetWait(ctx context.Context, req *executionv1.GetWaitRequest) (*executionv1.Wait, error) {
	t, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	w, err := s.waitOf(ctx, t.Tenant, req.GetWaitId())
	if err != nil {
		return nil, err
	}
	if w.TurnID != t.ID {
		return nil, noApproval(req.GetWaitId())
	}
	out := proto.CloneOf(w.answer)
	out.Ref, out.Request, out.Verdict = w.ref(), w.request, w.verdict()
	return out, nil
}
