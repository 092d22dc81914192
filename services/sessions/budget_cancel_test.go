package sessions_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// TestACancelledModelCallIsCountedOnce: what a call has used until it was cut off counts in its turn and in budgets once, also
// when its worker sends the commit again because the answer was lost, and when another worker comes too late.
func TestACancelledModelCallIsCountedOnce(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		b := k.budget(&sessionsv1.Budget{Scope: "tenant", MaxTokens: 10_000})
		w := k.worker(k.newTurn("hello"))
		w.beginWith(&turnv1.Surface{MaxOutputTokens: 500})
		stale := w.lease("infer-1")
		_, err := k.exec.RenewStep(t.Context(), &executionv1.RenewStepRequest{
			TurnId: w.turn.GetId(), Step: "infer-1", Fence: stale.GetFence(),
			Ttl: durationpb.New(100 * time.Millisecond),
		})
		must(t, err)
		other := k.worker(w.turn)
		other.owner = "w2"
		l := other.leaseSoon("infer-1")
		_, err = k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: w.turn.GetId()})
		must(t, err)
		commit := func(l *executionv1.Lease) (*executionv1.CommitStepResponse, error) {
			return k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
				TurnId: w.turn.GetId(), Fence: l.GetFence(),
				Messages: []*turnv1.Message{{Id: l.GetMessageId(), Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("so far")}},
				Outcome: &turnv1.StepOutcome{
					Key: "infer-1", FinishReason: "cancelled", Usage: &turnv1.Usage{InputTokens: 20, OutputTokens: 7, ModelCalls: 1},
				},
			})
		}
		for range 3 {
			got, err := commit(l)
			must(t, err)
			if !got.GetOutcome().GetCancelled() || got.GetOutcome().GetUsage().GetOutputTokens() != 7 {
				t.Errorf("outcome %v", got.GetOutcome())
			}
		}
		_, err = commit(stale)
		wantFault(t, err, "lease_lost")
		w.finish(turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
		if now := k.stands(b.GetId()); now.GetUsedTokens() != 27 || now.GetReservedTokens() != 0 {
			t.Errorf("the budget: %v", now)
		}
		turn, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: w.turn.GetId()})
		must(t, err)
		if u := turn.GetUsage(); u.GetModelCalls() != 1 || u.GetInputTokens() != 20 || u.GetOutputTokens() != 7 || u.GetLostCalls() != 1 {
			t.Errorf("usage %v", u)
		}
		if said := k.events(turn.GetSessionId(), "message.completed"); len(said) != 1 {
			t.Errorf("%d messages", len(said))
		}
	})
}

// TestACallThatNobodyFinishedCounts: a worker that another one has overtaken may have sent a call whose turn then ended, whatever ended it.
func TestACallThatNobodyFinishedCounts(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		b := k.budget(&sessionsv1.Budget{Scope: "tenant", MaxToolCalls: 2})
		w := k.worker(k.newTurn("hello"))
		w.beginWith(&turnv1.Surface{MaxOutputTokens: 500})
		late := w.lease("tool-1.0")
		w.result("tool-1.1", "c2", "done")
		w.exhausted("tool-1.2")
		other := k.worker(w.turn)
		other.owner = "w2"
		other.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "budget")
		if now := k.stands(b.GetId()); now.GetUsedToolCalls() != 2 || now.GetReservedToolCalls() != 0 {
			t.Errorf("the budget: %v", now)
		}
		_, err := k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
			TurnId: w.turn.GetId(), Fence: late.GetFence(), Outcome: &turnv1.StepOutcome{Key: "tool-1.0"},
		})
		wantFault(t, err, "lease_lost")
		if now := k.stands(b.GetId()); now.GetUsedToolCalls() != 2 || now.GetReservedToolCalls() != 0 {
			t.Errorf("the budget after a late commit: %v", now)
		}
		next := k.worker(k.turn(w.turn.GetSessionId(), "more"))
		next.beginWith(&turnv1.Surface{MaxOutputTokens: 500})
		next.exhausted("tool-1.0")
	})
}
