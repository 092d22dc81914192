package property

import (
	"fmt"
	"slices"
	"strings"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// session is what the model knows of a session.
type session struct {
	id, agent string
	// before are the texts that its user has said when it begins: those of the session it was forked from.
	before []string
	// turns are in the order in which they were accepted, ran in that in which they became the active one.
	turns, ran []*turn
	watcher    *watcher
	// budget is the id of the session's budget, of maxCalls tool calls; "" when it has none.
	budget   string
	maxCalls int
	// parent is the turn that opened it, nil for a user's session.
	parent *turn
}

// turn is what the model knows of a turn.
type turn struct {
	id      string
	session *session
	input   string
	calls   []*call
	// steers are the inputs that it was given while it ran.
	steers    []string
	urgent    bool
	cancelled bool // somebody asked for its end, and was heard
	waiting   []string
	// end is the turn as it ended, nil before.
	end *sessionsv1.Turn
	// grown tells that all turns that it began are known.
	grown bool
}

// call is one tool call that some input asks for.
type call struct {
	n, tool string
	// child is what a sub-agent is asked for.
	child program
}

// kid is the agent that others call, delegate the call of it.
const (
	kid      = "reports"
	delegate = "delegate"
)

// mine is the tool that the client itself runs, for the turns that it says so of.
const mine = "mine"

// name is the name by which models know the tool.
func (c *call) name() string {
	switch c.tool {
	case mine:
		return "client__" + mine
	case delegate:
		return "agent__" + kid
	}
	return "x__" + c.tool
}

// text asks the scripted model for it.
func (c *call) text() string {
	if c.tool == delegate {
		return fmt.Sprintf(`call:%s {"message":%q}`, c.name(), c.child.text)
	}
	return fmt.Sprintf(`call:%s {"n":%q}`, c.name(), c.n)
}

// asked reports whether a call of the model's is this one.
func (c *call) asked(m *turnv1.ToolCall) bool {
	if c.tool == delegate {
		return m.GetTool() == c.name() && strings.Contains(m.GetArgumentsJson(), "say:"+c.n+`"`)
	}
	return m.GetTool() == c.name() && strings.Contains(m.GetArgumentsJson(), `"`+c.n+`"`)
}

// GoString names it in a failed sequence.
func (s *session) GoString() string { return s.id }

// GoString names it in a failed sequence.
func (t *turn) GoString() string { return t.id }

// active is the turn that must run now, nil when there is none.
func (s *session) active() *turn {
	if n := len(s.ran); n > 0 && s.ran[n-1].end == nil {
		return s.ran[n-1]
	}
	return nil
}

// promote makes the next turn the active one: the newest of the urgent ones, else the oldest.
func (s *session) promote() {
	if s.active() != nil {
		return
	}
	var next *turn
	for _, t := range s.turns {
		if t.end != nil || slices.Contains(s.ran, t) {
			continue
		}
		if next == nil || t.urgent {
			next = t
		}
	}
	if next != nil {
		s.ran = append(s.ran, next)
	}
}

// open counts the turns that are not over.
func (s *session) open() (n int) {
	for _, t := range s.turns {
		if t.end == nil {
			n++
		}
	}
	return n
}

// said are the texts that a model step of a turn must be shown, up to the turn's own input.
func (s *session) said(t *turn) []string {
	out := slices.Clone(s.before)
	for _, r := range s.ran {
		out = append(out, r.input)
		if r == t {
			return out
		}
		out = append(out, r.steers...)
	}
	return out
}

// program is some input for the scripted model, with the calls it asks for. Each call has a name of its own.
type program struct {
	text  string
	calls []*call
}

// build writes the input: stages of tools, and an answer.
func build(stages [][]string, name func() string) program {
	var p program
	var parts []string
	for _, tools := range stages {
		var stage []string
		for _, tool := range tools {
			c := &call{n: name(), tool: tool}
			if tool == delegate {
				inner := &call{n: name(), tool: "put"}
				c.child = program{text: inner.text() + " then say:" + c.n, calls: []*call{inner}}
			}
			p.calls = append(p.calls, c)
			stage = append(stage, c.text())
		}
		parts = append(parts, strings.Join(stage, " "))
	}
	p.text = strings.Join(append(parts, "say:"+name()), " then ")
	return p
}
