package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// approvalResolved is the code of a decision that came too late.
const approvalResolved = "approval_resolved"

// pending is the status of an approval that can be decided.
const pending = "pending"

// approvalState is one approval, or one call whose outcome must be resolved.
type approvalState struct {
	status string
	// by is the subject that decided it; "" if it ended by itself.
	by string
}

// verdicts are the statuses that choices lead to.
var verdicts = map[string]string{
	"approve": "approved", "deny": "denied",
	"done": "answered", "not_done": "not_done", "give_up": "given_up",
}

// approvalModel is one approval: the first decision stands, the subject that decided it may repeat it, everyone else gets "already
// resolved". It may end by itself: when it has expired, or with its turn.
func approvalModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{approvalState{status: pending}} },
		Step: func(state, in, out any) []any {
			var next []any
			for _, s := range state.(approvalState).byItself(out.(Output)) {
				next = append(next, stepApproval(s, in.(Input), out.(Output))...)
			}
			return next
		},
		DescribeOperation: func(in, out any) string {
			i, o := in.(Input), out.(Output)
			return fmt.Sprintf("%s %s %s late=%v -> %s %s early=%v", i.Subject, i.Kind, i.Choice, i.Late, o.Code, o.Status, o.Early)
		},
		DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
	}
	return m.ToModel()
}

// byItself returns the state and those that it may have reached without a decision before an answer was given.
func (s approvalState) byItself(out Output) []approvalState {
	if s.status != pending {
		return []approvalState{s}
	}
	all := []approvalState{s, {status: "void"}, {status: "cancelled"}}
	if !out.Early {
		all = append(all, approvalState{status: "expired"})
	}
	return all
}

func stepApproval(s approvalState, in Input, out Output) []any {
	if in.Kind == ReadApproval {
		if out.Code == OK && out.Status == s.status {
			return []any{s}
		}
		return nil
	}
	verdict := verdicts[in.Choice]
	// A call's outcome is the same whichever subject reports it; a decision is personal.
	again := s.status == verdict && (in.Kind == Resolve || s.by == in.Subject)
	takes := s.status == pending && !in.Late
	taken := approvalState{status: verdict, by: in.Subject}
	switch out.Code {
	case OK:
		switch {
		case out.Status != "" && out.Status != verdict:
			return nil
		case again:
			return []any{s}
		case takes:
			return []any{taken}
		}
		return nil
	case Unknown:
		if takes {
			return []any{s, taken}
		}
		return []any{s}
	case approvalResolved:
		// A call that was not done is made again; when it is lost again, it has a newer approval, and the answer may be about that one.
		newer := in.Kind == Resolve && s.status == verdicts["not_done"]
		if s.status != pending && (!again || newer) {
			return []any{s}
		}
	}
	return nil
}
