package trial_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testmain"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/api/trial"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// outcomes are those of checks, as "text honoured".
func outcomes(checks []*inferencev1.ModelCheck) (out []string) {
	for _, c := range checks {
		outcome := strings.TrimPrefix(c.GetOutcome().String(), "MODEL_CHECK_OUTCOME_")
		out = append(out, c.GetName()+" "+strings.ToLower(outcome))
	}
	return out
}

func TestTheScriptedModel(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	got, err := client.TryModel(t.Context(), &inferencev1.TryModelRequest{Model: "builtin/scripted"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"text honoured", "stream honoured", "system broken", "tool_call honoured", "parallel_calls broken", "tool_result honoured",
		"tool_choice honoured", "structured_output honoured", "image broken", "reasoning broken", "stop broken", "usage broken",
		"too_long skipped", "embeddings honoured", "rerank honoured", "count_tokens refused",
	}
	if !slices.Equal(outcomes(got.GetChecks()), want) {
		t.Errorf("got %q", got.GetChecks())
	}
	for _, c := range got.GetChecks() {
		if c.GetReason() == "" {
			t.Errorf("%s has no reason", c.GetName())
		}
	}
	if got.GetUsage().GetModelCalls() < 10 || len(want) != len(trial.Names()) {
		t.Errorf("usage %v, checks %q", got.GetUsage(), trial.Names())
	}
}

func TestSomeChecks(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	got, err := client.TryModel(t.Context(), &inferencev1.TryModelRequest{Model: "builtin/scripted", Checks: []string{"rerank", "text"}})
	if err != nil || !slices.Equal(outcomes(got.GetChecks()), []string{"rerank honoured", "text honoured"}) {
		t.Errorf("%v, %v", got, err)
	}
	_, err = client.TryModel(t.Context(), &inferencev1.TryModelRequest{Model: "builtin/scripted", Checks: []string{"dance"}})
	if f := fault.From(err); fault.CodeOf(err) != "invalid_argument" || !strings.Contains(f.Todo, "tool_call") {
		t.Errorf("an unknown check: %v", err)
	}
	if _, err = client.TryModel(t.Context(), &inferencev1.TryModelRequest{Model: "none/m"}); fault.CodeOf(err) != "model_unknown" {
		t.Errorf("an unknown model: %v", err)
	}
}
