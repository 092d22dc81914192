package rerun

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testmain"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestARequestSaysHowATurnIsRunAgain(t *testing.T) {
	for _, row := range []struct {
		name                         string
		req                          Request
		from                         uint32
		tools, missing, model, wrong string
	}{
		{name: "nothing is said", from: 1, tools: "recorded", missing: "fail"},
		{name: "a model step by its key", req: Request{FromStep: "infer-2"}, from: 2, tools: "recorded", missing: "fail"},
		{name: "a model step by its number", req: Request{FromStep: "3"}, from: 3, tools: "recorded", missing: "fail"},
		{name: "the failed step runs its tools", req: Request{FromStep: "failed"}, from: 1, tools: "live"},
		{
			name: "the failed step with recordings", req: Request{FromStep: "failed", Tools: "recorded"}, from: 1, tools: "recorded",
			missing: "fail",
		},
		{name: "live tools", req: Request{Tools: "live"}, from: 1, tools: "live"},
		{name: "what is missing", req: Request{Missing: "live_read"}, from: 1, tools: "recorded", missing: "live_read"},
		{
			name: "another model", req: Request{Model: "other/model"}, from: 1, tools: "recorded", missing: "fail", model: "other/model",
		},
		{name: "live tools miss nothing", req: Request{Tools: "live", Missing: "fail"}, wrong: "missing"},
		{name: "a model without a provider", req: Request{Model: "gpt"}, wrong: "model"},
		{name: "a tool step", req: Request{FromStep: "tool-1.0"}, wrong: "from_step"},
		{name: "step 0", req: Request{FromStep: "0"}, wrong: "from_step"},
		{name: "a negative step", req: Request{FromStep: "-1"}, wrong: "from_step"},
		{name: "a step beyond all turns", req: Request{FromStep: "65536"}, wrong: "from_step"},
		{name: "a word", req: Request{FromStep: "last"}, wrong: "from_step"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.req.TurnID = "trn_1"
			got, err := row.req.event()
			if row.wrong != "" {
				if f := fault.From(err); err == nil || len(f.Fields) != 1 || f.Fields[0].Path != row.wrong {
					t.Fatalf("got %v, %v", got, err)
				}
				return
			}
			want := &turnv1.TurnRerun{OfTurn: "trn_1", FromStep: row.from, Tools: row.tools, Missing: row.missing, Model: row.model}
			if err != nil || !proto.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
		})
	}
}

// stepOf returns a model step; a nil outcome is one that did not come to its end.
func stepOf(t *testing.T, key string, o *turnv1.StepOutcome) store.Step {
	t.Helper()
	s := store.Step{Key: key, Kind: turnv1.StepKind_STEP_KIND_INFER, Done: o != nil}
	var err error
	if s.Outcome, err = proto.Marshal(o); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAFailedTurnIsTakenUpAtItsLastModelStep(t *testing.T) {
	asks := &turnv1.StepOutcome{Calls: []*turnv1.ToolCallRef{{CallId: "c1"}}}
	answers, fails := &turnv1.StepOutcome{}, &turnv1.StepOutcome{Error: &turnv1.TurnError{Code: "model_unavailable"}}
	for _, row := range []struct {
		name  string
		steps []*turnv1.StepOutcome
		want  int
	}{
		{"no model step was begun", nil, 1},
		{"the first one failed", []*turnv1.StepOutcome{fails}, 1},
		{"the first one did not come to its end", []*turnv1.StepOutcome{nil}, 1},
		{"its calls were not read", []*turnv1.StepOutcome{asks}, 2},
		{"the second one failed", []*turnv1.StepOutcome{asks, fails}, 2},
		{"the whole answer was there", []*turnv1.StepOutcome{asks, answers}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			steps := []store.Step{{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN, Done: true}}
			for i, o := range row.steps {
				steps = append(steps, stepOf(t, []string{"infer-1", "infer-2"}[i], o))
			}
			if got, err := failedIn(steps); err != nil || got != row.want {
				t.Errorf("got %d, %v; want %d", got, err, row.want)
			}
		})
	}
}

func TestAnEqualCallIsTheNextOfItsKind(t *testing.T) {
	asks := func(id string, calls ...string) *turnv1.Message {
		m := &turnv1.Message{Id: id, TurnId: "trn_1"}
		for i := 0; i < len(calls); i += 2 {
			m.ToolCalls = append(m.ToolCalls, &turnv1.ToolCall{CallId: calls[i], Tool: "calc__add", ArgumentsJson: calls[i+1]})
		}
		return m
	}
	calls := callsOf([]*turnv1.Message{
		asks("m1", "a", `{"x":1,"y":2}`, "b", `{"x":2}`),
		{Id: "r1", TurnId: "trn_1", ToolResult: &turnv1.ToolResult{CallId: "a"}},
		{Id: "r2", TurnId: "trn_0", ToolResult: &turnv1.ToolResult{CallId: "b"}}, // of another turn
		asks("m2", "a", `{"y":2,"x":1}`),
	})
	for _, row := range []struct {
		message, call string
		n             int
	}{{"m1", "a", 1}, {"m1", "b", 1}, {"m2", "a", 2}, {"m2", "b", 0}, {"m3", "a", 0}} {
		hash, n := place(calls, row.message, row.call)
		if n != row.n || (hash == "") != (row.n == 0) {
			t.Errorf("call %s of %s: %q, %d; want %d", row.call, row.message, hash, n, row.n)
		}
	}
	if calls[0].resultID != "r1" || calls[1].result != nil {
		t.Errorf("results %+v", calls)
	}
}

func TestAPlanThatFailedLosesWhatWasNotBegun(t *testing.T) {
	const (
		done, failed = turnv1.PlanStepStatus_PLAN_STEP_STATUS_COMPLETED, turnv1.PlanStepStatus_PLAN_STEP_STATUS_FAILED
		running      = turnv1.PlanStepStatus_PLAN_STEP_STATUS_RUNNING
		pending      = turnv1.PlanStepStatus_PLAN_STEP_STATUS_PENDING
	)
	for _, row := range []struct {
		name  string
		steps []turnv1.PlanStepStatus
		want  int
	}{
		{"under way", []turnv1.PlanStepStatus{done, running, pending}, 3},
		{"failed", []turnv1.PlanStepStatus{done, failed, pending, pending}, 2},
		{"over", []turnv1.PlanStepStatus{done, done}, 2},
	} {
		plan := &turnv1.PlanUpdated{MessageId: "m1"}
		for _, s := range row.steps {
			plan.Steps = append(plan.Steps, &turnv1.PlanStep{Status: s, MessageId: "m2"})
		}
		got := settledPlan(plan)
		if len(got.GetSteps()) != row.want || len(plan.GetSteps()) != len(row.steps) {
			t.Errorf("%s: %v of %v", row.name, got, plan)
		}
		named := renamePlan(got, map[string]string{"m1": "n1", "m2": "n2"})
		if named.GetMessageId() != "n1" || named.GetSteps()[0].GetMessageId() != "n2" || got.GetMessageId() != "m1" {
			t.Errorf("%s: renamed %v", row.name, named)
		}
	}
	if settledPlan(nil) != nil || renamePlan(nil, nil) != nil {
		t.Error("no plan became one")
	}
}
