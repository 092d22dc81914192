package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/ids"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
	"github.com/windlass-dev/windlass/workflows/turn/step/reacttext"
)

// Bounds of a plan: titles rest in workflow history, goals in a message.
const (
	maxPlanSteps = 10
	maxTitle     = 80  // characters
	maxGoal      = 600 // characters
)

// Planner asks the model for a plan. The plan becomes a message of the conversation; its outcome names the titles only.
type Planner struct{ Deps }

const planInstructions = contract.MarkPlan + `
Make a plan for the user's last message: the steps to take, in order, each with a goal that can be reached with a few tool calls or some
thought. Do not do anything yet and do not answer the message. Plan as few steps as are needed, ten at most. The steps are carried out one
after the other by an agent that sees the request, the plan and the results so far; the answer is written after the last step, so plan no
step for it.
Answer with one JSON object and nothing else: {"steps": [{"title": "a few words", "goal": "what to find out or do, in one sentence"}]}`

const replanInstructions = planInstructions + `
A plan was made before, and one of its steps failed. Plan only what is still to be done, in a way that can work. If nothing more can be done
the list of steps is empty.`

// Prepare implements step.Kind.
func (p Planner) Prepare(ctx context.Context, w *step.Work) (_ step.Action, err error) {
	w.Loaded, err = p.Pinned.Turn(ctx, w.Turn.TurnID)
	return planning{p.Deps, w}, err
}

// planning is one plan step.
type planning struct {
	Deps
	w *step.Work
}

// Do implements step.Action.
func (p planning) Do(ctx context.Context) (*step.Commit, error) {
	w := p.w
	if w.Cancelled {
		return p.GiveUp(nil), nil
	}
	before, instructions := w.Ref.GetPlan(), planInstructions
	if before != nil {
		instructions = replanInstructions
	}
	req, _, err := p.question(ctx, w, instructions)
	if err != nil {
		return nil, err
	}
	tainted := conversation.Tainted(req.GetMessages())
	req.Messages = conversation.Adopted(req.GetMessages(), w.Turn.TurnID)
	request := conversation.Query(req.GetMessages(), w.Turn.TurnID)
	req.Messages = planQuestion(req.GetMessages(), before, w.Turn.TurnID)
	var goals []goal
	read := func(text string) (err error) {
		goals, err = readPlan(text, before != nil)
		return err
	}
	used, err := p.answerJSON(ctx, w, req, contract.PlanRepairs, read)
	if model.TooLong(err) && !ofTurn(req, w.Turn.TurnID) { // plan without what was said before
		first := used
		used, err = p.answerJSON(ctx, w, req, contract.PlanRepairs-int(first.GetModelCalls()), read)
		model.AddTokens(used, first)
		used.ModelCalls++ // the call that was refused
	}
	switch {
	case errors.Is(err, errUnreadable) && before == nil:
		goals = []goal{{Title: "Answer the request", Goal: cmp.Or(brief(request, maxGoal), "Answer the request")}}
	case errors.Is(err, errUnreadable):
		goals = nil // what there is has to do
	case err != nil:
		return nil, err
	}
	found, err := p.checkGoals(ctx, goals)
	if err != nil {
		return nil, err
	}
	commit := p.written(goals, used, tainted)
	commit.Events = append(found, commit.GetEvents()...)
	return commit, nil
}

// planQuestion is what the planner reads: what was said, and how a plan before went.
func planQuestion(messages []*turnv1.Message, before *turnv1.PlanRef, turnID string) []*turnv1.Message {
	out := conversation.Dialogue(conversation.Asked(messages, turnID))
	if before == nil {
		return out
	}
	return append(out, reacttext.Text(turnv1.Role_ROLE_USER, planSoFar(messages, before)+"\n"+contract.PlanRest))
}

// written makes the commit of a plan. It is tainted if the planner has read what is not trusted.
func (p planning) written(goals []goal, used *turnv1.Usage, tainted bool) *step.Commit {
	w := p.w
	steps := clonedSteps(w.Ref.GetPlan())
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
	message.Id, message.SessionId, message.TurnId = cmp.Or(w.Lease.GetMessageId(), ids.New(ids.Message)), w.Turn.SessionID, w.Turn.TurnID
	message.Tainted = tainted
	message.Model = w.Attempts.Answered(w.Loaded.GetSurface().GetModel())
	outcome.MessageId = message.GetId()
	return &step.Commit{
		Outcome: outcome, Messages: []*turnv1.Message{message},
		Events: []*turnv1.Event{
			{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{
				Message: message, FinishReason: model.FinishStop, Usage: used,
			}}},
			planUpdated(message.GetId(), steps),
		},
	}
}

func planUpdated(messageID string, steps []*turnv1.PlanStep) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_PlanUpdated{PlanUpdated: &turnv1.PlanUpdated{MessageId: messageID, Steps: steps}}}
}

func clonedSteps(plan *turnv1.PlanRef) []*turnv1.PlanStep {
	return proto.CloneOf(cmp.Or(plan, &turnv1.PlanRef{})).GetSteps()
}

// planLine is how the plan's message writes a step, up to its goal.
func planLine(id uint32, title string) string { return fmt.Sprintf("%d. %s: ", id, title) }
