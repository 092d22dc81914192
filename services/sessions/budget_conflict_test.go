package sessions_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestAClaimWithACommitMeetsAnotherDriver commits a step with the claim of one that another driver holds, and with the claim of
// one that another driver has finished: what they reserved or used is in the budget.
func TestAClaimWithACommitMeetsAnotherDriver(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		b := k.budget(&sessionsv1.Budget{Scope: "tenant", MaxTokens: 100_000, MaxToolCalls: 9})
		w := k.worker(k.newTurn("hello"))
		w.beginWith(&turnv1.Surface{MaxOutputTokens: 100})
		other := k.worker(w.turn)
		other.owner = "w2"
		mine := w.lease("infer-1")
		other.lease("tool-1.0")
		other.result("tool-1.1", "c1", "3")
		got := w.commit("infer-1", mine, func(r *executionv1.CommitStepRequest) {
			for _, key := range []string{"tool-1.0", "tool-1.1", "tool-1.2"} {
				r.Next = append(r.Next, &executionv1.ClaimStepRequest{
					TurnId: w.turn.GetId(), Step: ref(key), Owner: "w1",
					Ttl: durationpb.New(30 * time.Second),
				})
			}
		})
		next := got.GetNext()
		if len(next) != 3 || next[0].GetBusy().GetOwner() != "w2" || next[1].GetDone() == nil || next[2].GetLease() == nil {
			t.Errorf("claimed: %v", next)
		}
		if now := k.stands(b.GetId()); now.GetReservedToolCalls() != 2 || now.GetUsedToolCalls() != 1 {
			t.Errorf("the budget: %v", now)
		}
		w.finish(completed, "end")
		if now := k.stands(b.GetId()); now.GetReservedToolCalls() != 0 || now.GetReservedTokens() != 0 {
			t.Errorf("after the end: %v", now)
		}
	})
}
