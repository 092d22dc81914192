package sessions_test

import (
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
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
