package sessions_test

import (
	"sync"
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestParentsWaitForChildrenThatHaveEnded: a call that begins to wait for a child finds that it is over, in one transaction. There is one
// connection to PostgreSQL, and there are several parents at once.
func TestParentsWaitForChildrenThatHaveEnded(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("helper")
		k.agent("boss")
		type family struct {
			parent *worker
			child  string
			lease  *executionv1.Lease
		}
		var families []family
		for range 4 {
			ses, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "boss"})
			must(t, err)
			parent := k.worker(k.turn(ses.GetId(), "hello"))
			parent.begin()
			parent.answer("infer-1", parent.lease("infer-1"),
				&turnv1.Message{ToolCalls: []*turnv1.ToolCall{{CallId: "c", Tool: "helper", ArgumentsJson: "{}"}}}, 0)
			lease := parent.lease("tool-1.0")
			made, err := k.exec.CreateChild(t.Context(), &executionv1.CreateChildRequest{
				TurnId: parent.turn.GetId(), Step: "tool-1.0", Fence: lease.GetFence(), CallId: "c", AgentId: "helper", Input: "help",
			})
			must(t, err)
			k.end(&sessionsv1.Turn{Id: made.GetTurnId(), SessionId: made.GetSessionId()}, completed, "helped")
			families = append(families, family{parent, made.GetTurnId(), lease})
		}
		var all sync.WaitGroup
		for _, f := range families {
			all.Go(func() {
				_, err := k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
					TurnId: f.parent.turn.GetId(), Fence: f.lease.GetFence(), Outcome: &turnv1.StepOutcome{Key: "tool-1.0"},
					Wait: &executionv1.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_CHILD, CallId: "c", ChildTurnId: f.child},
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		for _, f := range families {
			if got := f.parent.outcome("wait-1.0").GetAnswer().GetVerdict(); got != turnv1.Verdict_VERDICT_ANSWERED {
				t.Errorf("the wait for the child ended with %s", got)
			}
		}
	})
}
