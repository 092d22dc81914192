package step

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/timestamp"
	"github.com/windlass-dev/windlass/services/sessions/artifact"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// writeContent appends the events of the request, and stores its messages with the seq of their events.
func writeContent(tx *journal.Tx, t store.Turn, step store.Step, outcome *turnv1.StepOutcome, c Commit) error {
	pending := make([]*turnv1.Message, 0, len(c.Messages))
	for _, m := range c.Messages {
		m = proto.CloneOf(m)
		if m.GetId() == "" && m.GetRole() == turnv1.Role_ROLE_ASSISTANT {
			m.Id = step.MessageID
		}
		if m.GetId() == "" {
			m.Id = ids.New(ids.Message)
		}
		m.SessionId, m.TurnId, m.CreateTime = t.SessionID, t.ID, timestamp.Of(tx.Now())
		pending = append(pending, m)
		if outcome.GetMessageId() == "" && step.Kind == turnv1.StepKind_STEP_KIND_INFER {
			outcome.MessageId = m.GetId()
		}
	}
	for _, a := range c.Artifacts {
		if err := artifact.Write(tx, t, step, a); err != nil {
			return err
		}
	}
	for _, e := range c.Events {
		var err error
		if pending, err = writeEvent(tx, t, step, e, pending); err != nil {
			return err
		}
	}
	for _, m := range pending {
		e := &turnv1.Event{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m}}}
		if m.GetRole() == turnv1.Role_ROLE_TOOL {
			e = &turnv1.Event{Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{Result: m.GetToolResult()}}}
		}
		if _, err := writeEvent(tx, t, step, e, []*turnv1.Message{m}); err != nil {
			return err
		}
	}
	return nil
}

// writeEvent appends one event; if it tells of one of the messages, that one is stored too and taken off the list.
func writeEvent(tx *journal.Tx, t store.Turn, step store.Step, e *turnv1.Event, pending []*turnv1.Message) ([]*turnv1.Message, error) {
	at := slices.IndexFunc(pending, func(m *turnv1.Message) bool { return tells(e, step, m) })
	if journal.Type(e) == "" || e.GetTurnEnded() != nil {
		return nil, fault.Invalid("events", "%T is not an event that a step may write", e.GetData())
	}
	if err := attach(tx, t, e); err != nil {
		return nil, err
	}
	if at >= 0 {
		m := pending[at]
		m.Seq = tx.Session.LastSeq + 1
		if done := e.GetMessageCompleted(); done != nil {
			if done.GetDeltas() > 0 && t.Usage.GetModelCalls() == 0 {
				tx.FirstToken(t, step.StartTime.Add(time.Duration(done.GetFirstTokenMs())*time.Millisecond))
			}
			done = proto.CloneOf(done)
			done.Message = conversation.Shown(m)
			e = &turnv1.Event{Data: &turnv1.Event_MessageCompleted{MessageCompleted: done}}
		}
		if err := conversation.Add(tx, t, m); err != nil {
			return nil, err
		}
		pending = slices.Delete(pending, at, at+1)
	}
	if c := e.GetContextCompacted(); c != nil {
		return pending, conversation.Compact(tx, t, step, c)
	}
	if e.GetArtifactCreated() != nil {
		return nil, fault.Invalid("events", "artifact.created is written for the artifacts of a commit, and only for them")
	}
	_, err := tx.Append(journal.OfStep(t, step), e)
	return pending, err
}

// tells reports whether e is the event of message m.
func tells(e *turnv1.Event, step store.Step, m *turnv1.Message) bool {
	switch d := e.GetData().(type) {
	case *turnv1.Event_MessageCompleted:
		id := d.MessageCompleted.GetMessage().GetId()
		return m.GetRole() != turnv1.Role_ROLE_TOOL && (id == m.GetId() || id == "" && m.GetId() == step.MessageID)
	case *turnv1.Event_ToolCallCompleted:
		return m.GetRole() == turnv1.Role_ROLE_TOOL && d.ToolCallCompleted.GetResult().GetCallId() == m.GetToolResult().GetCallId()
	}
	return false
}
