package runner_test

import (
	"strings"
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func TestTurnWithoutTools(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Revision: 7, Instructions: "be kind", Limits: &sessionsv1.Limits{MaxSteps: 4}})
	w.Model(turntest.Say("good ", "morning"))
	all := w.Walk()
	surface := all[0].GetSurface()
	if surface.GetStrategy() != turnv1.Strategy_STRATEGY_DIRECT || surface.GetModel() != turntest.ModelName ||
		surface.GetBlueprintRevision() != 7 {
		t.Errorf("surface = %v", surface)
	}
	if surface.GetMaxSteps() != 4 || surface.GetMaxParallelTools() != 16 || surface.GetMaxIdenticalCalls() != 3 ||
		surface.GetDeadlineMicros() == 0 {
		t.Errorf("limits = %v", surface)
	}
	messages := w.Journal.Messages(in.TurnID)
	if got := steptest.Text(messages[len(messages)-1]); got != "good morning" {
		t.Errorf("answer = %q", got)
	}
	want := "step_started turn_started strategy_selected step_finished " +
		"step_started message_started message_completed usage_updated step_finished step_started step_finished turn_ended"
	if got := strings.Join(w.Kinds(), " "); got != want {
		t.Errorf("events: %s\nwant:   %s", got, want)
	}
	if got := w.Journal.Ending(in.TurnID); got.GetStopReason() != "end" || got.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED {
		t.Errorf("ending = %v", got)
	}
	req := w.Asked()[0]
	if req.GetInstructions() != "be kind" || req.GetStep() != "infer-1" || len(req.GetTools()) != 0 {
		t.Errorf("model was asked %v", req)
	}
}

func TestTurnWithTools(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"x__*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 2, 1))
	all := w.Walk()
	if all[0].GetSurface().GetStrategy() != turnv1.Strategy_STRATEGY_REACT || all[0].GetSurface().GetTools() != 1 {
		t.Errorf("surface = %v", all[0].GetSurface())
	}
	var keys []string
	for _, o := range all {
		keys = append(keys, o.GetKey())
	}
	if got := strings.Join(keys, " "); got != "begin infer-1 tool-1.0 tool-1.1 infer-2 tool-2.0 infer-3 finish" {
		t.Errorf("steps: %s", got)
	}
	call := w.Called()[0]
	if call.GetDefinitionHash() != "hash-x__echo" || call.GetKey() != "trn_1/tool-1.0" || call.GetPrincipal().GetSubject() != "local" {
		t.Errorf("call = %v", call)
	}
	if got := w.Asked()[0].GetTools(); len(got) != 1 || got[0].GetName() != "x__echo" || got[0].GetInputSchemaJson() != `{"type":"object"}` {
		t.Errorf("tools shown: %v", got)
	}
	if got := len(w.Asked()[1].GetMessages()); got != 4 {
		t.Errorf("the second model call reads %d messages, want 4", got)
	}
	events := strings.Join(w.Kinds(), " ")
	for _, want := range []string{
		"step_started tool_call_started policy_decided tool_call_executing tool_call_completed step_finished",
	} {
		if strings.Count(events, want) != 3 {
			t.Errorf("events %q not found 3 times in %s", want, events)
		}
	}
}

func TestFinishHonoursACancel(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_FINISH)
	w.Journal.Cancel(in.TurnID)
	out := w.Do(ref)
	if !out.GetCancelled() || w.Journal.Ending(in.TurnID).GetStatus() != turnv1.TurnStatus_TURN_STATUS_CANCELLED {
		t.Errorf("outcome = %v, ending = %v", out, w.Journal.Ending(in.TurnID))
	}
}

func TestFinishOfATurnThatWasEndedElsewhere(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	w.Journal.End(in.TurnID, turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
	out, err := w.Runner.Finish(t.Context(), in, &turnv1.StepRef{Key: "finish", Kind: turnv1.StepKind_STEP_KIND_FINISH})
	if err != nil || !out.GetCancelled() || out.GetFinishReason() != "cancelled" {
		t.Errorf("got %v, %v", out, err)
	}
}
