package turn

import (
	"fmt"
	"regexp"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepview"
)

// maxShown is how many steps the current details list.
const maxShown = 50

// describe shows the steps so far as the workflow's current details in the Temporal UI. It costs no history.
func (w *walk) describe() {
	lines := w.outcomes.Lines(maxShown)
	for _, key := range workflow.DeterministicKeys(w.running) {
		lines = append(lines, fmt.Sprintf("- %s …", key))
	}
	for _, o := range w.outcomes.Waiting() {
		lines = append(lines, "- "+stepview.Wait(o.GetWait(), true))
	}
	if w.signals.cancelled {
		lines = append(lines, "\nCancel requested.")
	}
	setDetails(w.ctx, w.in, lines)
}

// setDetails shows lines as the workflow's current details, as Markdown with links to child turns and the parent.
func setDetails(ctx workflow.Context, in contract.TurnInput, lines []string) {
	namespace := workflow.GetInfo(ctx).Namespace
	head := fmt.Sprintf("Turn `%s` of session `%s`, agent `%s`\n\n", in.TurnID, in.SessionID, in.AgentID)
	if parent := in.ParentTurnID; parent != "" {
		head += "Child of turn " + contract.WorkflowLink(namespace, parent) + "\n\n"
	}
	text := childTurn.ReplaceAllString(strings.Join(lines, "\n"), "child turn "+contract.WorkflowLink(namespace, "$1"))
	workflow.SetCurrentDetails(ctx, head+text)
}

var childTurn = regexp.MustCompile(`child turn (trn_[\w-]+)`)

// mark shows a step that ran without an activity of this workflow by a marker: its summary is all that it holds.
func mark(ctx workflow.Context, all stepview.Outcomes, o *turnv1.StepOutcome) {
	workflow.SideEffectWithOptions(ctx, workflow.SideEffectOptions{Summary: all.Line(o)}, func(workflow.Context) any {
		return o.GetKey()
	})
}

// markContinued shows the steps of the runs before this one as one marker.
func markContinued(ctx workflow.Context, steps int) {
	workflow.SideEffectWithOptions(ctx, workflow.SideEffectOptions{Summary: fmt.Sprintf("goes on after %d steps", steps)},
		func(workflow.Context) any { return steps })
}

// setStatus makes the turn's status searchable. The other attributes are set at the start of the workflow.
func setStatus(ctx workflow.Context, status string) error {
	key := temporal.NewSearchAttributeKeyKeyword(contract.AttributeStatus)
	return workflow.UpsertTypedSearchAttributes(ctx, key.ValueSet(status))
}
