package compact

import (
	"cmp"

	"github.com/windlass-dev/windlass/libs/tokens"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
)

const (
	// maxKept bounds the messages that stay beside a summary, as the journal does.
	maxKept = 64
	// newestPart is how much of the room the newest messages may take that stay as they are: one part of so many.
	newestPart = 3
)

// cutPlan is what a compaction leaves out and what stays.
type cutPlan struct {
	// older are the messages that the summary takes the place of; the first head of them are what stood for older ones before.
	older []*turnv1.Message
	head  int
	// kept is what stays, in tokens, and room what the conversation may take, both as we estimate.
	kept int
	room int64
	// event says it, but for the summary.
	event *turnv1.ContextCompacted
}

// planCut decides where to cut; nil when the conversation fits, or nothing can be left out. What stays are the newest messages, and of
// the turn itself what was asked, planned and found: its user's messages, and those of the model that call no tool.
func planCut(w *step.Work, history *step.History) *cutPlan {
	messages, why, surface := conversation.Adopted(history.GetMessages(), w.Turn.TurnID), w.Ref.GetCompact(), w.Loaded.GetSurface()
	size := tokens.Messages(messages)
	p := &cutPlan{head: int(history.GetCompacted()), room: roomFor(why, surface, int64(size))}
	leftOut := history.GetTruncated() && w.Ref.GetKey() == stepkey.Compact(1) // later it may be the turn's own summary that is meant
	if !why.GetRefused() && !leftOut && int64(size) <= p.room {
		return nil
	}
	cut := cutAt(messages, p.head, int(p.room)/newestPart)
	if cut <= p.head { // nothing new would be left out
		return nil
	}
	to := lastOf(messages[p.head:cut])
	if to == nil {
		return nil
	}
	p.event = &turnv1.ContextCompacted{
		FromSeq: messages[p.head].GetSeq(), ToSeq: to.GetSeq(), ToMessageId: to.GetId(), TokensBefore: int32(size),
	}
	var kept []*turnv1.Message
	for i, m := range messages {
		own := m.GetTurnId() == w.Turn.TurnID &&
			(m.GetRole() == turnv1.Role_ROLE_USER || m.GetRole() == turnv1.Role_ROLE_ASSISTANT && len(m.GetToolCalls()) == 0)
		switch {
		case i < cut && !own:
			p.older = append(p.older, m)
		case i < cut, m.GetTurnId() == to.GetTurnId() && m.GetSeq() < to.GetSeq(): // said earlier than what is shown before it
			kept = append(kept, m)
		default:
			p.kept += tokens.Message(m)
		}
	}
	if len(kept) > maxKept { // the request, and the newest
		p.older = append(p.older, kept[1:len(kept)-maxKept+1]...)
		kept = append(kept[:1:1], kept[len(kept)-maxKept+1:]...)
	}
	for _, m := range kept {
		p.event.KeptMessageIds = append(p.event.KeptMessageIds, m.GetId())
		p.kept += tokens.Message(m)
	}
	if len(p.older) <= p.headOf(messages) { // only what stood there before
		return nil
	}
	p.event.Messages = uint32(len(p.older) - p.headOf(messages))
	return p
}

// headOf counts the older messages that stood for older ones before.
func (p *cutPlan) headOf(messages []*turnv1.Message) int {
	n := 0
	for _, m := range messages[:p.head] {
		for _, o := range p.older {
			if o == m {
				n++
			}
		}
	}
	return n
}

// roomFor is what the conversation may take, in tokens as we estimate: what the surface allows, without instructions and tools. A
// conversation that the provider refused is longer than it can read, whatever we believe: it is halved.
func roomFor(why *turnv1.CompactRef, surface *turnv1.Surface, size int64) int64 {
	limit := surface.GetContextTokens()
	room := max(limit*engine.PerMille/int64(cmp.Or(why.GetPerMille(), engine.PerMille))-int64(surface.GetPromptTokens()), limit/4)
	if why.GetRefused() {
		room = min(room, size/2)
	}
	return room
}

// cutAt is where the newest messages begin that fit in so many tokens, the newest one in any case. It never stands between a call and its
// result.
func cutAt(messages []*turnv1.Message, head, room int) int {
	cut, size := len(messages), 0
	for i := len(messages) - 1; i >= head; i-- {
		size += tokens.Message(messages[i])
		if messages[i].GetRole() == turnv1.Role_ROLE_TOOL {
			continue
		}
		if size > room && cut < len(messages) {
			break
		}
		cut = i
	}
	return cut
}

// lastOf is the message of a conversation that was said last; nil when none of them is in the journal. Results stand behind their call
// even when the user has said something before they came.
func lastOf(messages []*turnv1.Message) *turnv1.Message {
	end := len(messages)
	for end > 0 && messages[end-1].GetId() == "" {
		end--
	}
	if end == 0 {
		return nil
	}
	last := messages[end-1]
	i := end - 1
	for i > 0 && messages[i].GetRole() == turnv1.Role_ROLE_USER && messages[i].GetTurnId() == last.GetTurnId() {
		i--
	}
	for ; i >= 0 && messages[i].GetRole() == turnv1.Role_ROLE_TOOL && messages[i].GetTurnId() == last.GetTurnId(); i-- {
		if m := messages[i]; m.GetId() != "" && m.GetSeq() > last.GetSeq() {
			last = m
		}
	}
	return last
}
