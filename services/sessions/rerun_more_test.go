package sessions_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// A turn is taken up where its model failed.
func TestARerunFromAModelStepThatFailed(t *testing.T) {
	k := newKit(t, options{})
	of := k.newTurn("one")
	w := k.worker(of)
	w.begin()
	w.asked("infer-1", "c1", `{"n":"a"}`)
	w.result("tool-1.0", "c1", "a1")
	w.commit("infer-2", w.lease("infer-2"), func(r *sessionsv1.CommitStepRequest) {
		r.Outcome.Error = &turnv1.TurnError{Code: "model_rejected", Message: "no"}
	})
	w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
	turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId(), FromStep: "infer-2", Model: "other/model"})
	if s := k.contextOf(turn); s != "one|calls|a1|" {
		t.Errorf("context %s", s)
	}
	again := k.worker(turn)
	again.begin()
	again.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
	got, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	if got.GetOutput() != "" { // what was taken over is not its own answer
		t.Errorf("output %q", got.GetOutput())
	}
}

// Input that came while the turn ran is taken over, and is not taken for input of the re-run.
func TestARerunTakesSteeredInputOver(t *testing.T) {
	k := newKit(t, options{})
	of := k.newTurn("one")
	w := k.worker(of)
	w.begin()
	_, err := k.turns.SteerTurn(t.Context(), &sessionsv1.SteerTurnRequest{TurnId: of.GetId(), Input: "more"})
	must(t, err)
	w.asked("infer-1", "c1", `{"n":"a"}`)
	w.result("tool-1.0", "c1", "a1")
	l := w.lease("infer-2")
	w.commit("infer-2", l, func(r *sessionsv1.CommitStepRequest) {
		m := &turnv1.Message{Id: l.GetMessageId(), Role: turnv1.Role_ROLE_ASSISTANT, Content: text("done")}
		r.Messages, r.Outcome.MessageId, r.Outcome.Inputs = []*turnv1.Message{m}, m.GetId(), 1
		r.Events = []*turnv1.Event{{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m}}}}
	})
	w.commit("finish", w.lease("finish"), func(r *sessionsv1.CommitStepRequest) {
		r.Ending, r.Inputs = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end"}, 1
	})
	before := k.contextOf(of)

	turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId(), FromStep: "infer-2"})
	got, err := k.exec.GetContext(t.Context(), &sessionsv1.GetContextRequest{TurnId: turn.GetId()})
	must(t, err)
	if s := said(got); s+"done|" != before || got.GetInputs() != 0 {
		t.Errorf("context %s with %d inputs, of %s", s, got.GetInputs(), before)
	}
	again := k.worker(turn)
	again.begin()
	_, err = k.turns.SteerTurn(t.Context(), &sessionsv1.SteerTurnRequest{TurnId: turn.GetId(), Input: "and more"})
	must(t, err)
	got, err = k.exec.GetContext(t.Context(), &sessionsv1.GetContextRequest{TurnId: turn.GetId()})
	must(t, err)
	if got.GetInputs() != 1 || said(got) == before {
		t.Errorf("context %s with %d inputs", said(got), got.GetInputs())
	}
}

// A recorded result may speak of an artifact: the new session has it too, also before the call is made again.
func TestARerunHasTheArtifactsOfItsRecordings(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		of := k.newTurn("read")
		k.worker(of).runWith("art_1", []byte("0123456789"))
		turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId()})
		live := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId(), Tools: "live"})
		again := k.worker(turn)
		again.begin()
		again.answer("infer-1", again.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{CallId: "x1", Tool: "files__read"}}}, 0)
		_, err := k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: of.GetSessionId()})
		must(t, err)
		artifacts := func(session string) int {
			got, err := k.artifacts(authn.Local()).ListArtifacts(t.Context(), &sessionsv1.ListArtifactsRequest{SessionId: session})
			must(t, err)
			return len(got.GetArtifacts())
		}
		got, err := k.artifacts(authn.Local()).ReadArtifact(t.Context(), &sessionsv1.ReadArtifactRequest{ArtifactId: "art_1"})
		must(t, err)
		if string(got.GetData()) != "0123456789" || artifacts(turn.GetSessionId()) != 1 || artifacts(live.GetSessionId()) != 0 {
			t.Errorf("%q; %d and %d artifacts", got.GetData(), artifacts(turn.GetSessionId()), artifacts(live.GetSessionId()))
		}
	})
}
