package convert

import (
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
)

// ComparedCalls converts the tool calls of two turns.
func ComparedCalls(calls []rerun.ComparedCall) []*sessionsv1.ComparedCall {
	var out []*sessionsv1.ComparedCall
	for _, c := range calls {
		out = append(out, &sessionsv1.ComparedCall{
			Tool: c.Tool, A: comparedSide(c.A), B: comparedSide(c.B), SameArguments: c.SameArguments, SameResult: c.SameResult,
		})
	}
	return out
}

func comparedSide(v *rerun.Side) *sessionsv1.ComparedSide {
	if v == nil {
		return nil
	}
	return &sessionsv1.ComparedSide{
		CallId: v.CallID, ArgumentsJson: v.Arguments, Result: v.Result, IsError: v.IsError, Open: v.Open, TakenOver: v.TakenOver,
		Recorded: v.Recorded,
	}
}
