package sessions_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// asked has the model of a turn ask for calls: pairs of id and arguments.
func (w *worker) asked(key string, calls ...string) *turnv1.Message {
	w.t.Helper()
	m := &turnv1.Message{}
	for i := 0; i < len(calls); i += 2 {
		m.ToolCalls = append(m.ToolCalls, &turnv1.ToolCall{CallId: calls[i], Tool: "calc__add", ArgumentsJson: calls[i+1]})
	}
	w.answer(key, w.lease(key), m, 0)
	return m
}

// twoRounds is a turn that is over: the tool is called with a, twice in one message, then with b.
func (k *kit) twoRounds(session, input string) *sessionsv1.Turn {
	k.t.Helper()
	turn := k.turn(session, input)
	w := k.worker(turn)
	w.begin()
	w.asked("infer-1", "c1", `{"n":"a"}`, "c2", `{ "n": "a" }`)
	w.result("tool-1.1", "c2", "a2")
	w.result("tool-1.0", "c1", "a1")
	w.asked("infer-2", "c3", `{"n":"b"}`)
	w.result("tool-2.0", "c3", "b1")
	w.answer("infer-3", w.lease("infer-3"), &turnv1.Message{Content: executiontest.Text("done")}, 0)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	return turn
}

func (k *kit) rerun(req *sessionsv1.RerunTurnRequest) *sessionsv1.Turn {
	k.t.Helper()
	turn, err := k.turns.RerunTurn(k.t.Context(), req)
	must(k.t, err)
	return turn
}

func (k *kit) contextOf(turn *sessionsv1.Turn) string {
	k.t.Helper()
	got, err := k.exec.GetContext(k.t.Context(), &executionv1.GetContextRequest{TurnId: turn.GetId()})
	must(k.t, err)
	return said(got)
}

func (k *kit) recording(turn *sessionsv1.Turn, m *turnv1.Message, call string) string {
	k.t.Helper()
	got, err := k.exec.GetRecording(k.t.Context(), &executionv1.GetRecordingRequest{TurnId: turn.GetId(), MessageId: m.GetId(), CallId: call})
	must(k.t, err)
	if got.GetResult() == nil {
		return "none"
	}
	return got.GetResult().GetContent()[0].GetText()
}

func TestARerunBeginsInTheMiddle(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		ses := k.session().GetId()
		k.worker(k.turn(ses, "one")).run("first")
		of := k.twoRounds(ses, "two")
		k.worker(k.turn(ses, "three")).run("third")
		before := k.words(ses)

		req := &sessionsv1.RerunTurnRequest{TurnId: of.GetId(), FromStep: "infer-2", Model: "other/model", IdempotencyKey: "k"}
		turn := k.rerun(req)
		if turn.GetSessionId() == ses || turn.GetRerunOf() != of.GetId() || turn.GetInput() != "two" {
			t.Errorf("turn %v", turn)
		}
		if again := k.rerun(req); again.GetId() != turn.GetId() {
			t.Errorf("the same request made %s and %s", turn.GetId(), again.GetId())
		}
		if s := k.contextOf(turn); s != "one|calls|3|first|two|calls|a1|a2|" {
			t.Errorf("context %s", s)
		}
		loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
		must(t, err)
		r := loaded.GetRerun()
		testwant.Equal(t, "loaded: Agent.Model", loaded.GetAgent().GetModel(), "other/model")
		testwant.Equal(t, "loaded: FromStep", r.GetFromStep(), 2)
		testwant.Equal(t, "loaded: Tools", r.GetTools(), "recorded")
		testwant.Equal(t, "loaded: Missing", r.GetMissing(), "fail")
		testwant.Equal(t, "loaded: Messages", r.GetMessages(), 3)
		w := k.worker(turn)
		w.begin()
		m := w.asked("infer-1", "x1", `{"n":"b"}`, "x2", `{"n":"a"}`, "x3", `{"n":"b"}`)
		if a, b, c := k.recording(turn, m, "x1"), k.recording(turn, m, "x2"),
			k.recording(turn, m, "x3"); a != "b1" || b != "none" || c != "none" {
			t.Errorf("recordings %s, %s and %s: the calls taken over have had their results", a, b, c)
		}
		w.result("tool-1.0", "x1", "b1")
		w.result("tool-1.1", "x2", "none")
		w.result("tool-1.2", "x3", "none")
		w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{Content: executiontest.Text("done again")}, 0)
		w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")

		whole := "one|calls|3|first|two|calls|a1|a2|calls|b1|none|none|done again|"
		if s := k.contextOf(turn); s != whole {
			t.Errorf("context %s", s)
		}
		events := k.watchTurn(turn, "")
		if e := events[1].GetEvent(); e.GetType() != "turn.rerun" || e.GetTurnId() != turn.GetId() || e.GetTurnRerun().GetOfTurn() != of.GetId() {
			t.Errorf("event %v", e)
		}
		if s := k.words(ses); s != before {
			t.Errorf("the other session has %s, had %s", s, before)
		}
		// Forks of the re-run, and a re-run of it.
		// as they came
		if fork := k.fork(&sessionsv1.ForkSessionRequest{SessionId: turn.GetSessionId()}); k.words(fork.GetId()) != strings.Replace(whole,
			"a1|a2", "a2|a1", 1) {
			t.Errorf("fork %s", k.words(fork.GetId()))
		}
		if fork := k.fork(&sessionsv1.ForkSessionRequest{
			SessionId: turn.GetSessionId(),
			Seq:       turn.GetFirstSeq() + 2,
		}); k.words(fork.GetId()) != "one|calls|3|first|" {
			t.Errorf("fork of its beginning %s", k.words(fork.GetId()))
		}
		again := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: turn.GetId(), FromStep: "2"})
		if s := k.contextOf(again); s != "one|calls|3|first|two|calls|a1|a2|calls|b1|none|none|" {
			t.Errorf("context of its re-run %s", s)
		}
		if s := k.contextOf(k.rerun(&sessionsv1.RerunTurnRequest{TurnId: turn.GetId()})); s != "one|calls|3|first|two|calls|a1|a2|" {
			t.Errorf("context of its re-run from the start %s", s)
		}
	})
}

func TestARerunFromTheStartHasAllRecordings(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	of := k.twoRounds(k.session().GetId(), "two")
	turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId()})
	if s := k.contextOf(turn); s != "two|" {
		t.Errorf("context %s", s)
	}
	w := k.worker(turn)
	w.begin()
	m := w.asked("infer-1", "x1", `{"n":"b"}`, "x2", `{"n":"a"}`, "x3", `{"n":"a"}`, "x4", `{"n":"c"}`)
	got := []string{k.recording(turn, m, "x1"), k.recording(turn, m, "x2"), k.recording(turn, m, "x3"), k.recording(turn, m, "x4")}
	if s := strings.Join(got, " "); s != "b1 a1 a2 none" {
		t.Errorf("recordings %s", s)
	}
	_, err := k.exec.GetRecording(t.Context(), &executionv1.GetRecordingRequest{TurnId: turn.GetId(), MessageId: m.GetId(), CallId: "x9"})
	wantFault(t, err, "not_found")
	// Without the turn that is run again there is nothing to go by.
	_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: of.GetSessionId(), Permanent: true})
	must(t, err)
	if s := k.recording(turn, m, "x1"); s != "none" {
		t.Errorf("recording of a deleted turn: %s", s)
	}
}

// What the end of a turn cut off is no recording.
func TestACallThatWasCutOffHasNoRecording(t *testing.T) {
	k := newKit(t, options{})
	of := k.newTurn("one")
	w := k.worker(of)
	w.begin()
	w.asked("infer-1", "c1", `{"n":"a"}`, "c2", `{"n":"b"}`)
	w.result("tool-1.0", "c1", "a1")
	_, err := k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: of.GetId()})
	must(t, err)
	w.commit("tool-1.1", w.lease("tool-1.1"), func(r *executionv1.CommitStepRequest) {
		res := &turnv1.ToolResult{CallId: "c2", Tool: "calc__add", Content: executiontest.Text("cut"), IsError: true}
		r.Messages = []*turnv1.Message{{Id: "msg_cut", Role: turnv1.Role_ROLE_TOOL, ToolResult: res}}
		r.Events = []*turnv1.Event{{Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{Result: res}}}}
		r.Outcome.Cancelled, r.Outcome.MessageId = true, "msg_cut"
	})
	w.finish(turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
	turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId()})
	again := k.worker(turn)
	again.begin()
	m := again.asked("infer-1", "x1", `{"n":"a"}`, "x2", `{"n":"b"}`)
	if a, b := k.recording(turn, m, "x1"), k.recording(turn, m, "x2"); a != "a1" || b != "none" {
		t.Errorf("recordings %s and %s", a, b)
	}
}
