package property

import (
	"slices"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// discover adds the sessions of sub-agents that turns have started, and reports whether there are new ones.
func (w *world) discover() bool {
	known := len(w.sessions)
	for _, s := range w.sessions {
		if s.agent != "boss" {
			continue
		}
		for _, t := range s.turns {
			if t.end == nil || !t.grown {
				w.grow(t)
			}
		}
	}
	return len(w.sessions) > known
}

// grow adds the sessions started by one turn.
func (w *world) grow(t *turn) {
	t.grown = t.end != nil
	tree, err := w.user.turns.GetTurnTree(w.ctx(), &sessionsv1.GetTurnTreeRequest{TurnId: t.id})
	w.need(err, "read a tree")
	for _, node := range tree.GetChildren() {
		got := node.GetTurn()
		if slices.ContainsFunc(w.sessions, func(s *session) bool { return s.id == got.GetSessionId() }) {
			continue
		}
		i := slices.IndexFunc(t.calls, func(c *call) bool { return c.tool == delegate && c.child.text == got.GetInput() })
		if i < 0 {
			w.Fatalf("turn %s began %s with the input %q, which nobody asked for", t.id, got.GetId(), got.GetInput())
		}
		s := &session{id: got.GetSessionId(), agent: kid, parent: t}
		s.turns = []*turn{{id: got.GetId(), session: s, input: got.GetInput(), calls: t.calls[i].child.calls}}
		w.add(s)
		w.happened["turns of sub-agents"]++
	}
	if begun := len(tree.GetChildren()); begun > t.delegations() {
		w.Fatalf("turn %s began %d turns, %d were asked for", t.id, begun, t.delegations())
	}
}

// delegations counts the calls of other agents that the turn's input asks for.
func (t *turn) delegations() (n int) {
	for _, c := range t.calls {
		if c.tool == delegate {
			n++
		}
	}
	return n
}

// childOf returns the turn started by a call, nil if there is none.
func (w *world) childOf(t *turn, c *call) *turn {
	for _, s := range w.sessions {
		if s.parent == t && c.tool == delegate && s.turns[0].input == c.child.text {
			return s.turns[0]
		}
	}
	return nil
}
