package property

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/enum"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

func (w *world) ctx() context.Context { return context.Background() }

// verify holds what is left when all turns are over against the model.
func (w *world) verify() {
	for _, s := range w.sessions {
		events := w.checkJournal(s)
		w.checkOrder(s, events)
		for _, e := range events {
			w.happened[e.GetType()]++
		}
		for _, t := range s.turns {
			w.checkTurn(t, of(events, t.id))
		}
		w.checkBudget(s)
	}
}

// checkBudget wants no more calls to have run than the session's budget admits, and nothing reserved when all turns are over.
func (w *world) checkBudget(s *session) {
	if s.budget == "" {
		return
	}
	b, err := w.user.budgets.GetBudget(w.ctx(), &sessionsv1.GetBudgetRequest{BudgetId: s.budget})
	w.need(err, "read a budget")
	ran := 0
	for _, t := range s.turns {
		for _, c := range t.calls {
			ran += min(w.effects.of(c.n), 1)
		}
	}
	if ran > s.maxCalls || int(b.GetUsedToolCalls()) > s.maxCalls || b.GetReservedToolCalls() != 0 || b.GetReservedTokens() != 0 {
		w.Fatalf("session %s: %d calls ran of the %d that its budget admits: %v", s.id, ran, s.maxCalls, b)
	}
}

func of(events []*turnv1.Event, turn string) (out []*turnv1.Event) {
	for _, e := range events {
		if e.GetTurnId() == turn {
			out = append(out, e)
		}
	}
	return out
}

// checkJournal reads the journal, and compares it with what watchers saw: one from the start, and one that resumed with a cursor.
func (w *world) checkJournal(s *session) []*turnv1.Event {
	now, err := w.user.sessions.GetSession(w.ctx(), &sessionsv1.GetSessionRequest{SessionId: s.id})
	w.need(err, "read a session")
	last := now.GetLastSeq()
	if last == 0 {
		return nil
	}
	events := w.read(s.id, "", last)
	for i, e := range events {
		if e.GetSeq() != uint32(i)+1 {
			w.Fatalf("session %s: event %d has seq %d", s.id, i+1, e.GetSeq())
		}
	}
	if len(events) != int(last) {
		w.Fatalf("session %s has %d events, want %d", s.id, len(events), last)
	}
	w.sameEvents(s, "a watcher from the beginning", s.watcher.await(last), events)
	if after := rapid.Uint32Range(0, last).Draw(w.T, "cursor"); after < last {
		w.sameEvents(s, fmt.Sprintf("a watcher from %d", after), w.read(s.id, fmt.Sprint(after), last), events[after:])
	}
	return events
}

func (w *world) sameEvents(s *session, who string, got, want []*turnv1.Event) {
	if !slices.EqualFunc(got, want, func(a, b *turnv1.Event) bool { return proto.Equal(a, b) }) {
		w.Fatalf("session %s: %s saw\n%v\nwant\n%v", s.id, who, list(got), list(want))
	}
}

func list(events []*turnv1.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%d %s %s %s\n", e.GetSeq(), e.GetType(), e.GetTurnId(), e.GetStep())
	}
	return b.String()
}

// checkOrder has turns do their steps one turn after the other, in the model's order.
func (w *world) checkOrder(s *session, events []*turnv1.Event) {
	at := 0
	for _, e := range events {
		if e.GetStep() == "" {
			continue
		}
		for at < len(s.ran) && s.ran[at].id != e.GetTurnId() {
			at++
		}
		if at == len(s.ran) {
			w.Fatalf("session %s: turn %s did step %s out of turn", s.id, e.GetTurnId(), e.GetStep())
		}
	}
}

// checkTurn looks at the events, the calls, the usage and the conversation of one turn.
func (w *world) checkTurn(t *turn, events []*turnv1.Event) {
	now, err := w.user.turns.GetTurn(w.ctx(), &sessionsv1.GetTurnRequest{TurnId: t.id})
	w.need(err, "read a turn")
	if !proto.Equal(now, t.end) {
		w.Fatalf("turn %s ended as %v, and is %v now", t.id, t.end, now)
	}
	w.happened[enum.Name(t.end.GetStatus())+" by "+t.end.GetStopReason()]++
	w.checkEvents(t, events)
	w.checkCalls(t, events)
	w.checkUsage(t)
	w.checkHeard(t)
}

// checkEvents wants one beginning, one end with nothing behind it, each step and each call ended once, each wait answered once.
func (w *world) checkEvents(t *turn, events []*turnv1.Event) {
	count := map[string]int{}
	for _, e := range events {
		switch {
		case e.GetTurnQueued() != nil, e.GetTurnStarted() != nil, e.GetTurnEnded() != nil:
			count[e.GetType()]++
		case e.GetStepFinished() != nil:
			count["step "+e.GetStep()]++
		case e.GetMessageCompleted() != nil:
			count["message "+e.GetMessageCompleted().GetMessage().GetId()]++
		case e.GetToolCallCompleted() != nil:
			count["call "+e.GetToolCallCompleted().GetResult().GetCallId()]++
		case e.GetApprovalResolved() != nil:
			count["wait "+e.GetApprovalResolved().GetApprovalId()]++
		case e.GetTurnPaused() != nil:
			count["paused"]++
		case e.GetTurnResumed() != nil:
			count["resumed"]++
		}
	}
	for what, n := range count {
		if n != 1 && what != "paused" && what != "resumed" {
			w.Fatalf("turn %s: %d times %s\n%s", t.id, n, what, list(events))
		}
	}
	if len(events) == 0 || events[0].GetTurnQueued() == nil || events[len(events)-1].GetTurnEnded() == nil {
		w.Fatalf("turn %s does not begin and end as it should:\n%s", t.id, list(events))
	}
	// A limit may end a turn that waits for somebody.
	if d := count["paused"] - count["resumed"]; d != 0 && (d != 1 || t.end.GetStopReason() == "end") {
		w.Fatalf("turn %s: paused %d times more often than resumed\n%s", t.id, d, list(events))
	}
}

// outcome is what became of one call.
type outcome struct {
	id       string // the model's
	result   *turnv1.ToolCallCompleted
	statuses []string // of what it waited for, "kind status"
}

// outcomes finds what became of the turn's calls, by their own names.
func (w *world) outcomes(t *turn, events []*turnv1.Event) map[string]*outcome {
	byID, byName := map[string]*outcome{}, map[string]*outcome{}
	for _, e := range events {
		for _, c := range e.GetMessageCompleted().GetMessage().GetToolCalls() {
			o := &outcome{id: c.GetCallId()}
			byID[c.GetCallId()] = o
			for _, own := range t.calls {
				if own.asked(c) {
					if byName[own.n] != nil {
						w.Fatalf("turn %s: the model asked for %s twice\n%s", t.id, own.n, list(events))
					}
					byName[own.n] = o
				}
			}
		}
		if done := e.GetToolCallCompleted(); done != nil {
			byID[done.GetResult().GetCallId()].result = done
		}
	}
	list, err := w.user.approvals.ListApprovals(w.ctx(), &sessionsv1.ListApprovalsRequest{TurnId: t.id, PageSize: 1000})
	w.need(err, "list approvals")
	for _, a := range list.GetApprovals() {
		o := byID[a.GetCallId()]
		w.happened[enum.Name(a.GetKind())+" "+enum.Name(a.GetStatus())]++
		o.statuses = append(o.statuses, enum.Name(a.GetKind())+" "+enum.Name(a.GetStatus()))
	}
	return byName
}

// checkCalls holds what was done outside against what the turn says of it.
func (w *world) checkCalls(t *turn, events []*turnv1.Event) {
	outcomes := w.outcomes(t, events)
	for _, c := range t.calls {
		done, o := w.effects.of(c.n), outcomes[c.n]
		if o == nil {
			if done > 0 {
				w.Fatalf("turn %s: %s %s was run %d times, and no message asks for it", t.id, c.tool, c.n, done)
			}
			continue
		}
		if did, answered := w.client[c.n]; answered && o.result != nil && did != c.said(o) {
			w.Fatalf("turn %s: the client's answer to %s was %t, the model was told %v", t.id, c.n, did, o.result)
		}
		if child := w.childOf(t, c); child != nil && child.end.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED && o.result != nil &&
			t.end.GetStopReason() == "end" &&
			!strings.Contains(o.result.GetResult().String(), child.end.GetOutput()) {
			w.Fatalf("turn %s: its sub-agent answered %q, the model was told %v", t.id, child.end.GetOutput(), o.result)
		}
		if bad := c.wrong(o, done, t.end.GetStopReason() == "end"); bad != "" {
			w.Fatalf("turn %s: call %s (%s): %s: %d times, waits %v, result %v\n%s", t.id, c.n, c.tool, bad, done, o.statuses, o.result,
				list(events))
		}
	}
}

// said reports whether the call's result is that it was done.
func (c *call) said(o *outcome) bool {
	return o.result != nil && strings.Contains(o.result.GetResult().String(), "did "+c.n)
}

// wrong says what does not fit.
func (c *call) wrong(o *outcome, done int, ended bool) string {
	said := c.said(o)
	has := func(status string) bool { return slices.Contains(o.statuses, status) }
	for _, s := range o.statuses {
		if strings.HasSuffix(s, " pending") {
			return "it still waits"
		}
	}
	most := 1
	switch c.tool {
	case "read", "put":
		most = 1000
	case "doubt":
		for _, s := range o.statuses {
			if s == "resolution not_done" {
				most++
			}
		}
	}
	switch {
	case done > most:
		return "it ran too often"
	case ended && o.result == nil:
		return "it has no result"
	case said && done == 0 && c.tool != mine:
		return "it never ran"
	case c.tool == "risky" && done > 0 && !has("approval approved"):
		return "it ran without approval"
	case c.tool == "risky" && ended && done != 1 && has("approval approved"):
		return "it did not run though somebody gave leave"
	case c.tool == "ask" && done > 0 && !has("input answered") && !has("input declined") && !has("input expired") && !has("input cancelled"):
		return "it ran without an answer"
	case c.tool == mine && said && !has("client_tool answered"):
		return "nobody answered it"
	case (c.tool == "send" || c.tool == "read" || c.tool == "put") && ended && !said:
		return "its result is not known"
	}
	return ""
}

// checkUsage wants the turn's usage to be the sum of that of its steps.
func (w *world) checkUsage(t *turn) {
	got, err := w.exec.GetOutcomes(w.ctx(), &executionv1.GetOutcomesRequest{TurnId: t.id})
	w.need(err, "read outcomes")
	sum := &turnv1.Usage{}
	for _, o := range got.GetOutcomes() {
		u := o.GetUsage()
		sum.InputTokens += u.GetInputTokens()
		sum.OutputTokens += u.GetOutputTokens()
		sum.ToolCalls += u.GetToolCalls()
		if o.GetKind() == turnv1.StepKind_STEP_KIND_INFER {
			sum.ModelCalls += max(u.GetModelCalls(), 1)
		}
	}
	have := t.end.GetUsage()
	if have.GetInputTokens() != sum.GetInputTokens() || have.GetOutputTokens() != sum.GetOutputTokens() ||
		have.GetModelCalls() != sum.GetModelCalls() || have.GetToolCalls() != sum.GetToolCalls() {
		w.Fatalf("turn %s has used %v, its steps %v", t.id, have, sum)
	}
}

// checkHeard wants the model to have been shown all that was said before, in its order, and at its last step all that was said to the turn.
// That step may have been begun by several workers, and a frozen one may make its call late: one of the calls has to have shown all.
func (w *world) checkHeard(t *turn) {
	calls := w.heard.of(t.id)
	said := t.session.said(t)
	whole := append(slices.Clone(said), t.steers...)
	last, most := 0, 0
	for i, req := range calls {
		got := users(req.GetMessages())
		if len(got) < len(said) || len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
			w.Fatalf("turn %s: model call %d of %d was shown\n%q\nwant\n%q", t.id, i+1, len(calls), got, whole)
		}
		switch n := number(req.GetStep()); {
		case n > last:
			last, most = n, len(got)
		case n == last:
			most = max(most, len(got))
		}
	}
	if last > 0 && t.end.GetStopReason() == "end" && most != len(whole) {
		w.Fatalf("turn %s ended though the model was never shown %q", t.id, whole[most:])
	}
}

// number is that of a model step, "infer-3".
func number(step string) int {
	n, _ := stepkey.ParseInfer(step) // 0 of any other
	return n
}

// users are the texts of the user's messages.
func users(messages []*turnv1.Message) (out []string) {
	for _, m := range messages {
		if m.GetRole() == turnv1.Role_ROLE_USER {
			out = append(out, text(m))
		}
	}
	return out
}

func text(m *turnv1.Message) string {
	var b strings.Builder
	for _, p := range m.GetContent() {
		b.WriteString(p.GetText())
	}
	return b.String()
}
