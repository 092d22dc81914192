package sessions_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/testpoll"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestOneOfManyWorkersGetsTheStep(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		turn := k.newTurn("hello")
		var leases, busy atomic.Int32
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				w := k.worker(turn)
				w.owner = fmt.Sprintf("w%d", i)
				got, err := w.claim("begin")
				switch {
				case err != nil:
					t.Error(err)
				case got.GetLease() != nil:
					leases.Add(1)
				case got.GetBusy().GetExpiresIn().AsDuration() > 0 && got.GetBusy().GetOwner() != "":
					busy.Add(1)
				}
			})
		}
		all.Wait()
		if leases.Load() != 1 || busy.Load() != 15 {
			t.Errorf("%d leases, %d busy", leases.Load(), busy.Load())
		}
		now, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turn.GetId()})
		must(t, err)
		if now.GetStatus() != turnv1.TurnStatus_TURN_STATUS_RUNNING || now.GetStartTime() == nil {
			t.Errorf("turn %v", now)
		}
	})
}

func TestClaimsRenewalsAndFiresNeedATime(t *testing.T) {
	k := newKit(t, options{})
	w := k.worker(k.newTurn("hello"))
	for name, call := range map[string]func() error{
		"a claim": func() error {
			_, err := k.exec.ClaimStep(t.Context(), &executionv1.ClaimStepRequest{TurnId: w.turn.GetId(), Step: ref("begin"), Owner: "w"})
			return err
		},
		"a renewal": func() error {
			_, err := k.exec.RenewStep(t.Context(), &executionv1.RenewStepRequest{TurnId: w.turn.GetId(), Step: "begin", Fence: 1})
			return err
		},
		"a fire": func() error {
			_, err := k.asWorker().FireSchedule(t.Context(), &executionv1.FireScheduleRequest{Tenant: "default", ScheduleId: "one"})
			return err
		},
	} {
		if err := call(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommitIsIdempotentAndFenced(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	l := w.lease("infer-1")
	first := w.answer("infer-1", l, &turnv1.Message{Content: executiontest.Text("once")}, 0)
	second := w.answer("infer-1", l, &turnv1.Message{Content: executiontest.Text("twice")}, 0)
	if !proto.Equal(first, second) {
		t.Errorf("second commit answered %v, want %v", second, first)
	}
	adopted, err := w.claim("infer-1")
	must(t, err)
	if !proto.Equal(adopted.GetDone(), first.GetOutcome()) || adopted.GetDone().GetMessageId() != l.GetMessageId() {
		t.Errorf("adopted %v, want %v", adopted.GetDone(), first.GetOutcome())
	}
	stale := func(fence uint32) error {
		_, err := k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
			TurnId: turn.GetId(), Fence: fence,
			Outcome: &turnv1.StepOutcome{Key: "infer-1"},
		})
		return err
	}
	wantFault(t, stale(2), "lease_lost")
	_, err = k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
		TurnId: turn.GetId(), Fence: 1,
		Outcome: &turnv1.StepOutcome{Key: "never-claimed"},
	})
	wantFault(t, err, "lease_lost")
	ms, err := k.sessions.ListMessages(t.Context(), &sessionsv1.ListMessagesRequest{SessionId: turn.GetSessionId()})
	must(t, err)
	if len(ms.GetMessages()) != 2 || ms.GetMessages()[1].GetContent()[0].GetText() != "once" {
		t.Errorf("messages %v", ms)
	}
}

func TestALostWorkerIsReplaced(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	got, err := k.exec.ClaimStep(t.Context(), &executionv1.ClaimStepRequest{
		TurnId: turn.GetId(), Step: ref("infer-1"), Owner: "w1",
		Ttl: durationpb.New(100 * time.Millisecond),
	})
	must(t, err)
	old := got.GetLease()
	w2 := k.worker(turn)
	w2.owner = "w2"
	var taken *executionv1.Lease
	testpoll.Until(t, "the lease of the lost worker expires", func() bool {
		next, err := w2.claim("infer-1")
		must(t, err)
		taken = next.GetLease()
		return taken != nil
	})
	if taken.GetAttempt() != 2 || taken.GetFence() != 2 || taken.GetMessageId() != old.GetMessageId() ||
		taken.GetBaseSeq() <= old.GetBaseSeq() {
		t.Errorf("lease %v after %v", taken, old)
	}
	_, err = k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
		TurnId: turn.GetId(), Fence: old.GetFence(),
		Outcome: &turnv1.StepOutcome{Key: "infer-1"},
	})
	wantFault(t, err, "lease_lost")
	_, err = k.exec.RenewStep(t.Context(), &executionv1.RenewStepRequest{
		TurnId: turn.GetId(), Step: "infer-1", Fence: old.GetFence(),
		Ttl: durationpb.New(time.Second),
	})
	wantFault(t, err, "lease_lost")
	_, err = k.exec.AppendEvents(t.Context(), &executionv1.AppendEventsRequest{
		TurnId: turn.GetId(), Step: "infer-1", Fence: old.GetFence(),
		Events: executing(),
	})
	wantFault(t, err, "lease_lost")
	w2.answer("infer-1", taken, &turnv1.Message{Content: executiontest.Text("done")}, 0)
	w2.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	if s := k.types(turn); !strings.Contains(s, "message.started turn.recovered message.reset message.completed") {
		t.Errorf("events %s", s)
	}
}

func executing() []*turnv1.Event {
	return []*turnv1.Event{{Data: &turnv1.Event_ToolCallExecuting{ToolCallExecuting: &turnv1.ToolCallExecuting{
		CallId:      "c",
		ExecutionId: "exe_1",
	}}}}
}

func (k *kit) types(turn *sessionsv1.Turn) string {
	var out []string
	for _, r := range k.watchTurn(turn, "") {
		out = append(out, r.GetEvent().GetType())
	}
	return strings.Join(out, " ")
}

func TestAStepGivenBackIsNoRecovery(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	l := w.lease("tool-1.1")
	appended, err := k.exec.AppendEvents(t.Context(),
		&executionv1.AppendEventsRequest{TurnId: turn.GetId(), Step: "tool-1.1", Fence: l.GetFence(), Events: executing()})
	must(t, err)
	if appended.GetLastSeq() != l.GetBaseSeq()+1 {
		t.Errorf("appended at %d, claim ended at %d", appended.GetLastSeq(), l.GetBaseSeq())
	}
	release := &executionv1.ReleaseStepRequest{TurnId: turn.GetId(), Step: "tool-1.1", Fence: l.GetFence()}
	_, err = k.exec.ReleaseStep(t.Context(), release)
	must(t, err)
	_, err = k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
		TurnId: turn.GetId(), Fence: l.GetFence(),
		Outcome: &turnv1.StepOutcome{Key: "tool-1.1"},
	})
	wantFault(t, err, "lease_lost")
	w.owner = "w2"
	if again := w.lease("tool-1.1"); again.GetAttempt() != 2 {
		t.Errorf("lease %v", again)
	}
	_, err = k.exec.ReleaseStep(t.Context(), release)
	wantFault(t, err, "lease_lost")
	w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
	if s := k.types(turn); strings.Contains(s, "recovered") || strings.Count(s, "tool_call.started") != 1 ||
		!strings.HasSuffix(s, "turn.failed") {
		t.Errorf("events %s", s)
	}
}

func TestTheEndRefusesWhatComesLater(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	running := w.lease("tool-1.1")
	finish := w.lease("finish")
	end := func(r *executionv1.CommitStepRequest) {
		r.Ending = &turnv1.Ending{
			Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: "error",
			Error: &turnv1.TurnError{Code: "model_rejected", Message: "no"},
		}
	}
	first := w.commit("finish", finish, end)
	if again := w.commit("finish", finish, end); !proto.Equal(first.GetOutcome(), again.GetOutcome()) {
		t.Errorf("again %v", again)
	}
	_, err := k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
		TurnId: turn.GetId(), Fence: running.GetFence(),
		Outcome: &turnv1.StepOutcome{Key: "tool-1.1"},
	})
	wantFault(t, err, "lease_lost")
	_, err = w.claim("tool-1.2")
	wantFault(t, err, "turn_ended")
	adopted, err := w.claim("begin")
	must(t, err)
	if adopted.GetDone() == nil {
		t.Error("a done step of an ended turn cannot be adopted")
	}
	got, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	if got.GetError().GetCode() != "model_rejected" || got.GetLastSeq() == 0 || fmt.Sprint(got.GetToolsUsed()) != "[calc__add]" {
		t.Errorf("turn %v", got)
	}
}

func TestStepsMayNotWriteWhatIsTheServices(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	l := w.lease("infer-1")
	for _, e := range []*turnv1.Event{
		{Data: &turnv1.Event_TurnEnded{TurnEnded: &turnv1.TurnEnded{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED}}},
		{Data: &turnv1.Event_MessageDelta{MessageDelta: &turnv1.MessageDelta{Text: "x"}}},
		{},
	} {
		_, err := k.exec.AppendEvents(t.Context(), &executionv1.AppendEventsRequest{
			TurnId: turn.GetId(), Step: "infer-1", Fence: l.GetFence(), Events: []*turnv1.Event{e},
		})
		wantFault(t, err, "invalid_argument", "events")
	}
	_, err := k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
		TurnId: turn.GetId(), Fence: l.GetFence(), Outcome: &turnv1.StepOutcome{Key: "infer-1"}, Ending: &turnv1.Ending{Status: 3},
	})
	wantFault(t, err, "invalid_argument", "ending")
}

func TestLoadTurnAndToolCall(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	worker := k.asWorker()
	before, err := worker.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	if before.GetAgent().GetLimits().GetMaxSteps() != 25 || before.GetPrincipal().GetSubject() != "local" || before.GetSurface() != nil ||
		before.GetTurn().GetInput() != "hello" || before.GetTurn().GetCreateTime() == nil {
		t.Errorf("before the start: %v", before)
	}
	w.begin()
	_, err = k.agents.UpdateAgent(t.Context(), &sessionsv1.UpdateAgentRequest{Agent: &sessionsv1.Agent{
		Id:           "assistant",
		Instructions: "new ones",
	}})
	must(t, err)
	_, err = k.agents.DeleteAgent(t.Context(), &sessionsv1.DeleteAgentRequest{AgentId: "assistant"})
	must(t, err)
	after, err := worker.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	if after.GetAgent().GetInstructions() != "" || after.GetSurface().GetModel() != "test/model" || len(after.GetTools()) != 1 {
		t.Errorf("after the start: %v", after)
	}
	_, err = k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: turn.GetSessionId(), Input: "more"})
	wantFault(t, err, "failed_precondition")
	l := w.lease("infer-1")
	w.answer("infer-1", l, &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{CallId: "c1", Tool: "t", ArgumentsJson: `{"a":1}`}}}, 0)
	call, err := worker.GetToolCall(t.Context(), &executionv1.GetToolCallRequest{
		TurnId: turn.GetId(), MessageId: l.GetMessageId(),
		CallId: "c1",
	})
	must(t, err)
	if call.GetArgumentsJson() != `{"a":1}` {
		t.Errorf("call %v", call)
	}
	_, err = worker.GetToolCall(t.Context(), &executionv1.GetToolCallRequest{TurnId: turn.GetId(), MessageId: l.GetMessageId(), CallId: "c2"})
	wantFault(t, err, "not_found")
}
