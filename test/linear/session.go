package linear

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// phase is the progress of a turn, which never goes backwards.
type phase uint8

const (
	waiting phase = iota // behind the active turn
	active
	ended
)

// turnState is one turn of a session. status is what it was seen to end with.
type turnState struct {
	name                       string
	phase                      phase
	started, cancelled, urgent bool
	status                     string
}

// madeState is what a key made: a turn, or input of a turn.
type madeState struct {
	key, turn string
	input     bool
}

// sessionState is a session. It is never changed, only copied. text stands for all of it.
type sessionState struct {
	turns []turnState // in the order in which they were accepted
	ran   []string    // in the order in which they became active
	made  []madeState
	text  string
}

// sessionModel is one session: turns run one after the other, the newest interrupting one first, then in the order of acceptance; each
// accepted turn ends once; an accepted cancel ends it as cancelled; only the active turn accepts more input.
//
// The moment at which a turn ends is not observed, so each operation may find it running or over; what was once seen of it stays true.
func sessionModel(maxQueued int) porcupine.Model {
	rules := session{maxQueued: maxQueued}
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{sessionState{}.sealed()} },
		Step: func(state, in, out any) []any {
			var next []any
			for _, s := range state.(sessionState).ends() {
				for _, after := range rules.step(s, in.(Input), out.(Output)) {
					next = append(next, after.sealed())
				}
			}
			return next
		},
		Equal: func(a, b any) bool { return a.(sessionState).text == b.(sessionState).text },
		Hash: func(state any) uint64 {
			h := fnv.New64a()
			_, _ = h.Write([]byte(state.(sessionState).text)) // a hash takes everything
			return h.Sum64()
		},
		DescribeOperation: func(in, out any) string { return describeSession(in.(Input), out.(Output)) },
		DescribeState:     func(state any) string { return state.(sessionState).text },
	}
	return m.ToModel()
}

func describeSession(in Input, out Output) string {
	what := strings.Join(slices.DeleteFunc([]string{in.Mode, in.Key, in.Turn}, func(s string) bool { return s == "" }), " ")
	answer := strings.Join(slices.DeleteFunc([]string{out.Code, out.Turn, out.Status, out.Active}, func(s string) bool { return s == "" }),
		" ")
	if out.Final != nil {
		answer = fmt.Sprintf("%+v", *out.Final)
	}
	return fmt.Sprintf("%s %s -> %s", in.Kind, what, answer)
}

// sealed writes the text that stands for the state.
func (s sessionState) sealed() sessionState {
	var b strings.Builder
	for _, t := range s.turns {
		b.WriteString(t.name)
		b.WriteByte('0' + byte(t.phase))
		for _, is := range []bool{t.started, t.cancelled, t.urgent} {
			if is {
				b.WriteByte('+')
			} else {
				b.WriteByte('-')
			}
		}
		b.WriteString(t.status + ",")
	}
	b.WriteString(";" + strings.Join(s.ran, ",") + ";")
	for _, m := range s.made {
		b.WriteString(m.key + ">" + m.turn)
		if m.input {
			b.WriteByte('i')
		}
		b.WriteByte(',')
	}
	s.text = b.String()
	return s
}

func (s sessionState) clone() sessionState {
	return sessionState{turns: slices.Clone(s.turns), ran: slices.Clone(s.ran), made: slices.Clone(s.made)}
}

// turn returns the index of a turn, -1 when there is none of this name.
func (s sessionState) turn(name string) int {
	return slices.IndexFunc(s.turns, func(t turnState) bool { return t.name == name })
}

// active returns the index of the active turn, -1 when there is none.
func (s sessionState) active() int {
	return slices.IndexFunc(s.turns, func(t turnState) bool { return t.phase == active })
}

// open counts the turns that have not ended.
func (s sessionState) open() (n int) {
	for _, t := range s.turns {
		if t.phase != ended {
			n++
		}
	}
	return n
}

// madeBy finds what a key made.
func (s sessionState) madeBy(key string) (madeState, bool) {
	i := slices.IndexFunc(s.made, func(m madeState) bool { return m.key == key })
	if i < 0 {
		return madeState{}, false
	}
	return s.made[i], true
}

// ends returns the state, and those that it may come to by turns that end.
func (s sessionState) ends() []sessionState {
	all := []sessionState{s}
	for i := s.active(); i >= 0; i = s.active() {
		s = s.clone()
		s.turns[i].phase = ended
		s = s.promoted()
		all = append(all, s)
	}
	return all
}

// promoted makes the next turn active if none is: the newest urgent one, else the oldest. The state is the caller's own.
func (s sessionState) promoted() sessionState {
	if s.active() >= 0 {
		return s
	}
	next := -1
	for i, t := range s.turns {
		if t.phase == waiting && (next < 0 || t.urgent) {
			next = i
		}
	}
	if next >= 0 {
		s.turns[next].phase = active
		s.ran = append(s.ran, s.turns[next].name)
	}
	return s
}
