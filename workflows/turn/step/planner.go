package step

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/ids"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/reacttext"
)

// Bounds of a plan: titles rest in workflow history, goals in a message.
const (
	maxPlanSteps = 10
	maxTitle     = 80  // characters
	maxGoal      = 600 // characters
)

// planner asks the model for a plan. The plan becomes a message of the conversation; its outcome names the titles only.
type planner struct{ *Runner }

const planInstructions = contract.MarkPlan + `
Make a plan for the user's last message: the steps to take, in order, each with a goal that can be reached with a few tool calls or some
thought. Do not do anything yet and do not answer the message. Plan as few steps as are needed, ten at most. The steps are done one after
the other by an agent that sees the request, the plan and the results so far; the answer is written after the last step, so plan no step for it.
Answer with one JSON object and nothing else: {"steps": [{"title": "a few words", "goal": "what to find out or do, in one sentence"}]}`

const replanInstructions = planInstructions + `
A plan was made before, and one of its steps failed. Plan only what is still to be done, in a way that can work. If nothing more can be done
the list of steps is empty.`

func (p planner) prepare(ctx context.Context, w *work) error { return preparation(p).prepare(ctx, w) }

func (p planner) giveUp(w *work, why *turnv1.TurnError) *sessionsv1.CommitStepRequest {
	return preparation(p).giveUp(w, why)
}

// goal is one step as the model plans it.
type goal struct {
	Title string `json:"title"`
	Goal  string `json:"goal"`
}

func (p planner) do(ctx context.Context, w *work) (*sessionsv1.CommitStepRequest, error) {
	if w.cancelled {
		return p.giveUp(w, nil), nil
	}
	before, instructions := w.ref.GetPlan(), planInstructions
	if before != nil {
		instructions = replanInstructions
	}
	req, _, err := preparation(p).question(ctx, w, instructions)
	if err != nil {
		return nil, err
	}
	req.Messages = adopted(req.GetMessages(), w.turn.TurnID)
	request := query(req.GetMessages(), w.turn.TurnID)
	req.Messages = planQuestion(req.GetMessages(), before, w.turn.TurnID)
	var goals []goal
	read := func(text string) (err error) {
		goals, err = readPlan(text, before != nil)
		return err
	}
	used, err := preparation(p).answerJSON(ctx, req, contract.PlanRepairs, read)
	if tooLong(err) && !ofTurn(req, w.turn.TurnID) { // plan without what was said before
		first := used
		used, err = preparation(p).answerJSON(ctx, req, contract.PlanRepairs-int(first.GetModelCalls()), read)
		addCalls(used, first)
		used.ModelCalls++ // the call that was refused
	}
	switch {
	case errors.Is(err, errUnreadable) && before == nil:
		goals = []goal{{Title: "Answer the request", Goal: or(brief(request, maxGoal), "Answer the request")}}
	case errors.Is(err, errUnreadable):
		goals = nil // what there is has to do
	case err != nil:
		return nil, err
	}
	found, err := p.shieldGoals(ctx, w, goals)
	if err != nil {
		return nil, err
	}
	commit := p.written(w, goals, used)
	commit.Events = append(found, commit.GetEvents()...)
	return commit, nil
}

// planQuestion is what the planner reads: what was said, and how a plan before went.
func planQuestion(messages []*turnv1.Message, before *turnv1.PlanRef, turnID string) []*turnv1.Message {
	out := dialogue(asked(messages, turnID))
	if before == nil {
		return out
	}
	return append(out, reacttext.Text(turnv1.Role_ROLE_USER, planSoFar(messages, before)+"\n"+contract.PlanRest))
}

// readPlan reads the model's answer, which must be exactly what it was asked for. An empty plan is one only where that is allowed.
func readPlan(text string, emptyAllowed bool) ([]goal, error) {
	var answer struct {
		Steps []goal `json:"steps"`
	}
	if err := strictJSON(text, &answer); err != nil {
		return nil, err
	}
	switch n := len(answer.Steps); {
	case n > maxPlanSteps:
		return nil, fmt.Errorf("there are %d steps, more than %d", n, maxPlanSteps)
	case n == 0 && !(emptyAllowed && answer.Steps != nil):
		return nil, errors.New("there are no steps")
	}
	for i, g := range answer.Steps {
		g.Title, g.Goal = brief(g.Title, maxTitle), brief(g.Goal, maxGoal)
		if g.Title == "" && g.Goal == "" {
			return nil, fmt.Errorf("step %d says nothing", i+1)
		}
		answer.Steps[i] = goal{Title: or(g.Title, brief(g.Goal, maxTitle)), Goal: or(g.Goal, g.Title)}
	}
	return answer.Steps, nil
}

// written makes the commit of a plan.
func (p planner) written(w *work, goals []goal, used *turnv1.Usage) *sessionsv1.CommitStepRequest {
	steps := clonedSteps(w.ref.GetPlan())
	outcome := &turnv1.StepOutcome{Usage: used}
	lines := []string{"Plan:"}
	if len(steps) > 0 {
		lines = []string{"New plan for the rest:"}
	}
	for _, g := range goals {
		id := uint32(len(steps) + 1)
		lines = append(lines, planLine(id, g.Title)+g.Goal)
		outcome.Plan = append(outcome.Plan, g.Title)
		steps = append(steps, &turnv1.PlanStep{Id: id, Title: g.Title, Status: turnv1.PlanStepStatus_PLAN_STEP_STATUS_PENDING})
	}
	if len(goals) == 0 {
		lines = append(lines, "nothing more can be done.")
	} else {
		steps[len(steps)-len(goals)].Status = turnv1.PlanStepStatus_PLAN_STEP_STATUS_RUNNING
	}
	message := reacttext.Text(turnv1.Role_ROLE_ASSISTANT, strings.Join(lines, "\n"))
	message.Id, message.SessionId, message.TurnId = or(w.lease.GetMessageId(), ids.New(ids.Message)), w.turn.SessionID, w.turn.TurnID
	message.Model = w.loaded.GetSurface().GetModel()
	outcome.MessageId = message.GetId()
	return &sessionsv1.CommitStepRequest{
		Outcome: outcome, Messages: []*turnv1.Message{message},
		Events: []*turnv1.Event{
			{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: message, FinishReason: finishStop, Usage: used}}},
			planUpdated(message.GetId(), steps),
		},
	}
}

func planUpdated(messageID string, steps []*turnv1.PlanStep) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_PlanUpdated{PlanUpdated: &turnv1.PlanUpdated{MessageId: messageID, Steps: steps}}}
}

func clonedSteps(plan *turnv1.PlanRef) []*turnv1.PlanStep {
	return proto.CloneOf(or(plan, &turnv1.PlanRef{})).GetSteps()
}

// planLine is how the plan's message writes a step, up to its goal.
func planLine(id uint32, title string) string { return fmt.Sprintf("%d. %s: ", id, title) }

// planRequest turns a model call into work at a part of a plan: the model reads the request, the plan with the results so far, and
// what this part of the plan has done. What other parts did is in their results.
func planRequest(req *inferencev1.GenerateRequest, plan *turnv1.PlanRef, turnID string) {
	all := adopted(req.GetMessages(), turnID)
	messages := asked(all, turnID)
	if plan.GetCurrent() == 0 {
		req.Instructions = join(req.GetInstructions(), answerInstructions)
		text := "Every step of the plan has ended. Answer my request now, from these results.\n\n" + planSoFar(all, plan)
		req.Messages = append(dialogue(messages), reacttext.Text(turnv1.Role_ROLE_USER, text))
		return
	}
	req.Instructions = join(req.GetInstructions(), stepInstructions)
	step := plan.GetSteps()[plan.GetCurrent()-1]
	text := fmt.Sprintf("%s\n\nDo step %d now, and only that.\n%s%s", planSoFar(all, plan), step.GetId(), contract.GoalPrefix,
		goalOf(all, plan.GetMessageId(), step))
	messages = append(messages, reacttext.Text(turnv1.Role_ROLE_USER, text))
	req.Messages = append(messages, sincePart(all, plan, turnID)...)
}

const (
	stepInstructions = contract.MarkPlanStep + `
You work at one step of a plan. Use tools as you need them. When the step's goal is reached write its result: everything that later steps
and the final answer need, for they see nothing else of this step. If the goal cannot be reached, after you have tried, write
"` + stepFailed + `" and why.`
	answerInstructions = contract.MarkPlanAnswer + `
The steps of a plan are done. Answer the user's request from their results. Say openly what failed or is missing.`
	// stepFailed begins the text of a model that gives a step up.
	stepFailed = "STEP FAILED:"
)

func join(own, more string) string {
	if strings.TrimSpace(own) == "" {
		return more
	}
	return own + "\n\n" + more
}
