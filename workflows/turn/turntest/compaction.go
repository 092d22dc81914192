package turntest

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Recall puts messages of earlier turns before those of a turn that is there, or is about to be added.
func (j *Journal) Recall(turn string, messages ...*turnv1.Message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	if t == nil {
		j.past[turn] = messages
		return
	}
	t.history = append(messages[:len(messages):len(messages)], t.history...)
}

// LeaveOut has the journal give a turn's conversation without so many of its oldest messages, until it is compacted.
func (j *Journal) LeaveOut(turn string, messages int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.turns[turn].leftOut = messages
}

// bytes is how large the history is.
func (t *turnRecord) bytes() int64 {
	sum := 0
	for _, m := range t.history {
		sum += proto.Size(m)
	}
	return int64(sum)
}

// number gives messages the seq that they have by their place. The journal has one message for each.
func (t *turnRecord) number() {
	for i, m := range t.history {
		m.Seq = uint32(i + 1)
	}
}

// compact takes a summary, if there is one, as sessions would.
func (t *turnRecord) compact(c *turnv1.ContextCompacted) error {
	switch {
	case c == nil:
		return nil
	case t.place(c.GetToMessageId()) < 0 || c.GetSummary() == "" || len(c.GetKeptMessageIds()) > 64:
		return fault.Invalid("events", "a summary of no messages: %v", c)
	case t.summary != nil && t.place(c.GetToMessageId()) <= t.place(t.summary.GetToMessageId()):
		return fault.Invalid("events", "a summary of what is summed up: %v", c)
	}
	for _, id := range c.GetKeptMessageIds() {
		if t.place(id) < 0 {
			return fault.Invalid("events", "no message %q to be kept", id)
		}
	}
	t.summary = c
	return nil
}

func (t *turnRecord) place(id string) int {
	return slices.IndexFunc(t.history, func(m *turnv1.Message) bool { return m.GetId() == id })
}

// shown is the conversation as a model reads it.
func (t *turnRecord) shown() *executionv1.GetContextResponse {
	t.number()
	all := t.conversation()
	resp := &executionv1.GetContextResponse{Inputs: uint32(len(t.inputs))}
	if t.summary == nil {
		resp.Messages, resp.Truncated = all[t.leftOut:], t.leftOut > 0
		return resp
	}
	resp.Messages = []*turnv1.Message{{
		Id: t.summary.GetMessageId(), Role: turnv1.Role_ROLE_USER, Seq: t.summary.GetToSeq(),
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: contract.SummaryPrefix + "\n" + t.summary.GetSummary()}}},
	}}
	for _, id := range t.summary.GetKeptMessageIds() {
		resp.Messages = append(resp.Messages, t.history[t.place(id)])
	}
	resp.Compacted = uint32(len(resp.GetMessages()))
	to := t.place(t.summary.GetToMessageId())
	for _, m := range all {
		if t.place(m.GetId()) > to && !slices.Contains(t.summary.GetKeptMessageIds(), m.GetId()) {
			resp.Messages = append(resp.Messages, m)
		}
	}
	resp.Truncated = t.history[to].GetTurnId() == t.in.TurnID
	return resp
}
