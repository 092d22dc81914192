package sessions_test

import (
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// A worker that loads a turn while another one does it must not take what that one has just written for what was said before.
func TestTheContextOfATurnThatIsUnderWayIsNotThatOfItsBeginning(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	for range 60 {
		turn := k.turn(k.session().GetId(), "hello")
		over := make(chan struct{})
		go func() {
			defer close(over)
			k.worker(turn).run("done")
		}()
		for ended := false; !ended; {
			got, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId(), WithContext: true})
			must(t, err)
			for _, m := range got.GetContext().GetMessages() {
				if m.GetRole() == turnv1.Role_ROLE_ASSISTANT {
					t.Fatalf("at the beginning of its turn %v was said", m)
				}
			}
			select {
			case <-over:
				ended = true
			default:
			}
		}
	}
}

// A model call that is made before its step is claimed must not be one that a budget has to admit first.
func TestOnlyATurnWithoutBudgetsMayRunAhead(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		turn := k.turn(k.session().GetId(), "hello")
		check := func(when string, want bool) {
			t.Helper()
			got, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId(), WithContext: true})
			must(t, err)
			if got.GetMayRunAhead() != want {
				t.Errorf("%s it may run ahead: %v", when, !want)
			}
		}
		check("when it is accepted", true)
		k.budget(&sessionsv1.Budget{Scope: "tenant", MaxTokens: 1000})
		check("with a budget", false)
	})
}
