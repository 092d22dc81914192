package rerun

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// failedStep as from_step stands for the model step at which a turn failed.
const failedStep = "failed"

// failedAt is the number of the model step at which a failed turn is to be taken up.
func (s *Service) failedAt(ctx context.Context, t store.Turn) (uint32, error) {
	if t.Status != turnv1.TurnStatus_TURN_STATUS_FAILED {
		return 0, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "turn %s is %s, it has no failed step", t.ID,
			enum.Name(t.Status)).
			Hint("Name a model step, for example \"infer-2\", or leave from_step out.")
	}
	steps, err := s.deps.Store.Steps(ctx, t.Tenant, t.ID)
	if err != nil {
		return 0, err
	}
	n, err := failedIn(steps)
	return uint32(n), err
}

// failedIn finds the model step to repeat among the steps of a failed turn: the one that failed or did not come to its end; else
// the one that was to read the results of the last calls; else, when the turn failed with the whole answer at hand, the one that
// gave it.
func failedIn(steps []store.Step) (int, error) {
	next := 1
	for _, step := range steps {
		if step.Kind != turnv1.StepKind_STEP_KIND_INFER {
			continue
		}
		n, ok := stepkey.ParseInfer(step.Key)
		if !ok {
			return 0, fmt.Errorf("step %q is no model step", step.Key)
		}
		if !step.Done {
			return n, nil
		}
		outcome, err := step.StepOutcome()
		switch {
		case err != nil:
			return 0, err
		case outcome.GetError() != nil:
			return n, nil
		case len(outcome.GetCalls()) > 0:
			n++
		}
		next = max(next, n)
	}
	return next, nil
}
