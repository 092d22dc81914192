package linear

import "slices"

// Codes of refusals that depend on how a session stands.
const (
	turnActive   = "turn_active"
	turnEnded    = "turn_ended"
	rateLimited  = "rate_limited"
	precondition = "failed_precondition"
)

// session holds the rules of sessions.
type session struct{ maxQueued int }

// step returns the states after an operation, none when it cannot have had this answer.
func (r session) step(s sessionState, in Input, out Output) []sessionState {
	switch in.Kind {
	case Send, Born:
		return r.send(s, in, out)
	case Steer:
		return r.steer(s, in, out)
	case Cancel:
		return r.cancel(s, in, out)
	case ReadTurn:
		return r.read(s, in, out)
	case ReadSession:
		name := ""
		if i := s.active(); i >= 0 {
			name = s.turns[i].name
		}
		return only(s, out.Code == OK && out.Active == name)
	case Final:
		return only(s, out.Code == OK && s.cameTo(out.Final))
	}
	return nil
}

func only(s sessionState, possible bool) []sessionState {
	if possible {
		return []sessionState{s}
	}
	return nil
}

// send is a request for a new turn.
func (r session) send(s sessionState, in Input, out Output) []sessionState {
	before, again := s.madeBy(in.Key)
	i := s.active()
	full := i >= 0 && s.open() >= r.maxQueued
	steers := in.Mode == "steer" && i >= 0 && !s.turns[i].cancelled
	refused := in.Mode == "reject" && i >= 0
	switch out.Code {
	case OK:
		if again {
			return only(s, out.Turn == before.turn)
		}
		if steers {
			return only(s.given(in.Key, i), out.Turn == s.turns[i].name)
		}
		return only(s.accepted(in), !refused && !full && out.Turn == in.Key)
	case Unknown:
		switch {
		case again || refused || full && !steers:
			return []sessionState{s}
		case steers:
			return []sessionState{s, s.given(in.Key, i)}
		}
		return []sessionState{s, s.accepted(in)}
	case turnActive:
		return only(s, !again && refused)
	case rateLimited:
		return only(s, !again && !refused && !steers && full)
	}
	return nil
}

// accepted adds a turn, and asks for the end of the active one if the new one interrupts it.
func (s sessionState) accepted(in Input) sessionState {
	s = s.clone()
	if i := s.active(); i >= 0 && in.Mode == "interrupt" {
		s.turns[i].cancelled = true
	}
	s.turns = append(s.turns, turnState{name: in.Key, urgent: in.Mode == "interrupt"})
	s.made = append(s.made, madeState{key: in.Key, turn: in.Key})
	return s.promoted()
}

// given adds input to a turn.
func (s sessionState) given(key string, turn int) sessionState {
	s = s.clone()
	s.made = append(s.made, madeState{key: key, turn: s.turns[turn].name, input: true})
	return s
}

// steer is more input for a turn.
func (r session) steer(s sessionState, in Input, out Output) []sessionState {
	i := s.turn(in.Turn)
	if i < 0 {
		return nil
	}
	before, again := s.madeBy(in.Key)
	t := s.turns[i]
	takes := t.phase == active && !t.cancelled
	switch out.Code {
	case OK:
		if again {
			return only(s, before.turn == t.name)
		}
		if takes {
			return []sessionState{s.given(in.Key, i)}
		}
	case Unknown:
		if takes && !again {
			return []sessionState{s, s.given(in.Key, i)}
		}
		return []sessionState{s}
	case turnEnded:
		return only(s, !again && (t.phase == ended || t.cancelled))
	case precondition:
		return only(s, !again && t.phase == waiting)
	}
	return nil
}

// cancel asks for a turn's end. One that has not begun ends at once.
func (r session) cancel(s sessionState, in Input, out Output) []sessionState {
	i := s.turn(in.Turn)
	if i < 0 {
		return nil
	}
	if out.Code == turnEnded {
		return only(s, s.turns[i].phase == ended)
	}
	after := s.clone()
	after.turns[i].cancelled = true
	if s.turns[i].phase == waiting {
		after.turns[i].phase = ended
	}
	over := s.turns[i].phase == ended
	switch out.Code {
	case OK:
		return only(after, !over)
	case Unknown:
		if over {
			return []sessionState{s}
		}
		return []sessionState{s, after}
	}
	return nil
}

// read is a look at a turn: what it shows must be possible, and stays true.
func (r session) read(s sessionState, in Input, out Output) []sessionState {
	i := s.turn(in.Turn)
	if i < 0 || out.Code != OK {
		return nil
	}
	t := s.turns[i]
	switch out.Status {
	case "queued":
		return only(s, t.phase == waiting || t.phase == active && !t.started)
	case "running", "waiting":
		if t.phase != active {
			return nil
		}
		s = s.clone()
		s.turns[i].started = true
		return []sessionState{s}
	}
	if !t.endsAs(out.Status) {
		return nil
	}
	s = s.clone()
	s.turns[i].status = out.Status
	return []sessionState{s}
}

// endsAs reports whether a turn may have ended with a status.
func (t turnState) endsAs(status string) bool {
	switch {
	case t.phase != ended || t.status != "" && t.status != status:
		return false
	case t.cancelled:
		return status == "cancelled"
	}
	return status == "completed" || status == "failed"
}

// cameTo reports whether a session whose turns are over may be what is in its journal.
func (s sessionState) cameTo(f *Outcome) bool {
	if f == nil || s.active() >= 0 || len(f.Turns) != len(s.turns) {
		return false
	}
	for i, t := range s.turns {
		got := f.Turns[i]
		var inputs []string
		for _, m := range s.made {
			if m.input && m.turn == t.name {
				inputs = append(inputs, m.key)
			}
		}
		if got.Key != t.name || !t.endsAs(got.Status) || !slices.Equal(inputs, got.Steers) {
			return false
		}
	}
	return s.ranAs(f.Started)
}

// ranAs reports whether turns may have started in an order: as they became active, without those that were cancelled before their surface
// was pinned. A turn is running, and can be cancelled, from when a worker takes it, which is a little earlier.
func (s sessionState) ranAs(started []string) bool {
	for _, name := range s.ran {
		if len(started) > 0 && started[0] == name {
			started = started[1:]
			continue
		}
		if t := s.turns[s.turn(name)]; !t.cancelled {
			return false
		}
	}
	return len(started) == 0
}
