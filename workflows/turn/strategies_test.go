package turn_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// strategist is a model that chooses to plan, plans two steps, fails at the second, and plans nothing more. In the text protocol it
// calls a tool and then answers.
func strategist(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	last := req.GetMessages()[len(req.GetMessages())-1].GetContent()
	says := func(part string) bool { return len(last) > 0 && strings.Contains(last[0].GetText(), part) }
	about := func(mark string) bool { return strings.Contains(req.GetInstructions(), mark) }
	text := "done"
	switch {
	case about(contract.MarkSelect):
		text = `{"strategy":"plan","reason":"two parts"}`
	case about(contract.MarkPlan) && says(contract.PlanRest):
		text = `{"steps":[]}`
	case about(contract.MarkPlan):
		text = `{"steps":[{"title":"do-not-keep-titles-long","goal":"do-not-keep-me"},{"title":"Second","goal":"cannot be"}]}`
	case about(contract.MarkPlanStep) && says(contract.GoalPrefix+"do-not-keep-me"):
		return turntest.CallTools("x__echo", 2)(req, stream)
	case about(contract.MarkPlanStep) && says(contract.GoalPrefix):
		text = "STEP FAILED: do-not-keep-me"
	case about(contract.MarkReactText) && says("Observation:"):
		text = "Thought: do-not-keep-me\nFinal Answer: done"
	case about(contract.MarkReactText):
		text = "Thought: do-not-keep-me\nAction: x__echo\nAction Input: {}"
	}
	return turntest.Say(text)(req, stream)
}

// TestStrategiesAreReadableInTemporal checks what a person sees of a planned turn, and that nothing of its content is kept.
func TestStrategiesAreReadableInTemporal(t *testing.T) {
	l := newEager(t, turntest.New(t, turntest.Tool("x__echo")))
	l.Model(strategist)
	run := l.begin("trn_readable_plan", &sessionsv1.Agent{Tools: []string{"*"}, Strategy: turnv1.Strategy_STRATEGY_AUTO})
	l.end(run)
	h := l.history(run)
	wantSummaries(t, h,
		`"select strategy → plan"`, `"plan → 2 steps"`, `"infer #1 → calls x__echo, x__echo"`, `"tool x__echo → done"`,
		`"infer #3 → gave the plan step up"`, `"plan again → 0 steps"`, `"finish → end"`)
	if strings.Contains(h.String(), "do-not-keep") {
		t.Error("the history holds goals or results")
	}
}
