package sessions_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func (k *kit) steer(turn, input string) *sessionsv1.SteerTurnResponse {
	k.t.Helper()
	got, err := k.turns.SteerTurn(k.t.Context(), &sessionsv1.SteerTurnRequest{TurnId: turn, Input: input})
	must(k.t, err)
	return got
}

func (w *worker) context() *executionv1.GetContextResponse {
	w.t.Helper()
	got, err := w.exec.GetContext(w.t.Context(), &executionv1.GetContextRequest{TurnId: w.turn.GetId()})
	must(w.t, err)
	return got
}

// heard answers an infer step that has read a number of inputs.
func (w *worker) heard(key string, l *executionv1.Lease, inputs uint32, m *turnv1.Message) *executionv1.CommitStepResponse {
	w.t.Helper()
	return w.commit(key, l, func(r *executionv1.CommitStepRequest) {
		m.Id, m.Role = l.GetMessageId(), turnv1.Role_ROLE_ASSISTANT
		r.Messages, r.Outcome.Inputs = []*turnv1.Message{m}, inputs
	})
}

func calls(ids ...string) *turnv1.Message {
	m := &turnv1.Message{}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, &turnv1.ToolCall{CallId: id, Tool: "calc__add", ArgumentsJson: "{}"})
	}
	return m
}

func TestInputForARunningTurn(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		w := k.worker(k.newTurn("first"))
		early := k.steer(w.turn.GetId(), "zero") // nobody has begun it
		w.begin()
		if got := w.context(); got.GetInputs() != 1 || said(got) != "first|zero|" {
			t.Errorf("%d inputs: %s", got.GetInputs(), said(got))
		}
		infer := w.lease("infer-1")
		one := k.steer(w.turn.GetId(), "one") // while the model speaks: it cannot read it
		if one.GetSeq() <= early.GetSeq() || one.GetMessageId() == "" {
			t.Errorf("accepted as %v after %v", one, early)
		}
		got := w.heard("infer-1", infer, 1, calls("c1", "c2"))
		if len(got.GetInputs()) != 2 || got.GetInputs()[1].GetMessageId() != one.GetMessageId() {
			t.Errorf("commit tells of %v", got.GetInputs())
		}
		w.result("tool-1.0", "c1", "r1")
		k.steer(w.turn.GetId(), "two") // between two results
		w.result("tool-1.1", "c2", "r2")
		read := w.context()
		if read.GetInputs() != 3 || said(read) != "first|zero|calls|r1|r2|one|two|" {
			t.Errorf("%d inputs: %s", read.GetInputs(), said(read))
		}
		w.heard("infer-2", w.lease("infer-2"), 3, &turnv1.Message{Content: executiontest.Text("answer")})
		if o := w.outcome("steer-3"); o.GetKind() != turnv1.StepKind_STEP_KIND_STEER || o.GetMessageId() == "" {
			t.Errorf("outcome %v", o)
		}
		end := w.commit("finish", w.lease("finish"), func(r *executionv1.CommitStepRequest) {
			r.Ending, r.Inputs = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end"}, 3
		})
		if end.GetStale() || w.now().GetOutput() != "answer" || w.now().GetInput() != "first" {
			t.Errorf("end %v of %v", end, w.now())
		}
		if s := k.types(w.turn); strings.Count(s, "input.accepted") != 3 {
			t.Errorf("events %s", s)
		}
		_, err := k.turns.SteerTurn(t.Context(), &sessionsv1.SteerTurnRequest{TurnId: w.turn.GetId(), Input: "late"})
		wantFault(t, err, "turn_ended")
		next := k.worker(k.turn(w.turn.GetSessionId(), "next"))
		next.begin()
		const whole = "first|zero|calls|r1|r2|one|two|answer|"
		if got := next.context(); got.GetInputs() != 0 || said(got) != whole+"next|" {
			t.Errorf("the next turn reads %d inputs: %s", got.GetInputs(), said(got))
		}
		fork, err := k.sessions.ForkSession(t.Context(), &sessionsv1.ForkSessionRequest{SessionId: w.turn.GetSessionId()})
		must(t, err)
		forked := k.worker(k.turn(fork.GetId(), "forked"))
		if got := forked.context(); said(got) != whole+"forked|" || fork.GetTitle() != "first" {
			t.Errorf("the fork %q reads %s", fork.GetTitle(), said(got))
		}
		x, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: w.turn.GetSessionId(), Format: "markdown"})
		must(t, err)
		if s := x.GetMarkdown(); strings.Index(s, "two") < strings.Index(s, "r1") || strings.Index(s, "two") > strings.Index(s, "answer") {
			t.Errorf("transcript %s", s)
		}
	})
}

func TestAnAnswerThatDoesNotHeedAllInputEndsNothing(t *testing.T) {
	k := newKit(t, options{})
	w := k.worker(k.newTurn("first"))
	w.begin()
	infer := w.lease("infer-1")
	ending := &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end"}
	last := &executionv1.CommitStepRequest{
		TurnId: w.turn.GetId(), Claim: w.claimOf("finish"), Outcome: &turnv1.StepOutcome{Key: "finish"}, Ending: ending,
	}
	k.steer(w.turn.GetId(), "wait")
	got := w.commitAll(&executionv1.CommitStepRequest{
		Fence: infer.GetFence(), Outcome: &turnv1.StepOutcome{Key: "infer-1"}, Then: last,
		Messages: []*turnv1.Message{{Id: infer.GetMessageId(), Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("hasty")}},
	})
	if got.GetThen() != nil || len(got.GetInputs()) != 1 {
		t.Fatalf("commit %v", got)
	}
	if got := w.commitAll(proto.CloneOf(last)); !got.GetStale() || len(got.GetInputs()) != 1 || got.GetOutcome() != nil {
		t.Fatalf("finish %v", got)
	}
	held := w.lease("finish")
	if got := w.commit("finish", held, func(r *executionv1.CommitStepRequest) { r.Ending = ending }); !got.GetStale() {
		t.Fatalf("finish with a lease: %v", got)
	}
	w.owner = "w2"
	w.lease("finish") // it was given back
	if got := w.context(); said(got) != "first|hasty|wait|" {
		t.Errorf("context %s", said(got))
	}
	w.heard("infer-2", w.lease("infer-2"), 1, &turnv1.Message{Content: executiontest.Text("read")})
	// A turn that ends at a limit, or failed, does not wait for what it has not read.
	k.steer(w.turn.GetId(), "more")
	w.commit("finish", &executionv1.Lease{Fence: 2}, func(r *executionv1.CommitStepRequest) {
		r.Ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "max_steps"}
	})
	if turn := w.now(); turn.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED || turn.GetOutput() != "read" {
		t.Errorf("turn %v", turn)
	}
	next := k.worker(k.turn(w.turn.GetSessionId(), "next"))
	if got := next.context(); said(got) != "first|hasty|wait|read|more|next|" {
		t.Errorf("the next turn reads %s", said(got))
	}
}

func TestSteerIsRefused(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{MaxTurnInputs: 2}})
	w := k.worker(k.newTurn("first"))
	behind := k.turn(w.turn.GetSessionId(), "behind")
	w.begin()
	id := w.turn.GetId()
	k.steer(id, "one")
	key := &sessionsv1.SteerTurnRequest{TurnId: id, Input: "two", IdempotencyKey: "k"}
	two, err := k.turns.SteerTurn(t.Context(), key)
	must(t, err)
	again, err := k.turns.SteerTurn(t.Context(), key)
	must(t, err)
	if !proto.Equal(two, again) {
		t.Errorf("again %v, was %v", again, two)
	}
	for _, row := range []struct {
		name string
		req  *sessionsv1.SteerTurnRequest
		code string
		path []string
	}{
		{"nothing", &sessionsv1.SteerTurnRequest{TurnId: id}, "invalid_argument", []string{"input"}},
		{"both", &sessionsv1.SteerTurnRequest{TurnId: id, Input: "x", Content: executiontest.Text("y")}, "invalid_argument", []string{"input"}},
		{"no turn", &sessionsv1.SteerTurnRequest{TurnId: "trn_nope", Input: "x"}, "not_found", nil},
		{"a turn that waits for another one", &sessionsv1.SteerTurnRequest{TurnId: behind.GetId(), Input: "x"}, "failed_precondition", nil},
		{
			"another body with the same key", &sessionsv1.SteerTurnRequest{TurnId: id, Input: "x", IdempotencyKey: "k"}, "idempotency_conflict",
			nil,
		},
		{"too many", &sessionsv1.SteerTurnRequest{TurnId: id, Input: "x"}, "rate_limited", nil},
	} {
		_, err := k.turns.SteerTurn(t.Context(), row.req)
		t.Run(row.name, func(t *testing.T) { wantFault(t, err, row.code, row.path...) })
	}
	_, err = k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: id})
	must(t, err)
	_, err = k.turns.SteerTurn(t.Context(), &sessionsv1.SteerTurnRequest{TurnId: id, Input: "x"})
	wantFault(t, err, "turn_ended")
}

func TestModeSteer(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	ses := k.session().GetId()
	first := k.send(ses, "first", "steer") // nothing runs: a new turn
	w := k.worker(first)
	w.begin()
	req := &sessionsv1.CreateTurnRequest{SessionId: ses, Input: "more", Mode: "steer", IdempotencyKey: "k"}
	for range 2 {
		got, err := k.turns.CreateTurn(t.Context(), req)
		must(t, err)
		if got.GetId() != first.GetId() || got.GetInput() != "first" {
			t.Fatalf("steered %v", got)
		}
	}
	if got := w.context(); got.GetInputs() != 1 || said(got) != "first|more|" {
		t.Errorf("%d inputs: %s", got.GetInputs(), said(got))
	}
	_, err := k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: first.GetId()})
	must(t, err)
	if next := k.send(ses, "after", "steer"); next.GetId() == first.GetId() || next.GetStatus() != turnv1.TurnStatus_TURN_STATUS_QUEUED {
		t.Errorf("after a cancel: %v", next)
	}
}

func TestManySteerAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		w, ref := k.waiting(approvalOf(nil))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				_, err := k.turns.SteerTurn(t.Context(), &sessionsv1.SteerTurnRequest{TurnId: w.turn.GetId(), Input: fmt.Sprint(i)})
				if err != nil {
					t.Error(err)
				}
				if _, err := decide(t, k.approvals, ref.GetId(), "approve"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := w.context(); got.GetInputs() != 8 {
			t.Errorf("%d inputs", got.GetInputs())
		}
		x, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: w.turn.GetSessionId(), IncludeEvents: true})
		must(t, err)
		var types []string
		for i, e := range x.GetEvents() {
			if e.GetSeq() != uint32(i+1) {
				t.Fatalf("event %d has seq %d", i, e.GetSeq())
			}
			types = append(types, e.GetType())
		}
		slices.Sort(types)
		if s := strings.Join(types, " "); strings.Count(s, "approval.resolved") != 1 || strings.Count(s, "turn.resumed") != 1 ||
			strings.Count(s, "input.accepted") != 8 {
			t.Errorf("events %s", s)
		}
	})
}
