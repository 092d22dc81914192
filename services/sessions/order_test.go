package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestTurnsOfASessionRunOneAfterTheOther(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		ses := k.session()
		var turns []*sessionsv1.Turn
		for i := range 4 {
			turns = append(turns, k.turn(ses.GetId(), fmt.Sprintf("question %d", i)))
		}
		_, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Input: "x", Mode: "reject"})
		wantFault(t, err, "turn_active")
		_, err = k.worker(turns[1]).claim("begin")
		wantFault(t, err, "failed_precondition")
		_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: ses.GetId()})
		wantFault(t, err, "turn_active")
		cancelled, err := k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: turns[2].GetId(), Reason: "never mind"})
		must(t, err)
		if cancelled.GetStatus() != turnv1.TurnStatus_TURN_STATUS_CANCELLED || cancelled.GetStopReason() != "cancelled" {
			t.Errorf("a turn that waited: %v", cancelled)
		}
		for i, want := range []int{1, 3, -1} {
			k.dispatcher.await(t, func(d *dispatcher) bool { return len(d.starts) == i+1 })
			next := k.worker(turns[[]int{0, 1, 3}[i]]).run("answer").GetNextTurnId()
			if want >= 0 && next != turns[want].GetId() || want < 0 && next != "" {
				t.Fatalf("after turn %d comes %q", i, next)
			}
		}
		var order []string
		k.dispatcher.set(func(d *dispatcher) {
			for _, s := range d.starts {
				order = append(order, s.TurnID)
			}
		})
		if !slices.Equal(order, []string{turns[0].GetId(), turns[1].GetId(), turns[3].GetId()}) {
			t.Errorf("started %q", order)
		}
		// The model reads each answer before the next question, though the questions came first.
		got, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: turns[1].GetId()})
		must(t, err)
		if s := said(got); s != "question 0|calls|3|answer|question 1|calls|3|answer|" {
			t.Errorf("context %s", s)
		}
		_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: ses.GetId()})
		must(t, err)
		_, err = k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turns[0].GetId()})
		wantFault(t, err, "not_found")
	})
}

// said writes a conversation in short.
func said(c *executionv1.GetContextResponse) string {
	out := ""
	for _, m := range c.GetMessages() {
		parts := m.GetContent()
		if m.GetToolResult() != nil {
			parts = m.GetToolResult().GetContent()
		}
		if len(parts) > 0 {
			out += parts[0].GetText() + "|"
		} else if len(m.GetToolCalls()) > 0 {
			out += "calls|"
		}
	}
	return out
}

func TestCancel(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	k.dispatcher.await(t, func(d *dispatcher) bool { return d.started(turn.GetId()) })
	w := k.worker(turn)
	w.begin()
	l := w.lease("infer-1")
	for range 2 { // the second changes nothing
		got, err := k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: turn.GetId(), Reason: "enough"})
		must(t, err)
		if got.GetStatus() != turnv1.TurnStatus_TURN_STATUS_RUNNING {
			t.Fatalf("status %s", got.GetStatus())
		}
	}
	k.dispatcher.await(t, func(d *dispatcher) bool { return len(d.cancels) == 1 })
	renewed, err := k.exec.RenewStep(t.Context(),
		&executionv1.RenewStepRequest{TurnId: turn.GetId(), Step: "infer-1", Fence: l.GetFence(), Ttl: durationpb.New(time.Second)})
	must(t, err)
	if !renewed.GetCancelRequested() {
		t.Error("the worker was not told")
	}
	if out := w.answer("infer-1", l, &turnv1.Message{Content: executiontest.Text("half")}, 0); !out.GetOutcome().GetCancelled() {
		t.Error("the outcome does not tell of the cancel")
	}
	w.finish(turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
	_, err = k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: turn.GetId()})
	wantFault(t, err, "turn_ended")
	done, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	if done.GetStatus() != turnv1.TurnStatus_TURN_STATUS_CANCELLED || done.GetOutput() != "half" {
		t.Errorf("turn %v", done)
	}
	ends := 0
	for _, r := range k.watchTurn(turn, "") {
		if r.GetEvent().GetTurnEnded() != nil {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("%d terminal events", ends)
	}
}

func TestDispatchIsBoundedAndPatient(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{MaxOpenWorkflows: 2, SweepInterval: 10 * time.Millisecond}})
	k.agent("assistant")
	k.dispatcher.set(func(d *dispatcher) { d.fail = errors.New("no server") })
	var turns []*sessionsv1.Turn
	for range 4 {
		turns = append(turns, k.turn(k.session().GetId(), "hello"))
	}
	k.dispatcher.set(func(d *dispatcher) { d.fail = nil })
	k.dispatcher.await(t, func(d *dispatcher) bool { return d.started(turns[0].GetId()) && d.started(turns[1].GetId()) })
	k.dispatcher.set(func(d *dispatcher) {
		if d.started(turns[2].GetId()) {
			t.Error("a third workflow was started")
		}
	})
	cancelled, err := k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: turns[2].GetId()})
	must(t, err)
	if cancelled.GetStatus() != turnv1.TurnStatus_TURN_STATUS_CANCELLED {
		t.Errorf("a turn that nobody took: %v", cancelled)
	}
	k.worker(turns[0]).run("done")
	k.dispatcher.await(t, func(d *dispatcher) bool { return d.started(turns[3].GetId()) })
}

func TestWhatTheOutboxHeldIsStartedByTheNextProcess(t *testing.T) {
	db := openDB(t, false, 0)
	turn := newKit(t, options{db: db, idle: true}).newTurn("hello")
	k := newKit(t, options{db: db})
	k.dispatcher.await(t, func(d *dispatcher) bool { return d.started(turn.GetId()) })
}

func TestLostWorkflowsAreStartedAnewThenGivenUp(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{SweepInterval: 5 * time.Millisecond, LostAfter: 10 * time.Millisecond, MaxRestarts: 2}})
	k.dispatcher.set(func(d *dispatcher) { d.state = outbox.WorkflowMissing })
	turn := k.newTurn("hello")
	waiting := k.turn(turn.GetSessionId(), "and this")
	got, err := drain(t, k.turns, &sessionsv1.WatchTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	end := got[len(got)-1].GetEvent()
	if end.GetType() != "turn.failed" || end.GetTurnEnded().GetError().GetCode() != "internal" {
		t.Errorf("end %v", end)
	}
	k.dispatcher.await(t, func(d *dispatcher) bool { return d.started(waiting.GetId()) })
	k.dispatcher.set(func(d *dispatcher) {
		again := 0
		for _, s := range d.starts {
			if s.TurnID == turn.GetId() && s.Again {
				again++
			}
		}
		if again != 2 {
			t.Errorf("started again %d times", again)
		}
	})
}

func TestChat(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	worked := make(chan struct{})
	defer func() { <-worked }() // the answer may be there before the worker has heard that its commit stands
	go func() {
		defer close(worked)
		k.dispatcher.await(t, func(d *dispatcher) bool { return len(d.starts) == 1 })
		var start outbox.Turn
		k.dispatcher.set(func(d *dispatcher) { start = d.starts[0] })
		k.worker(&sessionsv1.Turn{Id: start.TurnID, SessionId: start.SessionID}).run("it is 3")
	}()
	got, err := k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{Message: "what is 1 + 2?", IdempotencyKey: "k"})
	must(t, err)
	if got.GetAnswer() != "it is 3" || got.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED ||
		fmt.Sprint(got.GetToolsUsed()) != "[calc__add]" {
		t.Errorf("answer %v", got)
	}
	again, err := k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{Message: "what is 1 + 2?", IdempotencyKey: "k"})
	must(t, err)
	if again.GetTurnId() != got.GetTurnId() || again.GetAnswer() != got.GetAnswer() {
		t.Errorf("again %v", again)
	}
}

func TestChatAnswersWithinItsTime(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{ChatWait: 20 * time.Millisecond}})
	k.agent("assistant")
	got, err := k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{Message: "hello"})
	must(t, err)
	if got.GetStatus() != turnv1.TurnStatus_TURN_STATUS_RUNNING || got.GetTurnId() == "" {
		t.Errorf("answer %v", got)
	}
}

func TestChatWaitsAsLongAsItIsAsked(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{ChatWait: time.Hour}})
	k.agent("assistant")
	for _, wait := range []time.Duration{0, 5 * time.Millisecond} {
		got, err := k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{Message: "hello", IdempotencyKey: "k", Wait: durationpb.New(wait)})
		must(t, err)
		if got.GetStatus() != turnv1.TurnStatus_TURN_STATUS_RUNNING || got.GetTurnId() == "" {
			t.Errorf("after %v: answer %v", wait, got)
		}
	}
	_, err := k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{Message: "hello", Wait: durationpb.New(-time.Second)})
	wantFault(t, err, "invalid_argument", "wait")
}

func TestChatTellsAtOnceThatPeopleAreWaitedFor(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	got := make(chan *sessionsv1.ChatResponse, 1)
	go func() {
		r, err := k.turns.Chat(context.Background(), &sessionsv1.ChatRequest{Message: "pay them"})
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	w := k.worker(k.onlyTurn())
	w.begin()
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{
		CallId: "c1", Tool: "bank__pay",
		ArgumentsJson: `{}`,
	}}}, 0)
	ref := w.waits("tool-1.0", approvalOf(nil))
	if r := <-got; r.GetStatus() != turnv1.TurnStatus_TURN_STATUS_WAITING || fmt.Sprint(r.GetWaitingFor()) != "["+ref.GetId()+"]" {
		t.Errorf("answer %v", r)
	}
}

// onlyTurn returns the kit's turn, once there is one.
func (k *kit) onlyTurn() *sessionsv1.Turn {
	k.t.Helper()
	for {
		list, err := k.turns.ListTurns(k.t.Context(), &sessionsv1.ListTurnsRequest{})
		must(k.t, err)
		if len(list.GetTurns()) == 1 {
			return list.GetTurns()[0]
		}
	}
}
