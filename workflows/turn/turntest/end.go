package turntest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// RequestCancel implements ExecutionService.
func (j *Journal) RequestCancel(_ context.Context, req *executionv1.RequestCancelRequest) (*executionv1.RequestCancelResponse, error) {
	t, unlock, err := j.find("RequestCancel", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if t.ending != nil {
		return nil, turnEnded()
	}
	j.cancel(t, req.GetReason())
	return &executionv1.RequestCancelResponse{}, nil
}

// Cancel requests the cancellation of a turn, as its user does.
func (j *Journal) Cancel(turn string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancel(j.turns[turn], "")
}

// cancel requests the cancellation of a turn once, and ends its waits.
func (j *Journal) cancel(t *turnRecord, reason string) {
	if t.load.GetCancelRequested() {
		return
	}
	t.load.CancelRequested = true
	j.append(t, nil, &turnv1.Event{Data: &turnv1.Event_TurnCancelRequested{
		TurnCancelRequested: &turnv1.TurnCancelRequested{Reason: reason},
	}})
	if open := t.openWaits(); len(open) > 0 {
		for _, w := range open {
			j.endWait(t, w, turnv1.Verdict_VERDICT_CANCELLED)
		}
		j.wake(t)
	}
}

// End ends a turn without a finish step, as the sessions service may.
func (j *Journal) End(turn string, status turnv1.TurnStatus, reason string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.end(j.turns[turn], &turnv1.Ending{Status: status, StopReason: reason})
}

// end writes the end of a turn, and takes the leases of all workers.
func (j *Journal) end(t *turnRecord, ending *turnv1.Ending) {
	for _, w := range t.openWaits() {
		j.closeWait(t, w, turnv1.Verdict_VERDICT_CANCELLED)
	}
	t.paused, t.ending = time.Time{}, ending
	t.load.Turn.Status, t.load.Turn.StopReason = ending.GetStatus(), ending.GetStopReason()
	j.append(t, nil, &turnv1.Event{Data: &turnv1.Event_TurnEnded{TurnEnded: &turnv1.TurnEnded{
		Status: ending.GetStatus(), StopReason: ending.GetStopReason(), Error: ending.GetError(), LimitReached: ending.GetLimitReached(),
		Output: t.lastAnswer(), ToolsUsed: t.toolsUsed(), Usage: proto.CloneOf(t.usage),
	}}})
	for _, s := range t.steps {
		if s.done == nil {
			s.owner, s.fence, s.rest, s.expires = "", s.fence+1, 0, time.Time{}
		}
	}
}

// ordered returns the steps in the order of their first claims.
func (t *turnRecord) ordered() []*stepRecord {
	var out []*stepRecord
	for _, s := range t.steps {
		if s.order > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *stepRecord) int { return cmp.Compare(a.order, b.order) })
	return out
}

// toolsUsed returns the names of the turn's tools in the order of their first use.
func (t *turnRecord) toolsUsed() []string {
	var names []string
	for _, s := range t.ordered() {
		if s.tool != "" && !slices.Contains(names, s.tool) {
			names = append(names, s.tool)
		}
	}
	return names
}

// lastAnswer returns the text of the turn's last assistant message.
func (t *turnRecord) lastAnswer() string {
	for _, m := range slices.Backward(t.history) {
		if m.GetTurnId() != t.in.TurnID || m.GetRole() != turnv1.Role_ROLE_ASSISTANT {
			continue
		}
		var text strings.Builder
		for _, p := range m.GetContent() {
			text.WriteString(p.GetText())
		}
		return text.String()
	}
	return ""
}
