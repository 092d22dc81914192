package turntest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// waitRecord is a wait and the step that ended with it.
type waitRecord struct {
	wait  *executionv1.Wait
	step  string
	begun time.Time
}

// begins makes a wait of a request, and puts it into the outcome. The caller holds the lock.
func (j *Journal) begins(t *turnRecord, o *turnv1.StepOutcome, req *executionv1.WaitRequest) *turnv1.StepOutcome {
	if req == nil {
		return o
	}
	ref := &turnv1.WaitRef{Id: "apr_" + t.in.TurnID + "_" + o.GetKey(), Kind: req.GetKind()}
	if ms := req.GetExpiresInMs(); ms > 0 {
		ref.ExpireMicros = time.Now().Add(time.Duration(ms) * time.Millisecond).UnixMicro()
	}
	t.waits = append(t.waits, &waitRecord{wait: &executionv1.Wait{Ref: ref, Request: req}, step: o.GetKey(), begun: time.Now()})
	o = proto.CloneOf(o)
	o.Wait = ref
	return o
}

// Waits are the waits of a turn that nobody has answered yet.
func (j *Journal) Waits(turn string) []*executionv1.Wait {
	j.mu.Lock()
	defer j.mu.Unlock()
	var open []*executionv1.Wait
	for _, w := range j.turns[turn].waits {
		if w.wait.GetVerdict() == 0 {
			open = append(open, w.wait)
		}
	}
	return open
}

// Answer ends the wait of a turn that the step with this key ended with, and tells the workers. fill adds to the verdict what the
// answer says.
func (j *Journal) Answer(turn, step string, verdict turnv1.Verdict, fill ...func(*executionv1.Wait)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	for _, w := range t.waits {
		if w.step == step && w.wait.GetVerdict() == 0 {
			for _, f := range fill {
				f(w.wait)
			}
			j.ends(t, w, verdict)
		}
	}
	j.wake(t)
}

func (j *Journal) ends(t *turnRecord, w *waitRecord, verdict turnv1.Verdict) {
	w.wait.Verdict = verdict
	o := &turnv1.StepOutcome{
		Key: stepkey.Wait(w.step), Kind: turnv1.StepKind_STEP_KIND_WAIT,
		Answer: &turnv1.WaitAnswer{WaitId: w.wait.GetRef().GetId(), Verdict: verdict},
	}
	if engine.ForPeople(w.wait.GetRef().GetKind()) {
		o.DeadlineMicros = t.load.GetSurface().GetDeadlineMicros() + time.Since(w.begun).Microseconds()
	}
	j.settle(t, j.step(t, o.GetKey()), o)
}

// Steer accepts input for a running turn, and tells the workers.
func (j *Journal) Steer(turn, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	n := len(t.inputs) + 1
	m := &turnv1.Message{
		Id: fmt.Sprintf("msg_steer_%d", n), SessionId: t.in.SessionID, TurnId: turn, Role: turnv1.Role_ROLE_USER,
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}},
	}
	t.history = append(t.history, m)
	o := &turnv1.StepOutcome{Key: stepkey.Steer(n), Kind: turnv1.StepKind_STEP_KIND_STEER, MessageId: m.GetId()}
	j.settle(t, j.step(t, o.GetKey()), o)
	t.inputs = append(t.inputs, o)
	j.wake(t)
}

// ClientTools gives a turn tools that its client runs.
func (j *Journal) ClientTools(turn string, tools ...*sessionsv1.ClientTool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.turns[turn].load.ClientTools = tools
}

// wake tells all workers of a turn.
func (j *Journal) wake(t *turnRecord) {
	data, err := json.Marshal(contract.HeadStart{TurnInput: t.in})
	if err == nil {
		err = j.mesh.Bus.Publish(contract.WakeSubject(t.in.Tenant), data)
	}
	if err != nil {
		panic(fmt.Sprintf("publish: %v", err))
	}
}

// stale reports whether a commit ends the turn with an answer that does not know of all input.
func (t *turnRecord) stale(req *executionv1.CommitStepRequest) bool {
	e := req.GetEnding()
	return e.GetStopReason() == engine.StopEnd && int(req.GetInputs()) < len(t.inputs)
}

// conversation is the history with input of the running turn behind the results of the calls before it.
func (t *turnRecord) conversation() []*turnv1.Message {
	var out, held []*turnv1.Message
	open := map[string]bool{}
	for _, m := range t.history {
		if m.GetRole() == turnv1.Role_ROLE_USER && len(open) > 0 {
			held = append(held, m)
			continue
		}
		for _, call := range m.GetToolCalls() {
			open[call.GetCallId()] = true
		}
		out = append(out, m)
		if m.GetToolResult() == nil {
			continue
		}
		if delete(open, m.GetToolResult().GetCallId()); len(open) == 0 {
			out, held = append(out, held...), nil
		}
	}
	return append(out, held...)
}

// GetWait implements ExecutionService.
func (j *Journal) GetWait(_ context.Context, req *executionv1.GetWaitRequest) (*executionv1.Wait, error) {
	t, unlock, err := j.find("GetWait", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, w := range t.waits {
		if w.wait.GetRef().GetId() == req.GetWaitId() {
			return proto.CloneOf(w.wait), nil
		}
	}
	return nil, fault.NotFound("no such wait")
}

// ExpireWaits implements ExecutionService.
func (j *Journal) ExpireWaits(_ context.Context, req *executionv1.ExpireWaitsRequest) (*executionv1.ExpireWaitsResponse, error) {
	t, unlock, err := j.find("ExpireWaits", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	now := time.Now().UnixMicro()
	for _, w := range t.waits {
		if at := w.wait.GetRef().GetExpireMicros(); at > 0 && at <= now && w.wait.GetVerdict() == 0 {
			j.ends(t, w, turnv1.Verdict_VERDICT_EXPIRED)
		}
	}
	return &executionv1.ExpireWaitsResponse{}, nil
}
