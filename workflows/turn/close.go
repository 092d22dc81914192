package turn

import (
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/workflows/contract"
)

// close closes the workflow as the turn ended. The details of a failure or cancellation are the result that it would have otherwise.
func (w *walk) close() (contract.TurnResult, error) {
	r := w.outcomes.result()
	if err := setStatus(w.ctx, r.Status); err != nil {
		return r, err
	}
	switch r.Status {
	case contract.StatusFailed:
		return r, temporal.NewApplicationErrorWithOptions("the turn failed: "+r.ErrorCode, r.ErrorCode, temporal.ApplicationErrorOptions{
			NonRetryable: true, Details: []any{r},
		})
	case contract.StatusCancelled:
		return r, temporal.NewCanceledError(r)
	}
	return r, nil
}
