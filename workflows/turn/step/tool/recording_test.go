package tool_test

import (
	"strings"
	"testing"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func TestCallsOfARerun(t *testing.T) {
	tool := func(name string, effect turnv1.EffectClass) *registryv1.Tool {
		out := turntest.Tool(name)
		out.Effect = effect
		return out
	}
	told := &turnv1.ToolResult{CallId: "of then", Tool: "x__once", Content: executiontest.Text("as then")}
	failed := &turnv1.ToolResult{IsError: true}
	recorded := &turnv1.TurnRerun{OfTurn: "trn_0", Tools: contract.ToolsRecorded, Missing: contract.MissingFail}
	reads := &turnv1.TurnRerun{OfTurn: "trn_0", Tools: contract.ToolsRecorded, Missing: contract.MissingLiveRead}
	live := &turnv1.TurnRerun{OfTurn: "trn_0", Tools: contract.ToolsLive}
	for _, tt := range []struct {
		name   string
		rerun  *turnv1.TurnRerun
		tool   string
		result *turnv1.ToolResult
		called bool
		code   string
	}{
		{"a recorded result stands for the call", recorded, "x__once", told, false, ""},
		{"a recorded error is an error", recorded, "x__once", failed, false, "tool_error"},
		{"without a recording nothing is run", recorded, "x__read", nil, false, "not_recorded"},
		{"but what only reads, where that is allowed", reads, "x__read", nil, true, ""},
		{"and nothing else", reads, "x__once", nil, false, "not_recorded"},
		{"a recorded result goes before it", reads, "x__read", told, false, ""},
		{"what the session keeps is read", recorded, contract.ReadArtifact, nil, true, ""},
		{"live calls are run, recorded or not", live, "x__once", told, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}},
				tool("x__once", turnv1.EffectClass_EFFECT_CLASS_ONCE), tool("x__read", turnv1.EffectClass_EFFECT_CLASS_READ))
			w.Journal.Rerun(in.TurnID, tt.rerun, map[string]*turnv1.ToolResult{"own-0-0": tt.result})
			w.Model(turntest.CallTools(tt.tool, 1))
			ref := w.UpTo(turnv1.StepKind_STEP_KIND_TOOL)
			out, err := w.Another("worker-2").Do(t.Context(), in, ref) // one that has no definitions at hand
			if err != nil {
				t.Fatal(err)
			}
			got := w.Result()
			if called := len(w.Called()) > 0; called != tt.called || got.GetCode() != tt.code ||
				got.GetRecorded() != (tt.result != nil && !tt.called) {
				t.Errorf("called %t, %v", called, got)
			}
			if got.GetResult().GetCallId() != "own-0-0" || got.GetResult().GetTool() != tt.tool || out.GetIsError() != (tt.code != "") ||
				out.GetMessageId() == "" {
				t.Errorf("outcome %v with %v", out, got)
			}
			if tt.result == told && !tt.called && !strings.Contains(got.String(), "as then") {
				t.Errorf("result %v", got)
			}
		})
	}
}

// A turn that is done ahead of its workflow is a re-run like one that is walked.
func TestAnAdvancedRerunCallsNoTool(t *testing.T) {
	for name, drive := range map[string]func(*steptest.World){
		"advance": func(w *steptest.World) { w.Advance() },
		"walk":    func(w *steptest.World) { w.Walk() },
	} {
		t.Run(name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
			told := &turnv1.ToolResult{Content: executiontest.Text("as then")}
			w.Journal.Rerun(in.TurnID, &turnv1.TurnRerun{Tools: contract.ToolsRecorded}, map[string]*turnv1.ToolResult{
				"own-0-0": told, "own-1-0": told,
			})
			w.Model(turntest.CallTools("x__echo", 1, 1, 1))
			drive(w)
			if len(w.Called()) > 0 {
				t.Errorf("%d calls reached a tool", len(w.Called()))
			}
			var codes []string
			for _, e := range w.Journal.Events(in.TurnID) {
				if c := e.GetToolCallCompleted(); c != nil {
					codes = append(codes, c.GetCode())
				}
			}
			if got := strings.Join(codes, ","); got != ",,not_recorded" || w.Journal.Ending(in.TurnID).GetStopReason() != "end" {
				t.Errorf("calls ended with %q, the turn with %v", got, w.Journal.Ending(in.TurnID))
			}
		})
	}
}
