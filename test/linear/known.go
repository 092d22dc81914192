package linear

// effects are what the sessions came to in the end, by which calls whose answers were lost can be told to have had an effect or none.
// Without that each of them doubles the orders to try.
type effects struct {
	settled map[string]bool // sessions of which the end is known
	// taken are the turns that keys made or gave input to, by session and key; statuses those of turns, by name.
	taken    map[[2]string]string
	statuses map[string]string
}

func effectsOf(ops []Operation, names turnsByID) effects {
	e := effects{settled: map[string]bool{}, taken: map[[2]string]string{}, statuses: map[string]string{}}
	for _, op := range ops {
		if op.Out.Final == nil {
			continue
		}
		op = names.rename(op)
		e.settled[op.In.Session] = true
		for _, t := range op.Out.Final.Turns {
			e.taken[[2]string{op.In.Session, t.Key}] = t.Key
			e.statuses[t.Key] = t.Status
			for _, key := range t.Steers {
				e.taken[[2]string{op.In.Session, key}] = t.Key
			}
		}
	}
	return e
}

// decide returns an operation of a session, whose turns have names, the answer that it would have had where that is known, and reports
// false for one that had no effect.
func (e effects) decide(op Operation) (Operation, bool) {
	if op.Out.Code != Unknown || !e.settled[op.In.Session] {
		return op, true
	}
	switch op.In.Kind {
	case Send, Steer:
		turn, ok := e.taken[[2]string{op.In.Session, op.In.Key}]
		if ok {
			op.Out.Code, op.Out.Turn = OK, turn
		}
		return op, ok
	case Cancel: // one that was accepted has the turn end as cancelled
		return op, e.statuses[op.In.Turn] == "cancelled"
	}
	return op, true
}
