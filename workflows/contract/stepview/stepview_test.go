package stepview_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepview"
)

func TestWaitsAreShown(t *testing.T) {
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	ref := &turnv1.WaitRef{Id: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, ExpireMicros: until.UnixMicro()}
	all := stepview.Outcomes{
		{Key: "infer-1", Kind: turnv1.StepKind_STEP_KIND_INFER, Calls: []*turnv1.ToolCallRef{{Tool: "x__pay"}}},
		{Key: "tool-1.0", Kind: turnv1.StepKind_STEP_KIND_TOOL, Wait: ref},
	}
	if got := all.Waiting(); len(got) != 1 || stepview.Wait(got[0].GetWait(), true) != "waits for approval apr_1 until 2030-01-02T03:04:05Z" {
		t.Errorf("waits %v", got)
	}
	if got := all.Line(all[1]); got != "tool x__pay → waits for approval apr_1" {
		t.Errorf("round: %s", got)
	}
	end := &turnv1.StepOutcome{
		Key: "wait-1.0", Kind: turnv1.StepKind_STEP_KIND_WAIT, Answer: &turnv1.WaitAnswer{Verdict: turnv1.Verdict_VERDICT_NOT_DONE},
	}
	if got := all.Line(end); got != "approval, tool x__pay → not done" {
		t.Errorf("end: %s", got)
	}
	if got := all.Tool("tool-1.0.3"); got != "x__pay" {
		t.Errorf("tool of a later round is %q", got)
	}
	all = append(all, end)
	if len(all.Waiting()) > 0 {
		t.Errorf("waits %v", all.Waiting())
	}
	if steer := (&turnv1.StepOutcome{Key: "steer-2", Kind: turnv1.StepKind_STEP_KIND_STEER}); all.Line(steer) != "input #2 → accepted" {
		t.Errorf("input: %s", all.Line(steer))
	}
}

func TestEnded(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	step := func(key string, kind turnv1.StepKind, worker string, attempt uint32) *turnv1.StepOutcome {
		return &turnv1.StepOutcome{
			Key: key, Kind: kind, StartTime: timestamppb.New(at), CommittedMicros: at.Add(1240 * time.Millisecond).UnixMicro(), Worker: worker,
			Attempts: attempt,
		}
	}
	begin, infer := step("begin", turnv1.StepKind_STEP_KIND_BEGIN, "w1", 1), step("infer-1", turnv1.StepKind_STEP_KIND_INFER, "w1", 1)
	begin.Surface = &turnv1.Surface{Model: "m", Tools: 2, BlueprintRevision: 3}
	infer.Calls = []*turnv1.ToolCallRef{{Tool: "x__pay"}, {Tool: "agent__clerk"}}
	child := step("tool-1.1", turnv1.StepKind_STEP_KIND_TOOL, "w2", 1)
	child.ChildTurnId = "trn_child"
	all := stepview.Outcomes{begin, infer, step("tool-1.0", turnv1.StepKind_STEP_KIND_TOOL, "w1", 2), child}
	if all.Ended() != nil {
		t.Error("a turn without a finish step has ended")
	}
	all = append(all, &turnv1.StepOutcome{Key: "finish", Kind: turnv1.StepKind_STEP_KIND_FINISH, FinishReason: "end"})
	got := all.Ended()
	if want := (contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 1, ToolCalls: 2}); got.TurnResult != want {
		t.Errorf("result %+v, want %+v", got.TurnResult, want)
	}
	// The worker is named where it is another one, or had to try again.
	want := []string{
		"1. begin → model m, 2 tools, revision 3 (1.24s since 03:04:05.000, attempt 1 on w1)",
		"2. infer #1 → calls x__pay, agent__clerk (1.24s since 03:04:05.000)",
		"3. tool x__pay → done (1.24s since 03:04:05.000, attempt 2 on w1)",
		"4. tool agent__clerk → done, child turn trn_child (1.24s since 03:04:05.000, attempt 1 on w2)",
		"5. finish → end",
	}
	if !slices.Equal(got.Steps, want) {
		t.Errorf("steps %q, want %q", got.Steps, want)
	}
	if short := all.Lines(2); !slices.Equal(short, append([]string{"(3 earlier steps)"}, want[3:]...)) {
		t.Errorf("the newest steps: %q", short)
	}
}
