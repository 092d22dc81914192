package engine

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// maxReplans bounds how often the rest of a plan is planned again after a step that failed. If a step fails after that, the turn answers
// with what it has.
const maxReplans = 1

// strategy is that of the turn: its surface's, or the one that the select step chose.
func (t record) strategy() turnv1.Strategy {
	if s := t.surface().GetStrategy(); s != turnv1.Strategy_STRATEGY_AUTO {
		return s
	}
	return t.byKey[stepkey.Select].GetStrategy()
}

// selecting reports whether the strategy is still to be chosen.
func (t record) selecting() bool {
	return t.surface().GetStrategy() == turnv1.Strategy_STRATEGY_AUTO && t.byKey[stepkey.Select] == nil
}

// planned is a turn whose strategy is to plan first.
type planned struct{ record }

// progress is how far a planned turn has come.
type progress struct {
	// write is the number of the plan that is to be written now, 0 for none.
	write int
	// steps are all steps so far, done ones first.
	steps []*turnv1.PlanStep
	// message holds the newest plan.
	message string
	// current is the step to work on, from 1; 0 when the answer is due.
	current int
	// answered means that the turn has its answer.
	answered bool
}

// progress follows the plan. A step of a plan ends with the first model step that calls no tool.
func (t planned) progress() progress {
	p, plans, ended := t.resumed() // plans used so far, steps of them that have ended
	if plans == 0 && !p.take(t, &plans, 0) {
		return p
	}
	for _, o := range t.infers {
		switch {
		case tooLong(o):
			continue
		case ended == len(p.steps):
			p.answered = true
			return p
		case len(o.GetCalls()) > 0:
			continue
		}
		step := p.steps[ended]
		step.Status, step.MessageId = turnv1.PlanStepStatus_PLAN_STEP_STATUS_COMPLETED, o.GetMessageId()
		ended++
		if !o.GetGaveUp() {
			continue
		}
		step.Status = turnv1.PlanStepStatus_PLAN_STEP_STATUS_FAILED
		p.steps = p.steps[:ended]
		if plans <= maxReplans && !p.take(t, &plans, ended) {
			return p
		}
	}
	if ended < len(p.steps) {
		p.current = ended + 1
		p.steps[ended].Status = turnv1.PlanStepStatus_PLAN_STEP_STATUS_RUNNING
	}
	return p
}

// resumed is where a planned turn begins: with nothing, or in the middle of the plan of the turn that it reruns.
func (t planned) resumed() (p progress, plans, ended int) {
	plan := t.surface().GetResumedPlan()
	if plan == nil {
		return p, 0, 0
	}
	p.message = plan.GetMessageId()
	for _, step := range plan.GetSteps() {
		p.steps = append(p.steps, proto.CloneOf(step))
		if s := step.GetStatus(); s == turnv1.PlanStepStatus_PLAN_STEP_STATUS_COMPLETED || s == turnv1.PlanStepStatus_PLAN_STEP_STATUS_FAILED {
			ended++
		}
	}
	return p, max(int(t.surface().GetResumedPlans()), 1), ended
}

// take adds the steps of the next plan after those that have ended. It reports whether there is such a plan yet.
func (p *progress) take(t planned, plans *int, ended int) bool {
	o := t.byKey[stepkey.Plan(*plans+1)]
	if o == nil {
		p.write = *plans + 1
		return false
	}
	*plans++
	p.message = o.GetMessageId()
	p.steps = p.steps[:ended]
	for i, title := range o.GetPlan() {
		p.steps = append(p.steps, &turnv1.PlanStep{
			Id: uint32(ended + i + 1), Title: title, Status: turnv1.PlanStepStatus_PLAN_STEP_STATUS_PENDING,
		})
	}
	return true
}

func (p progress) ref() *turnv1.PlanRef {
	return &turnv1.PlanRef{MessageId: p.message, Steps: p.steps, Current: uint32(p.current)}
}

// next returns the step that follows when no tool is to be run.
func (t planned) next() *turnv1.StepRef {
	p := t.progress()
	if p.write > 0 {
		ref := &turnv1.StepRef{Key: stepkey.Plan(p.write), Kind: turnv1.StepKind_STEP_KIND_PLAN, Title: "plan"}
		if p.write > 1 {
			ref.Title, ref.Plan = "plan again", p.ref()
		}
		return ref
	}
	ref := t.inferRef()
	ref.Plan = p.ref()
	if p.current > 0 {
		ref.Title += fmt.Sprintf(" (plan step %d)", p.current)
	} else {
		ref.Title += " (answer)"
	}
	return ref
}

// complete reports whether the newest model step holds the answer of the turn.
func (t record) complete() bool {
	switch t.strategy() {
	case turnv1.Strategy_STRATEGY_DIRECT:
		return true
	case turnv1.Strategy_STRATEGY_PLAN:
		return planned{t}.progress().answered
	case turnv1.Strategy_STRATEGY_ROUTE:
		return t.routed()
	default:
		return len(t.last().GetCalls()) == 0
	}
}

func selectRef() *turnv1.StepRef {
	return &turnv1.StepRef{Key: stepkey.Select, Kind: turnv1.StepKind_STEP_KIND_SELECT, Title: "select strategy"}
}

// preparationError is the error of a select or plan step, nil when there is none.
func (t record) preparationError() *turnv1.TurnError {
	for _, key := range []string{stepkey.Select, stepkey.Plan(1), stepkey.Plan(1 + maxReplans)} {
		if e := t.byKey[key].GetError(); e != nil {
			return e
		}
	}
	return nil
}
