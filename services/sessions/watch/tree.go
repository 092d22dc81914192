package watch

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TreeCursor is a reader's place in a session and in the turns of sub-agents that are under way there: "SEQ", then "~ID:SEQ" for each of
// them, ID being the turn's id without its prefix. Each place is as in Parse. A sub-agent is in it from its child.started on, until its
// child.completed was sent.
type TreeCursor struct {
	// Top is the place in the watched session; "" = from the beginning.
	Top string
	// Below are the places in the turns of sub-agents, by turn id.
	Below map[string]string
}

// turnPrefix begins the ids of turns.
const turnPrefix = "trn_"

// ParseTree reads a cursor. Whether its parts are cursors, and whose, is to be checked for each of them.
func ParseTree(text string) (TreeCursor, error) {
	parts := strings.Split(text, "~")
	c := TreeCursor{Top: parts[0], Below: map[string]string{}}
	for _, part := range parts[1:] {
		id, at, ok := strings.Cut(part, ":")
		if !ok || id == "" || at == "" || c.Below[turnPrefix+id] != "" {
			return c, ErrCursor
		}
		c.Below[turnPrefix+id] = at
	}
	return c, nil
}

// String writes the cursor.
func (c TreeCursor) String() string {
	var out strings.Builder
	out.WriteString(c.Top)
	for _, turn := range slices.Sorted(maps.Keys(c.Below)) {
		out.WriteString("~" + strings.TrimPrefix(turn, turnPrefix) + ":" + c.Below[turn])
	}
	return out.String()
}

// Member is a session to be watched, and where its reader stands.
type Member struct {
	Scope Scope
	At    Position
}

// Tree is a stream of a session or turn together with the turns of its sub-agents.
type Tree struct {
	// Top is what is watched; Below the sub-agents' turns that the reader's cursor names, by turn id.
	Top   Member
	Below map[string]Member
	// Find returns the scope of a sub-agent's turn that has just begun. It may wait until the turn is there.
	Find func(ctx context.Context, turn string) (Scope, error)
	// Cursor is where the reader stands.
	Cursor TreeCursor
}

// StreamTree is Stream for a family. The events of each session are sent as Stream sends them; those of different sessions as they happen,
// except that the child.completed of a sub-agent's turn comes after that turn's last event.
func (h *Hub) StreamTree(ctx context.Context, f Tree, send sender) error {
	ctx, cancel := context.WithCancel(ctx)
	r := &relatives{
		hub: h, find: f.Find, send: send, cursor: f.Cursor, told: make(chan news), over: make(chan end), held: map[string]news{},
	}
	if r.cursor.Below == nil {
		r.cursor.Below = map[string]string{}
	}
	defer r.all.Wait()
	defer cancel()
	r.follow(ctx, "", f.Top)
	for turn, m := range f.Below {
		r.follow(ctx, turn, m)
	}
	return r.run(ctx)
}

// news is an event of a member. The member waits until it is taken.
type news struct {
	from   string // the sub-agent's turn, "" for the top
	event  *turnv1.Event
	cursor string
	taken  chan error
}

type end struct {
	from string
	err  error
}

// relatives brings the members' streams together in one goroutine.
type relatives struct {
	hub    *Hub
	find   func(context.Context, string) (Scope, error)
	send   sender
	cursor TreeCursor
	told   chan news
	over   chan end
	// held are the child.completed of members that are not over, by turn.
	held map[string]news
	all  sync.WaitGroup
}

func (r *relatives) run(ctx context.Context) error {
	for {
		select {
		case n := <-r.told:
			if done := n.event.GetChildCompleted(); done != nil && r.cursor.Below[done.GetTurnId()] != "" && !r.ended(done.GetTurnId()) {
				r.held[done.GetTurnId()] = n
				continue
			}
			if err := r.take(ctx, n); err != nil {
				return err
			}
		case e := <-r.over:
			if e.from == "" || e.err != nil {
				return e.err
			}
			r.cursor.Below[e.from] = overMark
			if n, ok := r.held[e.from]; ok {
				delete(r.held, e.from)
				if err := r.take(ctx, n); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// overMark is the place of a turn whose last event was sent.
const overMark = "e"

func (r *relatives) ended(turn string) bool { return r.cursor.Below[turn] == overMark }

// take sends an event, and begins or stops to follow the sub-agent that it tells of.
func (r *relatives) take(ctx context.Context, n news) error {
	switch {
	case n.cursor == "":
	case n.from == "":
		r.cursor.Top = n.cursor
	default:
		r.cursor.Below[n.from] = n.cursor
	}
	if begun := n.event.GetChildStarted(); begun != nil && !begun.GetBackground() {
		r.cursor.Below[begun.GetTurnId()] = "0"
		r.follow(ctx, begun.GetTurnId(), Member{})
	}
	if done := n.event.GetChildCompleted(); done != nil {
		delete(r.cursor.Below, done.GetTurnId())
	}
	cursor := ""
	if n.cursor != "" {
		cursor = r.cursor.String()
	}
	err := r.send(n.event, cursor)
	n.taken <- err
	return err
}

// follow streams a member. One without a scope is looked for first.
func (r *relatives) follow(ctx context.Context, turn string, m Member) {
	r.all.Go(func() {
		err := r.stream(ctx, turn, m)
		select {
		case r.over <- end{turn, err}:
		case <-ctx.Done():
		}
	})
}

func (r *relatives) stream(ctx context.Context, turn string, m Member) error {
	if m.Scope.Session == "" {
		scope, err := r.find(ctx, turn)
		if err != nil {
			return err
		}
		m.Scope = scope
	}
	taken := make(chan error, 1)
	return r.hub.Stream(ctx, m.Scope, m.At, func(e *turnv1.Event, cursor string) error {
		select {
		case r.told <- news{turn, e, cursor, taken}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case err := <-taken:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// Over reports whether a place is behind the last event of a turn.
func Over(place string) bool { return place == overMark }
