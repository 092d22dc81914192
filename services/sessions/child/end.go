package child

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// end is what a parent learns about a child that ended.
type end struct {
	link   store.Child
	turn   store.Turn
	result *turnv1.ToolResult
	event  *turnv1.ChildCompleted
}

// treeReader reads turns and the links between them: a store, or the transaction that is open.
type treeReader interface {
	Turn(ctx context.Context, tenant, id string) (store.Turn, error)
	Child(ctx context.Context, tenant, turn string) (store.Child, error)
	turn.Messages
	ChildrenBelow(ctx context.Context, tenant, root string) ([]store.Child, error)
}

// readEnd returns the end of a child; nil while the child is not over.
func readEnd(ctx context.Context, r treeReader, c store.Child) (*end, error) {
	t, err := r.Turn(ctx, c.Tenant, c.TurnID)
	if err != nil || !t.Ended() {
		return nil, err
	}
	descendants, err := byParent(ctx, r, t)
	if err != nil {
		return nil, err
	}
	total := &turnv1.Usage{}
	if err := addUsage(ctx, r, total, t, descendants); err != nil {
		return nil, err
	}
	citations, err := turn.Citations(ctx, r, t)
	if err != nil {
		return nil, err
	}
	return &end{link: c, turn: t, result: result(c, t.End, citations), event: &turnv1.ChildCompleted{
		CallId: c.CallID, AgentId: c.AgentID, SessionId: c.SessionID, TurnId: c.TurnID, Status: t.End.GetStatus(),
		StopReason: t.End.GetStopReason(), Usage: total, LimitReached: t.End.GetLimitReached(),
	}}, nil
}

// result is what the parent's model reads. Its citations are those of the child's answer.
func result(c store.Child, end *turnv1.TurnEnded, citations []*turnv1.Citation) *turnv1.ToolResult {
	text := end.GetOutput()
	whole := end.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED && end.GetStopReason() == turn.StopEnd
	switch {
	case whole && text == "":
		text = "(the agent gave no answer)"
	case whole:
	case end.GetError() != nil:
		text = fmt.Sprintf("The agent %q failed: %s (%s).", c.AgentID, end.GetError().GetMessage(), end.GetError().GetCode())
		citations = nil
	case text != "":
		text = fmt.Sprintf("The agent %q was stopped (%s). What it said so far: %s", c.AgentID, stopText(end), text)
	default:
		text = fmt.Sprintf("The agent %q was stopped before it answered (%s).", c.AgentID, stopText(end))
	}
	return &turnv1.ToolResult{
		CallId: c.CallID, IsError: !whole, Trusted: !end.GetTainted(),
		Content: []*turnv1.ContentPart{{
			Part: &turnv1.ContentPart_Text{Text: text}, Citations: moved(citations, len(text)-len(end.GetOutput())),
		}},
	}
}

// moved returns the citations of a text that stands behind by bytes of another one.
func moved(citations []*turnv1.Citation, by int) []*turnv1.Citation {
	out := make([]*turnv1.Citation, len(citations))
	for i, c := range citations {
		out[i] = proto.CloneOf(c)
		out[i].Position += int64(by)
	}
	return out
}

// named returns a text with the names of the documents in the place of the numbers of its citations, for where there are no citations.
func named(text string, citations []*turnv1.Citation) string {
	var b strings.Builder
	from := 0
	for _, c := range citations {
		at, number := int(c.GetPosition()), fmt.Sprintf("[%d]", c.GetNumber())
		if at < from || at > len(text) || !strings.HasPrefix(text[at:], number) {
			continue
		}
		fmt.Fprintf(&b, "%s(source: %s)", text[from:at], c.GetDocumentName())
		from = at + len(number)
	}
	return b.String() + text[from:]
}

// stopText says why a turn stopped, and by which limit.
func stopText(end *turnv1.TurnEnded) string {
	if l := end.GetLimitReached(); l != nil {
		return fmt.Sprintf("%s, %s: %s", end.GetStopReason(), l.GetCode(), turn.LimitText(l))
	}
	return end.GetStopReason()
}
