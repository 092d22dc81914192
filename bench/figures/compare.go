package figures

import "slices"

// MaxLoss is how much worse a figure may be than the recorded one, beyond the noise of both.
const MaxLoss = 0.10

// Change is a figure beside the recorded one.
type Change struct {
	Figure
	// Recorded is the recorded value.
	Recorded float64
	// Ratio is the value divided by the recorded one.
	Ratio float64
	// Allowed is how much worse the figure may be, in parts of one.
	Allowed float64
}

// Worse reports whether the figure is worse than allowed.
func (c Change) Worse() bool {
	if c.More {
		return 1/c.Ratio > 1+c.Allowed
	}
	return c.Ratio > 1+c.Allowed
}

// Compare returns the figures that were recorded too, in their order.
func Compare(recorded, measured []Figure) []Change {
	var out []Change
	for _, now := range measured {
		i := slices.IndexFunc(recorded, func(f Figure) bool { return f.Row == now.Row && f.Name == now.Name })
		if i < 0 || recorded[i].Value <= 0 || now.Value <= 0 {
			continue
		}
		then := recorded[i]
		out = append(out, Change{
			Figure: now, Recorded: then.Value, Ratio: now.Value / then.Value, Allowed: MaxLoss + max(now.Noise, then.Noise),
		})
	}
	return out
}
