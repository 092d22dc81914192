package sessions_test

import (
	"strings"
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// asks has a turn's step ask an agent in the background.
func (w *worker) asks(agent string) (*sessionsv1.CreateChildResponse, error) {
	w.t.Helper()
	w.begin()
	return w.exec.CreateChild(w.t.Context(), &sessionsv1.CreateChildRequest{
		TurnId: w.turn.GetId(), Step: "tool-1.0", Fence: w.lease("tool-1.0").GetFence(), CallId: "c", AgentId: agent, Input: "help", Background: true,
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

		again := k.worker(k.turn(ses.GetId(), "the user speaks")) // and it counts anew
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
