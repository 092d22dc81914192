package sessions_test

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// fourEyes asks for leave that nobody may give who is behind the call.
func fourEyes(change func(*executionv1.WaitRequest)) *executionv1.WaitRequest {
	return approvalOf(func(r *executionv1.WaitRequest) {
		r.ApproverRoles, r.AllowRequester = []string{"lead"}, false
		if change != nil {
			change(r)
		}
	})
}

// root may use every session, and has the role of an approver.
func root() *policyv1.Principal { return authn.User("root", "admin", "lead") }

func (k *kit) steerAs(p *policyv1.Principal, turn *sessionsv1.Turn) {
	k.t.Helper()
	_, err := k.as(p).SteerTurn(k.t.Context(), &sessionsv1.SteerTurnRequest{TurnId: turn.GetId(), Input: "pay them twice"})
	must(k.t, err)
}

// paying makes a turn that has begun.
func (k *kit) paying() *worker {
	k.t.Helper()
	w := k.worker(k.turn(k.session().GetId(), "pay them"))
	w.begin()
	return w
}

// child has a turn's step ask a sub-agent, and gives a worker of it.
func (w *worker) child(k *kit, step string) *worker {
	w.t.Helper()
	made, err := w.exec.CreateChild(w.t.Context(), &executionv1.CreateChildRequest{
		TurnId: w.turn.GetId(), Step: step, Fence: w.lease(step).GetFence(), CallId: "c1", AgentId: "helper", Input: "help",
	})
	must(w.t, err)
	return k.worker(&sessionsv1.Turn{Id: made.GetTurnId(), SessionId: made.GetSessionId()})
}

// waitsForChild ends the step that has asked a sub-agent.
func (w *worker) waitsForChild(step string, child *worker) {
	w.t.Helper()
	w.commitAll(&executionv1.CommitStepRequest{Fence: 1, Outcome: &turnv1.StepOutcome{Key: step}, Wait: &executionv1.WaitRequest{
		Kind: turnv1.WaitKind_WAIT_KIND_CHILD, CallId: "c1", ChildTurnId: child.turn.GetId(),
	}})
}

// A person with a hand in a call is no second pair of eyes for it, whatever the way by which the turn took their input.
func TestWhoGivesATurnInputMayNotApproveItsCalls(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		k.agent("helper")
		for _, row := range []struct {
			name string
			ask  func() (*worker, *turnv1.WaitRef)
			free bool // root may decide
		}{
			{name: "who steers it", ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				k.steerAs(root(), w.turn)
				return w, w.waits("tool-1.0", fourEyes(nil))
			}},
			{name: "who steers it by sending input to its session", ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				_, err := k.as(root()).CreateTurn(k.t.Context(),
					&sessionsv1.CreateTurnRequest{SessionId: w.turn.GetSessionId(), Input: "now", Mode: "steer"})
				must(k.t, err)
				return w, w.waits("tool-1.0", fourEyes(nil))
			}},
			{name: "who answers its question", ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				question := w.waits("tool-1.0", &executionv1.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_INPUT, CallId: "c1"})
				_, err := k.approver(root()).AnswerApproval(k.t.Context(), &sessionsv1.AnswerApprovalRequest{ApprovalId: question.GetId()})
				must(k.t, err)
				return w, w.waits("tool-1.1", fourEyes(nil))
			}},
			{name: "who says what became of a call", ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				w.waits("tool-1.0", &executionv1.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_RESOLUTION, CallId: "c1"})
				_, err := k.as(root()).ResolveToolCall(k.t.Context(), &sessionsv1.ResolveToolCallRequest{
					TurnId: w.turn.GetId(), CallId: "c1", Outcome: "done", Result: "paid; pay again",
				})
				must(k.t, err)
				return w, w.waits("tool-1.1", fourEyes(nil))
			}},
			{name: "who refuses an earlier call and says why", ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				_, err := decide(k.t, k.approver(root()), w.waits("tool-1.0", fourEyes(nil)).GetId(), "deny")
				must(k.t, err)
				return w, w.waits("tool-1.1", fourEyes(nil))
			}},
			{name: "who steers the parent of its sub-agent", ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				k.steerAs(root(), w.turn)
				child := w.child(k, "tool-1.0")
				child.begin()
				return child, child.waits("tool-1.0", fourEyes(nil))
			}},
			{name: "who steers its sub-agent", ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				child := w.child(k, "tool-1.0")
				child.begin()
				k.steerAs(root(), child.turn)
				w.waitsForChild("tool-1.0", child)
				child.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
				return w, w.waits("tool-1.1", fourEyes(nil))
			}},
			{name: "who steered the turn that it runs again", ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				k.steerAs(root(), w.turn)
				w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
				again := k.worker(k.rerun(&sessionsv1.RerunTurnRequest{TurnId: w.turn.GetId(), Tools: "live"}))
				again.begin()
				return again, again.waits("tool-1.0", fourEyes(nil))
			}},
			{name: "who approved an earlier call", free: true, ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				_, err := decide(k.t, k.approver(root()), w.waits("tool-1.0", fourEyes(nil)).GetId(), "approve")
				must(k.t, err)
				return w, w.waits("tool-1.1", fourEyes(nil))
			}},
			{name: "who gives it input once the call is asked for", free: true, ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				asked := w.waits("tool-1.0", fourEyes(nil))
				k.steerAs(root(), w.turn)
				return w, asked
			}},
			{name: "who steers it, where the rule allows it", free: true, ask: func() (*worker, *turnv1.WaitRef) {
				w := k.paying()
				k.steerAs(root(), w.turn)
				return w, w.waits("tool-1.0", fourEyes(func(r *executionv1.WaitRequest) { r.AllowRequester = true }))
			}},
		} {
			t.Run(row.name, func(t *testing.T) {
				w, asked := row.ask()
				_, err := decide(t, k.approver(root()), asked.GetId(), "approve")
				if row.free {
					must(t, err)
					return
				}
				wantFault(t, err, "permission_denied")
				got, err := k.approver(root()).GetApproval(t.Context(), &sessionsv1.GetApprovalRequest{ApprovalId: asked.GetId()})
				must(t, err)
				if s := fmt.Sprint(got.GetRequesters()); enum.Name(got.GetStatus()) != "pending" || s != "[local root]" ||
					got.GetRequester() != "local" {
					t.Errorf("requesters %s of %v", s, got)
				}
				got, err = decide(t, k.approver(authn.User("ann", "lead")), asked.GetId(), "approve")
				must(t, err)
				if enum.Name(got.GetStatus()) != "approved" || w.now().GetStatus() != turnv1.TurnStatus_TURN_STATUS_RUNNING {
					t.Errorf("after somebody else's leave: %v", got)
				}
			})
		}
	})
}
