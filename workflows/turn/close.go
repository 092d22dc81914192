package turn

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/workflows/contract"
)

// record is the workflow of a turn that was over before it: its input shows the steps, and one marker names them.
func record(ctx workflow.Context, in contract.TurnInput) (contract.TurnResult, error) {
	if id := workflow.GetInfo(ctx).WorkflowExecution.ID; id != in.TurnID {
		return contract.TurnResult{}, foreign(id, in)
	}
	setDetails(ctx, in, in.Ended.Steps)
	workflow.SideEffectWithOptions(ctx, workflow.SideEffectOptions{Summary: titles(in.Ended.Steps)}, func(workflow.Context) any { return nil })
	return closing(in.Ended.TurnResult)
}

// titles names steps by their lines, as many as the timeline of the Temporal UI has room for.
func titles(lines []string) string {
	const room = 90
	var out []string
	for length := 0; len(out) < len(lines); {
		title, _, _ := strings.Cut(strings.TrimLeft(lines[len(out)], "0123456789. "), " → ")
		if length += len(title); length > room && len(out) > 0 {
			return fmt.Sprintf("%s, and %d more", strings.Join(out, ", "), len(lines)-len(out))
		}
		out = append(out, title)
	}
	return strings.Join(out, ", ")
}

// close closes the workflow as the turn ended.
func (w *walk) close() (contract.TurnResult, error) {
	r := w.outcomes.Result()
	if err := setStatus(w.ctx, r.Status); err != nil {
		return r, err
	}
	return closing(r)
}

// closing is what a workflow returns when its turn has ended. The details of a failure or cancellation are the result that it would have
// otherwise.
func closing(r contract.TurnResult) (contract.TurnResult, error) {
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
