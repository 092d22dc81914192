package sessions_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/rpc"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// worker does steps of one turn by hand.
type worker struct {
	t     testing.TB
	exec  executionv1.ExecutionServiceClient
	conn  rpc.Conn
	bus   *bus.Bus
	owner string
	turn  *sessionsv1.Turn
}

func (k *kit) worker(turn *sessionsv1.Turn) *worker {
	return &worker{t: k.t, exec: k.exec, conn: k.conn, bus: k.bus, owner: "w1", turn: turn}
}

func ref(key string) *turnv1.StepRef {
	k, ok := stepkey.Parse(key)
	if !ok {
		panic("no step has the key " + key)
	}
	out := &turnv1.StepRef{Key: key, Kind: k.Kind, Title: key}
	if k.Round > 1 {
		out.Round = uint32(k.Round)
	}
	return out
}

func (w *worker) claim(key string) (*executionv1.ClaimStepResponse, error) {
	req := &executionv1.ClaimStepRequest{
		TurnId: w.turn.GetId(), Step: ref(key), Owner: w.owner, Ttl: durationpb.New(30 * time.Second),
		Model: "test/model",
	}
	if req.GetStep().GetKind() == turnv1.StepKind_STEP_KIND_TOOL {
		req.ToolCall = &turnv1.ToolCallStarted{CallId: "call-" + key, Tool: "calc__add"}
	}
	return w.exec.ClaimStep(context.Background(), req)
}

func (w *worker) lease(key string) *executionv1.Lease {
	w.t.Helper()
	got, err := w.claim(key)
	must(w.t, err)
	if got.GetLease() == nil {
		w.t.Fatalf("claim of %s: %v, want a lease", key, got)
	}
	return got.GetLease()
}

func (w *worker) commit(key string, l *executionv1.Lease, fill func(*executionv1.CommitStepRequest)) *executionv1.CommitStepResponse {
	w.t.Helper()
	req := &executionv1.CommitStepRequest{
		TurnId: w.turn.GetId(), Fence: l.GetFence(), Outcome: &turnv1.StepOutcome{Key: key},
		Duration: durationpb.New(time.Millisecond),
	}
	if fill != nil {
		fill(req)
	}
	got, err := w.exec.CommitStep(context.Background(), req)
	must(w.t, err)
	return got
}

func (w *worker) begin() {
	w.t.Helper()
	w.commit("begin", w.lease("begin"), func(r *executionv1.CommitStepRequest) {
		r.Outcome.Surface = &turnv1.Surface{AgentId: "assistant", BlueprintRevision: 1, Model: "test/model", MaxSteps: 25}
		r.Tools = []*executionv1.PinnedTool{{Name: "calc__add", DefinitionHash: "h"}}
		r.Events = []*turnv1.Event{{Data: &turnv1.Event_TurnStarted{TurnStarted: &turnv1.TurnStarted{AgentId: "assistant", Model: "test/model"}}}}
	})
}

// answer commits an infer step with a message.
func (w *worker) answer(key string, l *executionv1.Lease, m *turnv1.Message, deltas uint32) *executionv1.CommitStepResponse {
	w.t.Helper()
	return w.commit(key, l, func(r *executionv1.CommitStepRequest) {
		m.Id, m.Role = l.GetMessageId(), turnv1.Role_ROLE_ASSISTANT
		r.Messages = []*turnv1.Message{m}
		r.Outcome.Usage = &turnv1.Usage{InputTokens: 10, OutputTokens: 5, ModelCalls: 1}
		r.Events = []*turnv1.Event{{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m, Deltas: deltas}}}}
	})
}

// result commits a tool step with a result.
func (w *worker) result(key, call, out string) {
	w.t.Helper()
	w.commit(key, w.lease(key), func(r *executionv1.CommitStepRequest) {
		res := &turnv1.ToolResult{CallId: call, Tool: "calc__add", Content: executiontest.Text(out)}
		r.Messages = []*turnv1.Message{{Role: turnv1.Role_ROLE_TOOL, ToolResult: res}}
		r.Events = []*turnv1.Event{{Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{Result: res}}}}
	})
}

func (w *worker) finish(status turnv1.TurnStatus, reason string) *executionv1.CommitStepResponse {
	w.t.Helper()
	return w.commit("finish", w.lease("finish"), func(r *executionv1.CommitStepRequest) {
		r.Ending = &turnv1.Ending{Status: status, StopReason: reason}
	})
}

// run does a whole turn: begin, one tool round, answer, finish.
func (w *worker) run(answer string) *executionv1.CommitStepResponse {
	w.t.Helper()
	w.begin()
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{
		CallId: "c1", Tool: "calc__add",
		ArgumentsJson: "{}",
	}}}, 0)
	w.result("tool-1.1", "c1", "3")
	w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{Content: executiontest.Text(answer)}, 0)
	return w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
}

// delta publishes the n-th delta of an open message.
func (w *worker) delta(l *executionv1.Lease, n uint32, s string) {
	w.t.Helper()
	data, err := proto.Marshal(&turnv1.Event{
		Seq: l.GetBaseSeq(), Delta: n, Type: "message.delta", SessionId: w.turn.GetSessionId(), TurnId: w.turn.GetId(),
		Data: &turnv1.Event_MessageDelta{MessageDelta: &turnv1.MessageDelta{MessageId: l.GetMessageId(), Text: s}},
	})
	must(w.t, err)
	_ = w.bus.Publish(contract.DeltaSubject("default", w.turn.GetSessionId()), data) // a bus that is away loses it
}
