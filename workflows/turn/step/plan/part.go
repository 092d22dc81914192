package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/truncate"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
	"github.com/windlass-dev/windlass/workflows/turn/step/reacttext"
)

const (
	stepInstructions = contract.MarkPlanStep + `
You work at one step of a plan. Use tools as you need them. When the step's goal is reached write its result: everything that later steps
and the final answer need, for they see nothing else of this step. If the goal cannot be reached, after you have tried, write
"` + stepFailed + `" and why.`
	answerInstructions = contract.MarkPlanAnswer + `
The steps of a plan are done. Answer the user's request from their results. Say openly what failed or is missing.`
	// stepFailed is how a model begins the text that gives up a step.
	stepFailed = "STEP FAILED:"
)

// maxResult bounds what a later step reads of a result, in characters.
const maxResult = 8000

// Request turns a model call into work at a part of a plan: the model reads the request, the plan with the results so far, and
// what this part of the plan has done. What other parts did is in their results.
func Request(req *inferencev1.GenerateRequest, plan *turnv1.PlanRef, turnID string) {
	all := conversation.Adopted(req.GetMessages(), turnID)
	messages := conversation.Asked(all, turnID)
	if plan.GetCurrent() == 0 {
		req.Instructions = join(req.GetInstructions(), answerInstructions)
		text := "Every step of the plan has ended. Answer my request now, from these results.\n\n" + planSoFar(all, plan)
		req.Messages = append(conversation.Dialogue(messages), reacttext.Text(turnv1.Role_ROLE_USER, text))
		return
	}
	req.Instructions = join(req.GetInstructions(), stepInstructions)
	step := plan.GetSteps()[plan.GetCurrent()-1]
	text := fmt.Sprintf("%s\n\nDo step %d now, and only that.\n%s%s", planSoFar(all, plan), step.GetId(), contract.GoalPrefix,
		goalOf(all, plan.GetMessageId(), step))
	messages = append(messages, reacttext.Text(turnv1.Role_ROLE_USER, text))
	req.Messages = append(messages, sincePart(all, plan, turnID)...)
}

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
		if m := conversation.Find(messages, s.GetMessageId()); m != nil {
			text = truncate.Chars(strings.TrimSpace(conversation.Text(m)), maxResult)
		}
		results = append(results, fmt.Sprintf("%d. %s", s.GetId(), text))
	}
	if len(results) == 2 {
		results = nil
	}
	return strings.Join(append(lines, results...), "\n")
}

// goalOf reads a step's goal out of the plan's message; its title must do when that is not at hand any more.
func goalOf(messages []*turnv1.Message, planMessage string, step *turnv1.PlanStep) string {
	for line := range strings.Lines(conversation.Text(conversation.Find(messages, planMessage))) {
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

// Commit adds to the commit of a model step what it means for the plan: a text without calls ends a part of it.
func Commit(w *step.Work, req *step.Commit) *step.Commit {
	plan, outcome := w.Ref.GetPlan(), req.GetOutcome()
	whole := outcome.GetFinishReason() == model.FinishStop || outcome.GetFinishReason() == model.FinishToolCalls
	if plan.GetCurrent() == 0 || len(outcome.GetCalls()) > 0 || !whole || w.Cancelled {
		return req
	}
	steps := clonedSteps(plan)
	step := steps[plan.GetCurrent()-1]
	step.MessageId, step.Status = outcome.GetMessageId(), turnv1.PlanStepStatus_PLAN_STEP_STATUS_COMPLETED
	for _, m := range req.GetMessages() {
		outcome.GaveUp = gaveUp(conversation.Text(m))
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

// gaveUp reports whether a model gives up a step. Decoration around the words does not matter, nor does their case.
func gaveUp(text string) bool {
	text = strings.ToUpper(strings.TrimLeft(text, " \t\r\n*#>_`\""))
	return strings.HasPrefix(text, strings.TrimSuffix(stepFailed, ":"))
}

func join(own, more string) string {
	if strings.TrimSpace(own) == "" {
		return more
	}
	return own + "\n\n" + more
}
