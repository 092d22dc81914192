// Package show writes what happens in turns as text for people.
package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// eventWidth is the maximum length of texts in event lines, in characters.
const eventWidth = 160

// EventLine formats an event on one line: cursor, type, and what happened.
func EventLine(ev *turnv1.Event) string {
	cursor := fmt.Sprint(ev.GetSeq())
	if ev.GetDelta() > 0 {
		cursor += fmt.Sprintf(".%d", ev.GetDelta())
	}
	text := output.Short(eventText(ev), eventWidth)
	if path := ev.GetAgentPath(); len(path) > 1 {
		text = "[" + strings.Join(path[1:], "/") + "] " + text
	}
	return strings.TrimRight(fmt.Sprintf("%-6s  %-21s  %s", cursor, ev.GetType(), text), " ")
}

// eventText describes an event by its kind.
func eventText(ev *turnv1.Event) string {
	switch d := ev.GetData().(type) {
	case *turnv1.Event_TurnQueued:
		return Parts(d.TurnQueued.GetInput())
	case *turnv1.Event_TurnStarted:
		return fmt.Sprintf("agent %s, model %s, %d tools", d.TurnStarted.GetAgentId(), d.TurnStarted.GetModel(), len(d.TurnStarted.GetTools()))
	case *turnv1.Event_TurnEnded:
		if e := d.TurnEnded.GetError(); e != nil {
			return e.GetCode() + ": " + e.GetMessage()
		}
		if l := d.TurnEnded.GetLimitReached(); l != nil {
			return fmt.Sprintf("%s (%s %s %d): %s", d.TurnEnded.GetStopReason(), l.GetCode(), l.GetLimit(), l.GetValue(), d.TurnEnded.GetOutput())
		}
		return d.TurnEnded.GetStopReason() + ": " + d.TurnEnded.GetOutput()
	case *turnv1.Event_TurnRecovered:
		return "another worker goes on with " + ev.GetStep()
	case *turnv1.Event_TurnCancelRequested:
		return d.TurnCancelRequested.GetReason()
	case *turnv1.Event_SessionForked:
		return forkText(d.SessionForked)
	case *turnv1.Event_TurnRerun:
		return fmt.Sprintf("of %s from infer-%d, %s tools", d.TurnRerun.GetOfTurn(), d.TurnRerun.GetFromStep(), d.TurnRerun.GetTools())
	case *turnv1.Event_StrategySelected:
		return enum.Name(d.StrategySelected.GetStrategy()) + " " + d.StrategySelected.GetReason()
	case *turnv1.Event_ExecutorAttached:
		return d.ExecutorAttached.GetKind() + ", its session " + d.ExecutorAttached.GetExecutorSessionId()
	case *turnv1.Event_PlanUpdated:
		return planText(d.PlanUpdated)
	case *turnv1.Event_ChildStarted:
		return fmt.Sprintf("agent %s works in turn %s", d.ChildStarted.GetAgentId(), d.ChildStarted.GetTurnId())
	case *turnv1.Event_ChildCompleted:
		return fmt.Sprintf("agent %s, turn %s: %s (%s)", d.ChildCompleted.GetAgentId(), d.ChildCompleted.GetTurnId(),
			enum.Name(d.ChildCompleted.GetStatus()), d.ChildCompleted.GetStopReason())
	case *turnv1.Event_StepStarted:
		return d.StepStarted.GetTitle()
	case *turnv1.Event_StepFinished:
		return stepText(ev.GetStep(), d.StepFinished)
	case *turnv1.Event_UsageUpdated:
		u := d.UsageUpdated.GetUsage()
		return fmt.Sprintf("%d tokens in, %d out", u.GetInputTokens(), u.GetOutputTokens())
	case *turnv1.Event_BudgetWarning, *turnv1.Event_BudgetExhausted:
		return budgetText(ev)
	case *turnv1.Event_PolicyDecided:
		return fmt.Sprintf("%s allowed: %s (%s)", d.PolicyDecided.GetTool(), output.YesNo(d.PolicyDecided.GetAllowed()),
			d.PolicyDecided.GetReason())
	case *turnv1.Event_ShieldTriggered:
		s := d.ShieldTriggered
		text := fmt.Sprintf("%s, %s: %s (%s)", s.GetShield(), s.GetStage(), s.GetAction(), strings.Join(s.GetCategories(), ", "))
		if s.GetReason() != "" {
			text += ": " + s.GetReason()
		}
		return text
	default:
		if text := waitText(ev); text != "" {
			return text
		}
		return eventDetail(ev)
	}
}

// planText lists the steps of a plan and their status.
func planText(plan *turnv1.PlanUpdated) string {
	steps := make([]string, len(plan.GetSteps()))
	for i, s := range plan.GetSteps() {
		steps[i] = fmt.Sprintf("%d. %s (%s)", s.GetId(), s.GetTitle(), enum.Name(s.GetStatus()))
	}
	return strings.Join(steps, ", ")
}

// eventDetail is eventText for messages and tool calls.
func eventDetail(ev *turnv1.Event) string {
	switch d := ev.GetData().(type) {
	case *turnv1.Event_ContextCompacted:
		c := d.ContextCompacted
		return fmt.Sprintf("%d messages, %d → %d tokens: %s", c.GetMessages(), c.GetTokensBefore(), c.GetTokensAfter(), c.GetSummary())
	case *turnv1.Event_ArtifactCreated:
		a := d.ArtifactCreated
		return fmt.Sprintf("%s %s, %d bytes of %s", a.GetArtifactId(), a.GetName(), a.GetSize(), a.GetMediaType())
	case *turnv1.Event_MessageStarted:
		return "asking " + d.MessageStarted.GetModel()
	case *turnv1.Event_MessageReset:
		return d.MessageReset.GetReason()
	case *turnv1.Event_MessageCompleted:
		return strings.Join(append([]string{Message(d.MessageCompleted.GetMessage())}, d.MessageCompleted.GetWarnings()...), "; warning: ")
	case *turnv1.Event_MessageDelta:
		return d.MessageDelta.GetText()
	case *turnv1.Event_ReasoningDelta:
		return d.ReasoningDelta.GetText()
	case *turnv1.Event_ToolCallArgumentsDelta:
		return d.ToolCallArgumentsDelta.GetTool() + d.ToolCallArgumentsDelta.GetText()
	case *turnv1.Event_ToolCallStarted:
		return d.ToolCallStarted.GetTool() + " " + arguments(d.ToolCallStarted)
	case *turnv1.Event_ToolCallExecuting:
		return d.ToolCallExecuting.GetExecutionId()
	case *turnv1.Event_ToolCallCompleted:
		return d.ToolCallCompleted.GetResult().GetTool() + " " + resultText(d.ToolCallCompleted)
	case *turnv1.Event_ToolCallUnresolved:
		return d.ToolCallUnresolved.GetTool() + ": " + unresolvedText(d.ToolCallUnresolved)
	case *turnv1.Event_ToolCallProgress:
		return fmt.Sprintf("%g of %g %s", d.ToolCallProgress.GetProgress(), d.ToolCallProgress.GetTotal(), d.ToolCallProgress.GetMessage())
	default:
		return ""
	}
}

// unresolvedText describes what happens to a call whose outcome is unknown.
func unresolvedText(u *turnv1.ToolCallUnresolved) string {
	if id := u.GetApprovalId(); id != "" {
		return "the outcome of the call is unknown; " + id + " waits for a person to resolve it"
	}
	return "the outcome of the call is unknown; it is not repeated"
}

// arguments formats a call's arguments as JSON on one line.
func arguments(s *turnv1.ToolCallStarted) string {
	if s.GetArguments() == nil {
		return "(arguments are no valid JSON)"
	}
	return string(canon.StructJSON(s.GetArguments()))
}

// duration formats milliseconds for people.
func duration[T int32 | int64](ms T) string {
	switch d := time.Duration(ms) * time.Millisecond; {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

// resultText describes how a call ended and its result.
func resultText(c *turnv1.ToolCallCompleted) string {
	how := "→ "
	if c.GetResult().GetIsError() {
		how = "✗ "
		if c.GetCode() != "" {
			how += c.GetCode() + ": "
		}
	}
	end := " (" + duration(c.GetLatencyMs()) + ")"
	switch {
	case c.GetRecorded():
		end = " (recorded)"
	case c.GetCached():
		end = " (cached)"
	}
	return how + output.Short(Parts(c.GetResult().GetContent()), eventWidth-40) + end
}

// stepText says how a step ended: its error, or the attempts of its model calls if there were several.
func stepText(step string, f *turnv1.StepFinished) string {
	how := f.GetError().GetMessage()
	if made := f.GetModelAttempts(); how == "" && len(made) > 1 {
		parts := make([]string, len(made))
		for i, a := range made {
			parts[i] = a.GetModel() + " " + enum.Name(a.GetClass())
		}
		how = strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s, %s %s", step, duration(f.GetDurationMs()), how)
}

// forkText says where the messages of a session come from.
func forkText(f *turnv1.SessionForked) string {
	if f.GetFromSession() == "" {
		return fmt.Sprintf("imported: %d messages", f.GetMessages())
	}
	return fmt.Sprintf("from %s, seq %d: %d messages", f.GetFromSession(), f.GetFromSeq(), f.GetMessages())
}
