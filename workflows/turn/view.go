package turn

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// maxShown is how many steps the current details list.
const maxShown = 50

// describe shows the steps so far as the workflow's current details in the Temporal UI, as Markdown. It costs no history.
func (w *walk) describe() {
	lines := []string{fmt.Sprintf("Turn `%s` of session `%s`, agent `%s`\n", w.in.TurnID, w.in.SessionID, w.in.AgentID)}
	if parent := w.in.ParentTurnID; parent != "" {
		lines = append(lines, "Child of turn "+w.link(parent)+"\n")
	}
	first := max(0, len(w.outcomes)-maxShown)
	if first > 0 {
		lines = append(lines, fmt.Sprintf("(%d earlier steps)\n", first))
	}
	for i, o := range w.outcomes[first:] {
		line := fmt.Sprintf("%d. %s → %s", first+i+1, o.GetKey(), summary(o))
		if child := o.GetChildTurnId(); child != "" {
			line += ", child turn " + w.link(child)
		}
		lines = append(lines, line+w.outcomes.figures(o))
	}
	for _, key := range workflow.DeterministicKeys(w.running) {
		lines = append(lines, fmt.Sprintf("- %s …", key))
	}
	for _, wait := range w.outcomes.waits() {
		lines = append(lines, "- "+waitsFor(wait, true))
	}
	if w.signals.cancelled {
		lines = append(lines, "\nCancel requested.")
	}
	workflow.SetCurrentDetails(w.ctx, strings.Join(lines, "\n"))
}

func (w *walk) link(turnID string) string {
	return contract.WorkflowLink(workflow.GetInfo(w.ctx).Namespace, turnID)
}

// mark shows a step that ran without an activity of this workflow by a marker: its summary is all that it holds.
func mark(ctx workflow.Context, all outcomes, o *turnv1.StepOutcome) {
	text := all.title(o) + " → " + summary(o)
	if child := o.GetChildTurnId(); child != "" {
		text += ", child turn " + child
	}
	workflow.SideEffectWithOptions(ctx, workflow.SideEffectOptions{Summary: text + all.figures(o)}, func(workflow.Context) any {
		return o.GetKey()
	})
}

// figures says how long a step took, since when, and which attempt of which worker it was, as far as that is known: " (1.24s since
// 15:04:05.123, attempt 1 on wrk_1)". For a wait it says how long it lasted.
func (all outcomes) figures(o *turnv1.StepOutcome) string {
	end, begin := time.UnixMicro(o.GetCommittedMicros()), o.GetStartTime()
	switch {
	case o.GetCommittedMicros() == 0:
		return ""
	case begin != nil:
		return fmt.Sprintf(" (%s since %s, attempt %d on %s)", rounded(end.Sub(begin.AsTime())), begin.AsTime().UTC().Format("15:04:05.000"),
			o.GetAttempts(), o.GetWorker())
	case o.GetKind() == turnv1.StepKind_STEP_KIND_WAIT:
		for _, asked := range all {
			if at := asked.GetCommittedMicros(); at > 0 && asked.GetWait() != nil && stepkey.Wait(asked.GetKey()) == o.GetKey() {
				return fmt.Sprintf(" (after %s)", rounded(end.Sub(time.UnixMicro(at))))
			}
		}
	}
	return ""
}

// rounded is a duration with about three digits.
func rounded(d time.Duration) time.Duration {
	switch {
	case d < 100*time.Millisecond:
		return max(d, 0).Round(100 * time.Microsecond)
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// markContinued shows the steps of the runs before this one as one marker.
func markContinued(ctx workflow.Context, steps int) {
	workflow.SideEffectWithOptions(ctx, workflow.SideEffectOptions{Summary: fmt.Sprintf("goes on after %d steps", steps)},
		func(workflow.Context) any { return steps })
}

// numbered is a title that ends with the number of the step.
func numbered(o *turnv1.StepOutcome, words string) string {
	k, ok := stepkey.Parse(o.GetKey())
	if !ok {
		return o.GetKey()
	}
	return words + strconv.Itoa(k.N)
}

// summary describes a step's outcome in a few words, without content.
func summary(o *turnv1.StepOutcome) string {
	switch {
	case o.GetKind() == turnv1.StepKind_STEP_KIND_FINISH:
		return o.GetFinishReason()
	case o.GetError() != nil:
		return "error " + o.GetError().GetCode()
	case o.GetCancelled():
		return "cancelled"
	case o.GetSurface() != nil:
		s := o.GetSurface()
		return fmt.Sprintf("model %s, %d tools, revision %d", s.GetModel(), s.GetTools(), s.GetBlueprintRevision())
	case o.GetKind() == turnv1.StepKind_STEP_KIND_SELECT:
		return strings.ToLower(strings.TrimPrefix(o.GetStrategy().String(), "STRATEGY_"))
	case o.GetKind() == turnv1.StepKind_STEP_KIND_PLAN:
		return fmt.Sprintf("%d steps", len(o.GetPlan()))
	case o.GetKind() == turnv1.StepKind_STEP_KIND_COMPACT:
		return fmt.Sprintf("%d tokens left", o.GetContextTokens())
	case o.GetGaveUp():
		return "gave the plan step up"
	case o.GetKind() == turnv1.StepKind_STEP_KIND_STEER:
		return "accepted"
	case strings.HasPrefix(o.GetKey(), "pause-"):
		return "a child turn waits for people"
	case strings.HasPrefix(o.GetKey(), "resume-"):
		return "no child turn waits for people any more"
	case o.GetAnswer() != nil:
		return verdictName(o.GetAnswer().GetVerdict())
	case o.GetWait() != nil:
		return waitsFor(o.GetWait(), false)
	case o.GetKind() == turnv1.StepKind_STEP_KIND_TOOL && o.GetIsError():
		return "error result"
	case o.GetKind() == turnv1.StepKind_STEP_KIND_TOOL:
		return "done"
	case len(o.GetCalls()) > 0:
		names := make([]string, len(o.GetCalls()))
		for i, c := range o.GetCalls() {
			names[i] = c.GetTool()
		}
		return "calls " + strings.Join(names, ", ")
	default:
		return fmt.Sprintf("%s, %d tokens", o.GetFinishReason(), o.GetUsage().GetOutputTokens())
	}
}

// setStatus makes the turn's status searchable. The other attributes are set at the start of the workflow.
func setStatus(ctx workflow.Context, status string) error {
	key := temporal.NewSearchAttributeKeyKeyword(contract.AttributeStatus)
	return workflow.UpsertTypedSearchAttributes(ctx, key.ValueSet(status))
}
