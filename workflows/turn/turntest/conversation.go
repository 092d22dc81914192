package turntest

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// maxKept bounds the messages that are kept with a summary.
const maxKept = 64

// writeContent writes artifacts, events and messages of a commit. A message without an event among them gets one.
func (j *Journal) writeContent(t *turnRecord, s *stepRecord, o *turnv1.StepOutcome, req *executionv1.CommitStepRequest) {
	var pending []*turnv1.Message
	for i, m := range req.GetMessages() {
		m = proto.CloneOf(m)
		if m.GetId() == "" && s.kind == turnv1.StepKind_STEP_KIND_INFER {
			m.Id = messageID(t, s)
		}
		if m.GetId() == "" {
			m.Id = fmt.Sprintf("%s_%d", messageID(t, s), i)
		}
		m.SessionId, m.TurnId = t.in.SessionID, t.in.TurnID
		if o.GetMessageId() == "" && s.kind == turnv1.StepKind_STEP_KIND_INFER {
			o.MessageId = m.GetId()
		}
		pending = append(pending, m)
	}
	for _, a := range req.GetArtifacts() {
		t.artifacts = append(t.artifacts, a)
		j.append(t, s, &turnv1.Event{Data: &turnv1.Event_ArtifactCreated{ArtifactCreated: &turnv1.ArtifactCreated{
			ArtifactId: a.GetId(), Name: a.GetName(), MediaType: a.GetMediaType(), Size: int64(len(a.GetData())), CallId: a.GetCallId(),
		}}})
	}
	for _, e := range req.GetEvents() {
		if i := slices.IndexFunc(pending, func(m *turnv1.Message) bool { return tells(e, m) }); i >= 0 {
			t.history = append(t.history, pending[i])
			if done := e.GetMessageCompleted(); done != nil {
				done = proto.CloneOf(done)
				done.Message = pending[i]
				e = &turnv1.Event{Data: &turnv1.Event_MessageCompleted{MessageCompleted: done}}
			}
			pending = slices.Delete(pending, i, i+1)
		}
		j.write(t, s, e)
	}
	for _, m := range pending {
		t.history = append(t.history, m)
		e := &turnv1.Event{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m}}}
		if m.GetRole() == turnv1.Role_ROLE_TOOL {
			e = &turnv1.Event{Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{Result: m.GetToolResult()}}}
		}
		j.append(t, s, e)
	}
}

// tells reports whether an event is that of a message.
func tells(e *turnv1.Event, m *turnv1.Message) bool {
	if m.GetRole() == turnv1.Role_ROLE_TOOL {
		return e.GetToolCallCompleted() != nil && e.GetToolCallCompleted().GetResult().GetCallId() == m.GetToolResult().GetCallId()
	}
	return e.GetMessageCompleted() != nil && e.GetMessageCompleted().GetMessage().GetId() == m.GetId()
}

// Steer gives a running turn more input, and wakes its workers.
func (j *Journal) Steer(turn, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	n := len(t.inputs) + 1
	m := &turnv1.Message{
		Id: fmt.Sprintf("msg_steer_%d", n), SessionId: t.in.SessionID, TurnId: turn, Role: turnv1.Role_ROLE_USER,
		Content: executiontest.Text(text),
	}
	j.append(t, nil, &turnv1.Event{Data: &turnv1.Event_InputAccepted{InputAccepted: &turnv1.InputAccepted{
		MessageId: m.GetId(), Content: m.GetContent(), Number: uint32(n),
	}}})
	t.history = append(t.history, m)
	o := &turnv1.StepOutcome{Key: stepkey.Steer(n), Kind: turnv1.StepKind_STEP_KIND_STEER, MessageId: m.GetId()}
	j.record(t, t.step(o.GetKey()), o)
	t.inputs = append(t.inputs, o)
	j.wake(t)
}

// moveUnread moves the inputs that a model step has not read behind its message.
func (t *turnRecord) moveUnread(read uint32) {
	for _, o := range t.inputs[min(int(read), len(t.inputs)):] {
		i := t.find(o.GetMessageId())
		m := t.history[i]
		t.history = append(slices.Delete(t.history, i, i+1), m)
	}
}

// bytes returns the size of the conversation.
func (t *turnRecord) bytes() int64 {
	sum := 0
	for _, m := range t.history {
		sum += proto.Size(m)
	}
	return int64(sum)
}

// find returns the place of a message in the history, -1 if it has none.
func (t *turnRecord) find(id string) int {
	return slices.IndexFunc(t.history, func(m *turnv1.Message) bool { return m.GetId() == id })
}

// checkSummary rejects a summary of messages that do not exist, or that are summed up already.
func (t *turnRecord) checkSummary(s *stepRecord, c *turnv1.ContextCompacted) error {
	switch {
	case s.kind != turnv1.StepKind_STEP_KIND_COMPACT || c.GetMessageId() == "" || c.GetSummary() == "" ||
		len(c.GetKeptMessageIds()) > maxKept:
		return fault.Invalid("events", "a summary without text or ID, or of another step: %v", c)
	case t.find(c.GetToMessageId()) < 0:
		return fault.Invalid("events", "a summary up to an unknown message: %v", c)
	case t.summary != nil && t.find(c.GetToMessageId()) <= t.find(t.summary.GetToMessageId()):
		return fault.Invalid("events", "a summary of what is summed up already: %v", c)
	}
	for _, id := range c.GetKeptMessageIds() {
		if t.find(id) < 0 {
			return fault.Invalid("events", "no message %q to keep", id)
		}
	}
	return nil
}

// context returns what a model reads: the summary with what was kept, then the messages after it. A message's seq is its place.
func (t *turnRecord) context() *executionv1.GetContextResponse {
	for i, m := range t.history {
		m.Seq = uint32(i + 1)
	}
	resp := &executionv1.GetContextResponse{Inputs: uint32(len(t.inputs))}
	if t.summary == nil {
		resp.Messages, resp.Truncated = withResults(t.history)[t.leftOut:], t.leftOut > 0
		return resp
	}
	resp.Messages = []*turnv1.Message{{
		Id: t.summary.GetMessageId(), SessionId: t.in.SessionID, Role: turnv1.Role_ROLE_USER, Seq: t.summary.GetToSeq(),
		Tainted: t.summary.GetTainted(), Content: executiontest.Text(contract.SummaryPrefix + "\n" + t.summary.GetSummary()),
	}}
	for _, id := range t.summary.GetKeptMessageIds() {
		resp.Messages = append(resp.Messages, t.history[t.find(id)])
	}
	resp.Compacted = uint32(len(resp.GetMessages()))
	to, kept := t.find(t.summary.GetToMessageId()), t.summary.GetKeptMessageIds()
	// The turn's own input is never left out.
	if own := t.find(inputID(t.in.TurnID)); own <= to && !slices.Contains(kept, inputID(t.in.TurnID)) {
		resp.Messages = append(resp.Messages, t.history[own])
	}
	for _, m := range withResults(t.history[to+1:]) {
		if !slices.Contains(kept, m.GetId()) {
			resp.Messages = append(resp.Messages, m)
		}
	}
	resp.Truncated = t.history[to].GetTurnId() == t.in.TurnID
	return resp
}

// withResults puts the results of tool calls behind the message with the calls, in their order. A call without a result gets one.
func withResults(history []*turnv1.Message) []*turnv1.Message {
	results := map[string]*turnv1.Message{}
	key := func(m *turnv1.Message, call string) string { return m.GetTurnId() + "\x00" + call }
	for _, m := range history {
		if r := m.GetToolResult(); r != nil {
			results[key(m, r.GetCallId())] = m
		}
	}
	var out []*turnv1.Message
	for _, m := range history {
		if m.GetRole() == turnv1.Role_ROLE_TOOL {
			continue
		}
		out = append(out, m)
		for _, call := range m.GetToolCalls() {
			r := results[key(m, call.GetCallId())]
			if r == nil {
				r = notExecuted(m, call)
			}
			out = append(out, r)
		}
	}
	return out
}

// notExecuted returns a result for a call that has none.
func notExecuted(m *turnv1.Message, call *turnv1.ToolCall) *turnv1.Message {
	return &turnv1.Message{
		SessionId: m.GetSessionId(), TurnId: m.GetTurnId(), Role: turnv1.Role_ROLE_TOOL, Seq: m.GetSeq(),
		ToolResult: &turnv1.ToolResult{
			CallId: call.GetCallId(), Tool: call.GetTool(), IsError: true,
			Content: executiontest.Text("not executed: the turn ended before this call"),
		},
	}
}
