package infer_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// city is the schema of an answer that names a city.
func city(t *testing.T) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(map[string]any{
		"type": "object", "required": []any{"city"}, "properties": map[string]any{"city": map[string]any{"type": "string"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnswersFitTheirSchema(t *testing.T) {
	for _, row := range []struct {
		name   string
		said   []string
		want   string
		calls  int32
		failed string // part of the error
	}{
		{name: "at once", said: []string{`{"city":"Bonn"}`}, want: `{"city":"Bonn"}`, calls: 1},
		{name: "in a fence", said: []string{"```json\n{\"city\":\"Bonn\"}\n```"}, want: `{"city":"Bonn"}`, calls: 1},
		{name: "after a repair", said: []string{"Bonn", `{"city":"Bonn"}`}, want: `{"city":"Bonn"}`, calls: 2},
		{name: "never", said: []string{"Bonn", `{"city":7}`}, want: `{"city":7}`, calls: 2, failed: "/city"},
		{name: "another object", said: []string{`{"town":"Bonn"}`}, want: `{"town":"Bonn"}`, calls: 2, failed: "/city is required"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{OutputSchema: city(t)})
			ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
			w.Model(steptest.Texts(row.said...))
			out := w.Do(ref)
			if got := steptest.Text(w.Completed().GetMessage()); got != row.want || out.GetUsage().GetModelCalls() != row.calls {
				t.Errorf("answer %q after %d calls", got, out.GetUsage().GetModelCalls())
			}
			code := ""
			if row.failed != "" {
				code = "output_invalid"
			}
			if e := out.GetError(); e.GetCode() != code || !strings.Contains(e.GetMessage(), row.failed) {
				t.Errorf("error %v", e)
			}
			asked := w.Asked()
			if !strings.Contains(asked[0].GetOutputFormat().GetSchemaJson(), `"city"`) {
				t.Errorf("asked %v", asked[0])
			}
			if row.calls > 1 && !strings.HasPrefix(steptest.LastText(asked[1]), contract.OutputRepairPrefix) {
				t.Errorf("the repair reads %s", steptest.Reads(asked[1]))
			}
		})
	}
}

// TestAnInvalidAnswerFailsTheTurn, which keeps it.
func TestAnInvalidAnswerFailsTheTurn(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{OutputSchema: city(t)})
	w.Model(turntest.Say("no JSON"))
	w.Walk()
	events := w.Journal.Events(in.TurnID)
	end := events[len(events)-1].GetTurnEnded()
	if end.GetStatus() != turnv1.TurnStatus_TURN_STATUS_FAILED || end.GetError().GetCode() != "output_invalid" {
		t.Errorf("end %v", end)
	}
	if got := steptest.Text(w.Completed().GetMessage()); got != "no JSON" {
		t.Errorf("the message is %q", got)
	}
}

// TestForcedCallsEnd: a turn that must call a tool is free to answer once it has.
func TestForcedCallsEnd(t *testing.T) {
	agent := &sessionsv1.Agent{Tools: []string{"*"}, Generation: &turnv1.Generation{ToolChoice: "required", Seed: new(int32(7))}}
	w := steptest.New(t, agent, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 1))
	w.Tool(turntest.Echo)
	w.Walk()
	asked := w.Asked()
	if len(asked) != 2 || asked[0].GetGeneration().GetToolChoice() != "required" || asked[1].GetGeneration().GetToolChoice() != "" ||
		asked[1].GetGeneration().GetSeed() != 7 {
		t.Errorf("asked %v", asked)
	}
}
