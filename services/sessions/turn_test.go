package sessions_test

import (
	"fmt"
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/testwant"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func engines(t *testing.T, f func(t *testing.T, postgres bool)) {
	t.Run("sqlite", func(t *testing.T) { f(t, false) })
	t.Run("postgres", func(t *testing.T) { f(t, true) })
}

func TestTurnFromInputToAnswer(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		turn := k.newTurn("what is 1 + 2?")
		if turn.GetStatus() != turnv1.TurnStatus_TURN_STATUS_QUEUED || turn.GetFirstSeq() != 1 || turn.GetInput() != "what is 1 + 2?" {
			t.Fatalf("accepted: %v", turn)
		}
		k.dispatcher.await(t, func(d *dispatcher) bool { return d.started(turn.GetId()) })
		got := make(chan *sessionsv1.Turn, 1)
		go func() {
			done, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turn.GetId(), Wait: durationpb.New(30 * time.Second)})
			if err != nil {
				t.Error(err)
			}
			got <- done
		}()
		k.worker(turn).run("it is 3")
		done := <-got
		if done.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED || done.GetOutput() != "it is 3" || done.GetStopReason() != "end" {
			t.Errorf("ended: %v", done)
		}
		testwant.Equal(t, "tools: Sprint(done.ToolsUsed)", fmt.Sprint(done.GetToolsUsed()), "[calc__add]")
		testwant.Equal(t, "tools: Usage.InputTokens", done.GetUsage().GetInputTokens(), 20)
		testwant.Equal(t, "tools: Usage.ModelCalls", done.GetUsage().GetModelCalls(), 2)
		testwant.Equal(t, "tools: Usage.ToolCalls", done.GetUsage().GetToolCalls(), 1)
		var types []string
		for _, e := range k.watchTurn(turn, "") {
			types = append(types, e.GetEvent().GetType())
		}
		want := "[turn.queued step.started turn.started step.finished step.started message.started message.completed usage.updated " +
			"step.finished step.started tool_call.started tool_call.completed step.finished step.started message.started " +
			"message.completed usage.updated " +
			"step.finished step.started step.finished turn.completed]"
		if fmt.Sprint(types) != want {
			t.Errorf("events %v, want %v", types, want)
		}
		ms, err := k.sessions.ListMessages(t.Context(), &sessionsv1.ListMessagesRequest{SessionId: turn.GetSessionId()})
		must(t, err)
		if len(ms.GetMessages()) != 4 {
			t.Errorf("messages %v", ms)
		}
	})
}

// watchTurn reads a finished turn's events to the end.
func (k *kit) watchTurn(turn *sessionsv1.Turn, after string) []*sessionsv1.WatchTurnResponse {
	k.t.Helper()
	got, err := drain(k.t, k.turns, &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: after})
	must(k.t, err)
	return got
}
