package sessions_test

import (
	"slices"
	"strings"
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// asks has a turn's step ask an agent in the background.
func (w *worker) asks(agent string) (*executionv1.CreateChildResponse, error) {
	w.t.Helper()
	w.begin()
	return w.exec.CreateChild(w.t.Context(), &executionv1.CreateChildRequest{
		TurnId: w.turn.GetId(), Step: "tool-1.0", Fence: w.lease("tool-1.0").GetFence(), CallId: "c", AgentId: agent, Input: "help",
		Background: true,
	})
}

// TestCallbacksComeToAnEnd: an agent that answers each callback with a further call in the background would never stop.
func TestCallbacksComeToAnEnd(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("helper")
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{
			Agent: &sessionsv1.Agent{Id: "boss", Agents: []string{"helper"}, Limits: &sessionsv1.Limits{MaxChildren: 2}},
		})
		must(t, err)
		ses, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "boss"})
		must(t, err)
		turn := k.turn(ses.GetId(), "begin")
		for range 2 {
			w := k.worker(turn)
			made, err := w.asks("helper")
			must(t, err)
			w.finish(completed, "end")
			k.end(&sessionsv1.Turn{Id: made.GetTurnId(), SessionId: made.GetSessionId()}, completed, "helped")
			turn = k.newest(ses.GetId(), turn.GetId())
		}
		w := k.worker(turn)
		_, err = w.asks("helper")
		wantFault(t, err, "limit_reached")
		w.finish(completed, "end")

		list, err := k.sessions.ListMessages(t.Context(), &sessionsv1.ListMessagesRequest{SessionId: ses.GetId()})
		must(t, err)
		var said []string
		for _, m := range list.GetMessages() {
			said = append(said, "from "+m.GetFromAgent())
		}
		if got := strings.Join(said, ", "); got != "from , from helper, from helper" {
			t.Errorf("messages %q", got)
		}

		again := k.worker(k.turn(ses.GetId(), "the user speaks")) // and it counts from zero
		_, err = again.asks("helper")
		must(t, err)
	})
}

// newest waits until the session has a newer turn than the one named.
func (k *kit) newest(session, than string) *sessionsv1.Turn {
	k.t.Helper()
	for {
		list, err := k.turns.ListTurns(k.t.Context(), &sessionsv1.ListTurnsRequest{SessionId: session, PageSize: 1})
		must(k.t, err)
		if got := list.GetTurns(); len(got) == 1 && got[0].GetId() != than {
			return got[0]
		}
	}
}

// TestATurnTellsWhatItsSubAgentsWaitFor: the owner of a turn sees what it waits for, at any depth, except in the background.
func TestATurnTellsWhatItsSubAgentsWaitFor(t *testing.T) {
	k := newKit(t, options{})
	k.agent("helper")
	parent := k.worker(k.newTurnOf("boss"))
	parent.begin()
	var asked []string
	for step, background := range map[string]bool{"tool-1.0": false, "tool-1.1": true} {
		made, err := k.exec.CreateChild(t.Context(), &executionv1.CreateChildRequest{
			TurnId: parent.turn.GetId(), Step: step, Fence: parent.lease(step).GetFence(), CallId: step, AgentId: "helper", Input: "help",
			Background: background,
		})
		must(t, err)
		child := k.worker(&sessionsv1.Turn{Id: made.GetTurnId(), SessionId: made.GetSessionId()})
		child.begin()
		child.answer("infer-1", child.lease("infer-1"),
			&turnv1.Message{ToolCalls: []*turnv1.ToolCall{{CallId: "c1", Tool: "bank__pay", ArgumentsJson: "{}"}}}, 0)
		ref := child.waits("tool-1.0", approvalOf(nil))
		if !background {
			asked = append(asked, ref.GetId())
		}
	}
	if now := parent.now(); now.GetStatus() != turnv1.TurnStatus_TURN_STATUS_RUNNING || !slices.Equal(now.GetWaitingFor(), asked) {
		t.Errorf("the parent is %s and waits for %v, want %v", now.GetStatus(), now.GetWaitingFor(), asked)
	}
	_, err := decide(t, k.approvals, asked[0], "approve")
	must(t, err)
	if now := parent.now(); len(now.GetWaitingFor()) != 0 {
		t.Errorf("it still waits for %v", now.GetWaitingFor())
	}
}
