package linear

// joinRepeats replaces accepted requests that repeat each other by one operation. The first of them that took effect did so
// between the earliest call and the earliest answer of them all, and the answers of the others do not depend on anything else, so
// an order exists for the one if and only if there is one for all. Each repeat that is left in doubles the orders to try. Turns
// must have names, and lost answers must be decided.
func joinRepeats(ops []Operation) []Operation {
	type request struct {
		in   Input
		turn string
	}
	var out []Operation
	at := map[request]int{}
	for _, op := range ops {
		repeatable := op.In.Kind == Send || op.In.Kind == Steer
		if op.Out.Code != OK || op.In.Key == "" || !repeatable {
			out = append(out, op)
			continue
		}
		r := request{op.In, op.Out.Turn}
		i, seen := at[r]
		if !seen {
			at[r] = len(out)
			out = append(out, op)
			continue
		}
		out[i].Call, out[i].Return = min(out[i].Call, op.Call), min(out[i].Return, op.Return)
	}
	return out
}
