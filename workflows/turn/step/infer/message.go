package infer

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/libs/tokens"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step/toolsearch"
)

// answer collects what a model says, so that something is left when the stream is cut.
type answer struct {
	text, reasoning strings.Builder
	ids             *callIDs
	calls           map[int]*turnv1.ToolCall
}

// add adds one message of the stream and returns the piece to publish. The end of the stream has none.
func (a *answer) add(m *inferencev1.GenerateResponse) (chunk, bool) {
	switch e := m.GetEvent().(type) {
	case *inferencev1.GenerateResponse_TextDelta:
		a.text.WriteString(e.TextDelta)
		return chunk{what: textChunk, text: e.TextDelta}, true
	case *inferencev1.GenerateResponse_ReasoningDelta:
		a.reasoning.WriteString(e.ReasoningDelta)
		return chunk{what: reasoningChunk, text: e.ReasoningDelta}, true
	case *inferencev1.GenerateResponse_ToolCallDelta:
		d := e.ToolCallDelta
		call, ok := a.calls[int(d.GetIndex())]
		if !ok {
			call = &turnv1.ToolCall{CallId: a.ids.id(int(d.GetIndex()), d.GetCallId())}
			a.calls[int(d.GetIndex())] = call
		}
		call.Tool = cmp.Or(call.GetTool(), d.GetTool())
		return chunk{what: argumentsChunk, callID: call.GetCallId(), tool: call.GetTool(), text: d.GetArgumentsDelta()}, true
	default:
		return chunk{}, false
	}
}

// message is the assistant's message: the whole of a finished stream, or the text so far of one that was cut off. The calls of such a
// stream are dropped: their arguments may be incomplete.
func (i *infer) message(a *answer, finished *inferencev1.Finished) *turnv1.Message {
	m := &turnv1.Message{
		Id: i.Lease.GetMessageId(), SessionId: i.Turn.SessionID, TurnId: i.Turn.TurnID, Role: turnv1.Role_ROLE_ASSISTANT,
		Reasoning: a.reasoning.String(), Model: i.Loaded.GetSurface().GetModel(),
		Tainted: i.tainted,
	}
	text := a.text.String()
	if finished != nil {
		text, m.Reasoning, m.Model = finished.GetText(), finished.GetReasoning(), cmp.Or(finished.GetModel(), m.Model)
		m.Verbatim = finished.GetVerbatim()
		for n, call := range finished.GetToolCalls() {
			made := &turnv1.ToolCall{
				CallId: a.ids.id(n, call.GetCallId()), Tool: call.GetTool(), ArgumentsJson: cmp.Or(call.GetArgumentsJson(), "{}"),
			}
			if i.Pinned.Searches(i.Loaded) {
				made = toolsearch.Unwrap(made)
			}
			made.Tainted = i.tainted
			m.ToolCalls = append(m.ToolCalls, made)
		}
	}
	if text != "" {
		m.Content = []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}
	}
	i.cite(m)
	return m
}

// used estimates the usage of a call that was cut off and whose provider reported none: its prompt, and what it had said by then. It is
// nil for a call that had said nothing: its prompt may not have been read.
func (a *answer) used(prompt int64) *turnv1.Usage {
	said := a.text.Len() + a.reasoning.Len()
	if said == 0 {
		return nil
	}
	return &turnv1.Usage{
		InputTokens: int32(min(prompt, 1<<30)), OutputTokens: int32(tokens.Text(a.text.String()) + tokens.Text(a.reasoning.String())),
	}
}

// callIDs makes the ids of a message's calls unique in their turn: the model's own where it is usable, else one of ours. It is
// deterministic, so that deltas and the whole message agree.
type callIDs struct {
	infer int             // number of the step
	used  map[string]bool // ids that are taken
	given map[int]string  // by place in the message
	ours  bool            // take no id of the model's
}

var (
	usableID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) // what every provider accepts when it is shown the call again
	ourID    = regexp.MustCompile(`^call_\d+_\d+$`)
)

// newCallIDs knows the ids that the turn's earlier messages use. When some of them are not at hand, only our own ids are sure to be nei.
func (i *infer) newCallIDs(history []*turnv1.Message, truncated bool) *callIDs {
	ids := &callIDs{
		infer: number(i.Ref), used: map[string]bool{}, given: map[int]string{}, ours: truncated,
	}
	for _, m := range history {
		if m.GetTurnId() != i.Turn.TurnID {
			continue
		}
		for _, call := range m.GetToolCalls() {
			ids.used[call.GetCallId()] = true
		}
	}
	return ids
}

// number is that of a model step.
func number(ref *turnv1.StepRef) int {
	n, _ := stepkey.ParseInfer(ref.GetKey()) // the engine names no other
	return n
}

func (c *callIDs) id(index int, own string) string {
	if id, ok := c.given[index]; ok {
		return id
	}
	id := own
	if c.ours || !usableID.MatchString(own) || ourID.MatchString(own) || c.used[own] {
		id = fmt.Sprintf("call_%d_%d", c.infer, index)
	}
	c.used[id], c.given[index] = true, id
	return id
}
