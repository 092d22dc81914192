package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// minded is a model that answers by what it is asked for.
type minded struct {
	choice, plan, rest []string // one for each time; the last stays
	steps              map[string]turntest.Generate
	answer             string
}

func (m *minded) generate(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	take := func(list *[]string) turntest.Generate {
		text := (*list)[0]
		if len(*list) > 1 {
			*list = (*list)[1:]
		}
		return turntest.Say(text)
	}
	about := req.GetInstructions()
	switch {
	case strings.Contains(about, contract.MarkSelect):
		return take(&m.choice)(req, stream)
	case strings.Contains(about, contract.MarkPlan) && strings.HasSuffix(steptest.LastText(req), contract.PlanRest):
		return take(&m.rest)(req, stream)
	case strings.Contains(about, contract.MarkPlan):
		return take(&m.plan)(req, stream)
	case strings.Contains(about, contract.MarkPlanAnswer):
		return turntest.Say(m.answer)(req, stream)
	}
	for _, msg := range req.GetMessages() {
		if _, goal, ok := strings.Cut(steptest.Text(msg), contract.GoalPrefix); ok {
			if special, ok := m.steps[goal]; ok {
				return special(req, stream)
			}
			return turntest.Say("result of "+goal)(req, stream)
		}
	}
	return turntest.Say("plain")(req, stream)
}

const twoSteps = `{"steps":[{"title":"A","goal":"do a"},{"title":"B","goal":"do b"}]}`

// plans writes the plan as it stood at each plan.updated.
func plans(w *steptest.World) (out []string) {
	for _, e := range w.Journal.Events(in.TurnID) {
		if p := e.GetPlanUpdated(); p != nil {
			line := ""
			for _, s := range p.GetSteps() {
				status := strings.TrimPrefix(s.GetStatus().String(), "PLAN_STEP_STATUS_")
				line += fmt.Sprintf("%d%s:%s ", s.GetId(), s.GetTitle(), strings.ToLower(status))
			}
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func TestPlan(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Strategy: planFirst, Tools: []string{"*"}, Instructions: "Be kind."}, turntest.Tool("x__echo"))
	m := &minded{plan: []string{twoSteps}, answer: "all done", steps: map[string]turntest.Generate{"do a": turntest.CallTools("x__echo", 2)}}
	w.Model(m.generate)
	// CallTools counts this turn's assistant messages: the plan's own is not among those that a step reads.
	all := w.Walk()
	if got := steptest.Keys(all); got != "begin plan-1 infer-1 tool-1.0 tool-1.1 infer-2 infer-3 infer-4 finish" {
		t.Errorf("steps: %s", got)
	}
	if got := strings.Join(plans(w), "; "); got != "1A:running 2B:pending; 1A:completed 2B:running; 1A:completed 2B:completed" {
		t.Errorf("plan: %s", got)
	}
	if got := steptest.Text(w.Completed().GetMessage()); got != "all done" {
		t.Errorf("answer %q", got)
	}
	asked := w.Asked()
	if planner := asked[0]; len(planner.GetTools()) != 0 || !strings.Contains(planner.GetInstructions(), "- x__echo: ") ||
		!strings.Contains(planner.GetInstructions(), "Be kind.") {
		t.Errorf("planner was asked %v", planner)
	}
	if second := asked[2]; len(second.GetMessages()) != 5 || len(second.GetTools()) != 1 { // request, step, calls, two results
		t.Errorf("in the middle of a step the model reads %v", second.GetMessages())
	}
	third := steptest.LastText(asked[3])
	if len(asked[3].GetMessages()) != 2 || !strings.Contains(third, "1. A (completed)") || !strings.Contains(third, "1. done") ||
		!strings.HasSuffix(third, "Do step 2 now, and only that.\nGoal: do b") {
		t.Errorf("the second step reads %s", third)
	}
	if answer := asked[4]; len(answer.GetTools()) != 0 || !strings.Contains(steptest.LastText(answer), "2. result of do b") {
		t.Errorf("the answer reads %s", steptest.LastText(answer))
	}
}

// A model may give calls the same ids in each step of a plan, as it does not see those of the others. In the turn they are different ones.
func TestCallsOfAPlanHaveIDsOfTheirOwn(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Strategy: planFirst, Tools: []string{"*"}}, turntest.Tool("x__echo"))
	calls := turntest.CallTools("x__echo", 1)
	m := &minded{plan: []string{twoSteps}, answer: "done", steps: map[string]turntest.Generate{"do a": calls, "do b": calls}}
	w.Model(m.generate)
	w.Walk()
	seen := map[string]bool{}
	for _, m := range w.Journal.Messages(in.TurnID) {
		for _, call := range m.GetToolCalls() {
			if seen[call.GetCallId()] {
				t.Errorf("two calls have the id %s", call.GetCallId())
			}
			seen[call.GetCallId()] = true
		}
	}
	if len(seen) != 2 {
		t.Errorf("calls %v", seen)
	}
}

func TestPlanIsMadeAnewOnce(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Strategy: planFirst})
	fails := turntest.Say("STEP FAILED: no way")
	m := &minded{
		plan: []string{twoSteps}, rest: []string{`{"steps":[{"title":"C","goal":"do c"},{"title":"D","goal":"do d"}]}`}, answer: "sorry",
		steps: map[string]turntest.Generate{"do a": fails, "do c": fails},
	}
	w.Model(m.generate)
	all := w.Walk()
	if got := steptest.Keys(all); got != "begin plan-1 infer-1 plan-2 infer-2 infer-3 finish" {
		t.Errorf("steps: %s", got)
	}
	want := "1A:running 2B:pending; 1A:failed 2B:pending; 1A:failed 2C:running 3D:pending; 1A:failed 2C:failed 3D:pending"
	if got := strings.Join(plans(w), "; "); got != want {
		t.Errorf("plan: %s", got)
	}
	if got := steptest.LastText(w.Asked()[2]); !strings.Contains(got, "1. STEP FAILED: no way") || strings.Contains(got, "B") {
		t.Errorf("the second planner reads %s", got)
	}
	if w.Journal.Ending(in.TurnID).GetStopReason() != "end" || steptest.Text(w.Completed().GetMessage()) != "sorry" {
		t.Errorf("ending = %v", w.Journal.Ending(in.TurnID))
	}
}

func TestPlansThatCannotBeRead(t *testing.T) {
	for _, row := range []struct {
		name  string
		plan  []string
		title string
		calls int32
	}{
		{"are asked for once more", []string{"First a, then b.", `{"steps":[{"title":"A"}]}`}, "A", 2},
		{"are one step in the end", []string{"First a, then b."}, "Answer the request", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Strategy: planFirst})
			w.Model((&minded{plan: row.plan, answer: "ok"}).generate)
			all := w.Walk()
			if got := all[1].GetPlan(); len(got) != 1 || got[0] != row.title || all[1].GetUsage().GetModelCalls() != row.calls {
				t.Errorf("outcome = %v", all[1])
			}
			if got := steptest.LastText(w.Asked()[1]); !strings.Contains(got, "could not be read") {
				t.Errorf("repair asks %q", got)
			}
		})
	}
}

func TestAuto(t *testing.T) {
	for _, row := range []struct{ name, choice, steps, strategy, reason string }{
		{"direct", `{"strategy":"direct","reason":"easy"}`, "begin select infer-1 finish", "DIRECT", "easy"},
		{"react", `{"strategy":"react","reason":"a tool"}`, "begin select infer-1 finish", "REACT", "a tool"},
		{"plan", `{"strategy":"plan","reason":"parts"}`, "begin select plan-1 infer-1 infer-2 infer-3 finish", "PLAN", "parts"},
		{"unreadable", `plan, I think`, "begin select infer-1 finish", "REACT", "the model's answer could not be read; the agent has tools"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Strategy: automatic, Tools: []string{"*"}}, turntest.Tool("x__echo"))
			w.Model((&minded{choice: []string{row.choice}, plan: []string{twoSteps}, answer: "ok"}).generate)
			if got := steptest.Keys(w.Walk()); got != row.steps {
				t.Errorf("steps: %s", got)
			}
			var told []string
			for _, e := range w.Journal.Events(in.TurnID) {
				if s := e.GetStrategySelected(); s != nil {
					told = append(told, s.GetStrategy().String()+" "+s.GetReason())
				}
			}
			if len(told) != 1 || told[0] != "STRATEGY_"+row.strategy+" "+row.reason {
				t.Errorf("told %q", told)
			}
			if tools := len(w.Asked()[1].GetTools()); (tools > 0) != (row.strategy == "REACT") {
				t.Errorf("%d tools shown", tools)
			}
		})
	}
}

func TestChoicesAndPlansEndAsOtherStepsDo(t *testing.T) {
	for _, kind := range []turnv1.StepKind{turnv1.StepKind_STEP_KIND_SELECT, turnv1.StepKind_STEP_KIND_PLAN} {
		agent := func() *sessionsv1.Agent { return &sessionsv1.Agent{Strategy: automatic} }
		m := &minded{choice: []string{`{"strategy":"plan"}`}, plan: []string{twoSteps}}
		t.Run(kind.String()+" refused", func(t *testing.T) {
			w := steptest.New(t, agent())
			w.Model(m.generate)
			ref := w.UpTo(kind)
			w.Fail("Generate", fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "wrong key"))
			if out := w.Do(ref); out.GetError().GetCode() != "model_rejected" {
				t.Errorf("outcome = %v", out)
			}
		})
		t.Run(kind.String()+" tried again", func(t *testing.T) {
			w := steptest.New(t, agent())
			w.Model(m.generate)
			ref := w.UpTo(kind)
			w.Fail("Generate", fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "away"))
			if _, err := w.Runner.Do(t.Context(), in, ref); steptest.AsRetry(err) == nil {
				t.Errorf("err = %v", err)
			}
			if out := w.Do(ref); out.GetError() != nil {
				t.Errorf("outcome = %v", out)
			}
		})
		t.Run(kind.String()+" cancelled", func(t *testing.T) {
			w := steptest.New(t, agent())
			w.Model(m.generate)
			ref := w.UpTo(kind)
			g := steptest.NewGate()
			w.Model(g.Generate("never whole"))
			c := steptest.Async(t.Context(), w.Runner, ref)
			<-g.Asked
			w.Journal.Cancel(in.TurnID)
			if got := w.Wait(c); got.Err != nil || !got.Out.GetCancelled() || got.Out.GetError() != nil {
				t.Errorf("got %v, %v", got.Out, got.Err)
			}
		})
	}
}
