package sessions_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// A call counts once it may have been sent, however it ends and however often its rounds wait; the next round needs no budget of its own.
func TestACallThatWaitsAfterItWasSentCounts(t *testing.T) {
	for _, row := range []struct {
		name    string
		kind    turnv1.WaitKind
		counted int64
	}{
		{"its outcome is unknown", turnv1.WaitKind_WAIT_KIND_RESOLUTION, 1},
		{"the tool asks", turnv1.WaitKind_WAIT_KIND_INPUT, 1},
		{"it needs an approval", turnv1.WaitKind_WAIT_KIND_APPROVAL, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			engines(t, func(t *testing.T, postgres bool) {
				k := newKit(t, options{postgres: postgres})
				b := k.budget(&sessionsv1.Budget{Scope: "tenant", MaxToolCalls: 1})
				w := k.withCalls()
				got := w.commit("tool-1.0", w.lease("tool-1.0"), func(c *executionv1.CommitStepRequest) {
					c.Wait = &executionv1.WaitRequest{Kind: row.kind, CallId: "c1", Tool: "bank__pay"}
					c.Outcome.Usage = &turnv1.Usage{ToolCalls: int32(row.counted)}
				})
				if now := k.stands(b.GetId()); now.GetUsedToolCalls() != row.counted || now.GetReservedToolCalls() != 0 {
					t.Errorf("while it waits the budget is %v", now)
				}
				next := &turnv1.StepRef{Key: "tool-1.0.2", Kind: turnv1.StepKind_STEP_KIND_TOOL, Round: 2, Wait: got.GetOutcome().GetWait()}
				claim, err := w.exec.ClaimStep(t.Context(), &executionv1.ClaimStepRequest{
					TurnId: w.turn.GetId(), Step: next, Owner: w.owner,
					Ttl: durationpb.New(30 * time.Second),
				})
				must(t, err)
				w.commit(next.GetKey(), claim.GetLease(), func(c *executionv1.CommitStepRequest) {
					c.Outcome.Usage = &turnv1.Usage{ToolCalls: int32(1 - row.counted)}
				})
				if now := k.stands(b.GetId()); now.GetUsedToolCalls() != 1 || now.GetReservedToolCalls() != 0 {
					t.Errorf("after it the budget is %v", now)
				}
				if used := w.exhausted("tool-1.1"); used.GetWhat() != "tool_calls" {
					t.Errorf("the other call is refused by %v", used)
				}
				if n := w.now().GetUsage().GetToolCalls(); n != 1 {
					t.Errorf("the turn has used %d calls", n)
				}
			})
		})
	}
}
