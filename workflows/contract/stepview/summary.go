package stepview

import (
	"fmt"
	"strings"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Summary describes a step's outcome in a few words, without content.
func Summary(o *turnv1.StepOutcome) string {
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
		return Wait(o.GetWait(), false)
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

// Wait describes what a call waits for, and until when if that is asked for.
func Wait(wait *turnv1.WaitRef, until bool) string {
	text := "waits for " + waitNames[wait.GetKind()] + " " + wait.GetId()
	if at := wait.GetExpireMicros(); until && at > 0 {
		text += " until " + time.UnixMicro(at).UTC().Format(time.RFC3339)
	}
	return text
}

var waitNames = map[turnv1.WaitKind]string{
	turnv1.WaitKind_WAIT_KIND_APPROVAL:      "approval",
	turnv1.WaitKind_WAIT_KIND_INPUT:         "input",
	turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:   "the client's result",
	turnv1.WaitKind_WAIT_KIND_RESOLUTION:    "resolution",
	turnv1.WaitKind_WAIT_KIND_CHILD:         "a child turn",
	turnv1.WaitKind_WAIT_KIND_AUTHORIZATION: "authorization",
}

func verdictName(v turnv1.Verdict) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(v.String(), "VERDICT_")), "_", " ")
}
