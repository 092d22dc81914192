package sessions_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func TestATurnMayRunWithoutMemory(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "a", Memory: "write"}})
		must(t, err)
		_, err = k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "b", Memory: "all"}})
		wantFault(t, err, "invalid_argument", "agent.memory")
		session, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "a"})
		must(t, err)
		memory := func(turn string) string {
			t.Helper()
			loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn})
			must(t, err)
			return loaded.GetAgent().GetMemory()
		}
		for without, want := range map[bool]string{false: "write", true: "off"} {
			created, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{
				SessionId: session.GetId(), Input: "hello", WithoutMemory: without,
			})
			must(t, err)
			chat, err := k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{
				AgentId: "a", Message: "hello", WithoutMemory: without, Wait: durationpb.New(0),
			})
			must(t, err)
			if got, also := memory(created.GetId()), memory(chat.GetTurnId()); got != want || also != want {
				t.Errorf("without memory %t: %q and %q", without, got, also)
			}
		}
	})
}
