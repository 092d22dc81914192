package turn

import (
	"errors"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Fault translates the errors about a turn that does not exist, or that another worker changed; other errors pass.
func Fault(err error, turn string) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return access.NoTurn(turn)
	case errors.Is(err, store.ErrNotNew):
		return fault.Conflict("a step of turn %s was claimed meanwhile", turn)
	}
	return err
}

// LeaseLost is the error of a worker whose lease on a step has passed to another worker.
func LeaseLost(turn, step string) error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_LEASE_LOST, "the lease of step %q of turn %s is another's or over", step, turn).
		Hint("Drop what was done; the worker that holds the lease goes on.")
}

// HeldStep reads a step of a turn whose session is locked if the fence is its newest. A lease that has expired still counts as
// long as no other worker has taken it over.
func HeldStep(tx *journal.Tx, t store.Turn, key string, fence uint32) (store.Step, error) {
	step, err := tx.Step(tx.Context(), t.Tenant, t.ID, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && (step.Fence != fence || !step.Done && (step.Owner == "" || t.Ended())) {
		err = LeaseLost(t.ID, key)
	}
	return step, err
}
