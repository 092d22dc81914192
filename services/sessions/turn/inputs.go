package turn

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// Inputs returns the outcomes of all input that a turn was given while it runs. A turn that was given none costs no query.
func Inputs(tx *journal.Tx, t store.Turn) ([]*turnv1.StepOutcome, error) {
	if t.Inputs == 0 {
		return nil, nil
	}
	steps, err := tx.StepsOf(tx.Context(), t.Tenant, t.ID, turnv1.StepKind_STEP_KIND_STEER)
	if err != nil {
		return nil, err
	}
	var out []*turnv1.StepOutcome
	for _, step := range steps {
		outcome, err := step.StepOutcome()
		if err != nil {
			return nil, err
		}
		out = append(out, outcome)
	}
	return out, nil
}

// MoveUnreadInput moves input that came while a model step ran, and that the model could not read, behind what the model said.
func MoveUnreadInput(tx *journal.Tx, t store.Turn, outcome *turnv1.StepOutcome) error {
	if outcome.GetInputs() >= t.Inputs {
		return nil
	}
	given, err := Inputs(tx, t)
	if err != nil {
		return err
	}
	read := map[string]bool{}
	for n := range int(outcome.GetInputs()) {
		read[stepkey.Steer(n+1)] = true
	}
	for _, o := range given {
		if read[o.GetKey()] {
			continue
		}
		if err := tx.MoveMessage(tx.Context(), t.Tenant, o.GetMessageId(), int64(tx.Session.LastSeq)); err != nil {
			return err
		}
	}
	return nil
}
