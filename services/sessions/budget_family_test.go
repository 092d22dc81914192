package sessions_test

import (
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestASubAgentSpendsWhatItsParentsMay has a child's use count for all that its parent's counts for.
func TestASubAgentSpendsWhatItsParentsMay(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("helper")
		w := k.worker(k.newTurnOf("assistant"))
		mine := k.budget(&sessionsv1.Budget{Scope: "agent", Target: "assistant", MaxTokens: 100_000, MaxToolCalls: 9})
		w.beginWith(&turnv1.Surface{MaxTokens: 2000})
		w.used("infer-1", w.lease("infer-1"), 100, 100, nil)
		l := w.lease("tool-1.0")
		made, err := k.exec.CreateChild(t.Context(), &executionv1.CreateChildRequest{
			TurnId: w.turn.GetId(), Step: "tool-1.0", Fence: l.GetFence(), CallId: "c", AgentId: "helper", Input: "help",
		})
		must(t, err)
		child := k.worker(&sessionsv1.Turn{Id: made.GetTurnId(), SessionId: made.GetSessionId()})
		child.beginWith(&turnv1.Surface{MaxOutputTokens: 700})
		child.used("infer-1", child.lease("infer-1"), 500, 600, nil)
		if now := k.stands(mine.GetId()); now.GetUsedTokens() != 1300 {
			t.Errorf("the parent's agent: %v", now)
		}
		short := child.lease("infer-2") // 700 tokens of the parent's 2000 are left
		if short.GetMaxOutputTokens() >= 700 {
			t.Errorf("it may write %d tokens", short.GetMaxOutputTokens())
		}
		child.used("infer-2", short, 300, 390, nil)
		if over := child.exhausted("infer-3"); over.GetBudgetId() != w.turn.GetId() || over.GetUsed() != 1990 {
			t.Errorf("exhausted %v", over)
		}
		child.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "max_tokens")
		if now := k.stands(mine.GetId()); now.GetUsedTokens() != 1990 || now.GetReservedTokens() != 0 || now.GetReservedToolCalls() != 1 {
			t.Errorf("after the child's end: %v", now)
		}
	})
}

// newTurnOf makes an agent, and a turn in a session with it.
func (k *kit) newTurnOf(agent string) *sessionsv1.Turn {
	k.t.Helper()
	k.agent(agent)
	ses, err := k.sessions.CreateSession(k.t.Context(), &sessionsv1.CreateSessionRequest{AgentId: agent})
	must(k.t, err)
	return k.turn(ses.GetId(), "hello")
}
