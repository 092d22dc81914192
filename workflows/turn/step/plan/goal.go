package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/cite"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// goal is one step as the model plans it.
type goal struct {
	Title string `json:"title"`
	Goal  string `json:"goal"`
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
		g.Title, g.Goal = brief(cite.Strip(g.Title), maxTitle), brief(cite.Strip(g.Goal), maxGoal) // users read no marks of passages
		if g.Title == "" && g.Goal == "" {
			return nil, fmt.Errorf("step %d is empty", i+1)
		}
		answer.Steps[i] = goal{Title: cmp.Or(g.Title, brief(g.Goal, maxTitle)), Goal: cmp.Or(g.Goal, g.Title)}
	}
	return answer.Steps, nil
}

// checkGoals checks a plan before it is committed, as what the model says. A blocked part of it is withheld.
func (p planning) checkGoals(ctx context.Context, goals []goal) ([]*turnv1.Event, error) {
	var texts []string
	for _, g := range goals {
		texts = append(texts, g.Title, g.Goal)
	}
	checked, err := p.Shields.Check(ctx, p.w.Loaded, shield.StageOutput, texts...)
	if err != nil || checked == nil {
		return nil, err
	}
	for i, c := range checked {
		text := texts[i]
		switch {
		case c.GetBlocked():
			text = shield.Withheld("part of the plan", c)
		case c.GetRedacted():
			text = c.GetText()
		}
		if i%2 == 0 {
			goals[i/2].Title = text
		} else {
			goals[i/2].Goal = text
		}
	}
	return shield.Triggered(shield.StageOutput, "", checked), nil
}
