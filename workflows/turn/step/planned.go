package step

import (
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/truncate"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// maxResult bounds what a later step reads of a result, in characters.
const maxResult = 8000

// planSoFar writes the plan and the results of its steps.
func planSoFar(messages []*turnv1.Message, plan *turnv1.PlanRef) string {
	lines := []string{"The plan:"}
	results := []string{"", contract.ResultsPrefix}
	for _, s := range plan.GetSteps() {
		state := strings.ToLower(strings.TrimPrefix(s.GetStatus().String(), "PLAN_STEP_STATUS_"))
		lines = append(lines, fmt.Sprintf("%d. %s (%s)", s.GetId(), s.GetTitle(), state))
		if s.GetMessageId() == "" {
			continue
		}
		text := "(not at hand any more)"
		if m := find(messages, s.GetMessageId()); m != nil {
			text = truncate.Chars(strings.TrimSpace(messageText(m)), maxResult)
		}
		results = append(results, fmt.Sprintf("%d. %s", s.GetId(), text))
	}
	if len(results) == 2 {
		results = nil
	}
	return strings.Join(append(lines, results...), "\n")
}

func find(messages []*turnv1.Message, id string) *turnv1.Message {
	i := slices.IndexFunc(messages, func(m *turnv1.Message) bool { return id != "" && m.GetId() == id })
	if i < 0 {
		return nil
	}
	return messages[i]
}

// goalOf reads a step's goal out of the plan's message; its title must do when that is not at hand any more.
func goalOf(messages []*turnv1.Message, planMessage string, step *turnv1.PlanStep) string {
	for line := range strings.Lines(messageText(find(messages, planMessage))) {
		if text, ok := strings.CutPrefix(line, planLine(step.GetId(), step.GetTitle())); ok {
			return strings.TrimSpace(text)
		}
	}
	return step.GetTitle()
}

// sincePart is what the turn has done since the current part of the plan began: all behind the plan and the results of other parts.
func sincePart(messages []*turnv1.Message, plan *turnv1.PlanRef, turnID string) []*turnv1.Message {
	ended := map[string]bool{plan.GetMessageId(): true}
	for _, s := range plan.GetSteps() {
		ended[s.GetMessageId()] = true
	}
	delete(ended, "")
	from := 0
	for i, m := range messages {
		if ended[m.GetId()] {
			from = i + 1
		}
	}
	return slices.DeleteFunc(slices.Clone(messages[from:]), func(m *turnv1.Message) bool {
		return m.GetTurnId() != turnID || m.GetRole() == turnv1.Role_ROLE_USER
	})
}

// planned adds to the commit of a model step what it means for the plan: a text without calls ends a step.
func (infer) planned(w *work, req *sessionsv1.CommitStepRequest) *sessionsv1.CommitStepRequest {
	plan, outcome := w.ref.GetPlan(), req.GetOutcome()
	whole := outcome.GetFinishReason() == finishStop || outcome.GetFinishReason() == finishToolCalls
	if plan.GetCurrent() == 0 || len(outcome.GetCalls()) > 0 || !whole || w.cancelled {
		return req
	}
	steps := clonedSteps(plan)
	step := steps[plan.GetCurrent()-1]
	step.MessageId, step.Status = outcome.GetMessageId(), turnv1.PlanStepStatus_PLAN_STEP_STATUS_COMPLETED
	for _, m := range req.GetMessages() {
		outcome.GaveUp = gaveUp(messageText(m))
	}
	switch {
	case outcome.GetGaveUp():
		step.Status = turnv1.PlanStepStatus_PLAN_STEP_STATUS_FAILED
	case int(plan.GetCurrent()) < len(steps):
		steps[plan.GetCurrent()].Status = turnv1.PlanStepStatus_PLAN_STEP_STATUS_RUNNING
	}
	req.Events = append(req.Events, planUpdated(plan.GetMessageId(), steps))
	return req
}

// gaveUp tells whether a model gives a step up. Decoration around the words does not matter, nor does their case.
func gaveUp(text string) bool {
	text = strings.ToUpper(strings.TrimLeft(text, " \t\r\n*#>_`\""))
	return strings.HasPrefix(text, strings.TrimSuffix(stepFailed, ":"))
}
