package shield_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func answered(w *steptest.World) *turnv1.MessageCompleted {
	w.T.Helper()
	var last *turnv1.MessageCompleted
	for _, e := range w.Journal.Events(in.TurnID) {
		if e.GetMessageCompleted() != nil {
			last = e.GetMessageCompleted()
		}
	}
	return last
}

func TestBlockedInputEndsTheTurn(t *testing.T) {
	w := steptest.Shielded(t, "input-block-hello")
	w.Walk()
	if end := w.Journal.Ending(in.TurnID); end.GetStopReason() != "content_filter" ||
		end.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED {
		t.Errorf("ending %v", end)
	}
	if len(w.Asked()) != 0 || w.Triggered() != "begin input-block-hello input block  word" {
		t.Errorf("asked %d times, triggered %q", len(w.Asked()), w.Triggered())
	}
}

func TestRedactedInputIsWhatTheModelSees(t *testing.T) {
	w := steptest.Shielded(t, "input-redact-ell")
	w.Model(turntest.CallTools("x__echo", 1))
	w.Walk()
	if len(w.Asked()) != 2 || w.Triggered() != "begin input-redact-ell input redact  word" {
		t.Errorf("asked %d times, triggered %q", len(w.Asked()), w.Triggered())
	}
	for _, req := range w.Asked() {
		if got := req.GetMessages()[0].GetContent()[0].GetText(); got != "h***o" {
			t.Errorf("the model sees %q", got)
		}
	}
	if got := w.Journal.Messages(in.TurnID)[0].GetContent()[0].GetText(); got != "hello" {
		t.Errorf("the journal keeps %q", got)
	}
}

func TestOutputIsCheckedBeforeItIsShown(t *testing.T) {
	for _, row := range []struct{ name, shield, text, reason string }{
		{"clean", "output-block-nope", "the secret is out", "stop"},
		{"redacted", "output-redact-secret", "the *** is out", "stop"},
		{"blocked", "output-block-secret", `[answer withheld by shield "output-block-secret"]`, "content_filter"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.Shielded(t, row.shield)
			w.Model(turntest.Say("the ", "secret", " is out"))
			w.Walk()
			got := answered(w)
			if got.GetMessage().GetContent()[0].GetText() != row.text || got.GetFinishReason() != row.reason {
				t.Errorf("completed %v", got)
			}
			if reason := w.Journal.Ending(in.TurnID).GetStopReason(); reason != map[string]string{"stop": "end"}[row.reason] &&
				reason != row.reason {
				t.Errorf("stop reason %q", reason)
			}
		})
	}
}

func TestWhatCallsBackIsCheckedAsAResult(t *testing.T) {
	for shield, want := range map[string]string{
		"result-redact-ell": "h***o", "result-block-hello": `[message withheld by shield "result-block-hello"]`,
	} {
		for _, from := range []string{"kid", ""} {
			w := steptest.Shielded(t, shield)
			w.Journal.Messages(in.TurnID)[0].FromAgent = from
			w.Model(turntest.CallTools("x__echo", 1))
			w.Walk()
			told := "infer-1 " + shield + " result"
			if from == "" {
				want, told = "hello", ""
			}
			for _, req := range w.Asked() {
				if got := req.GetMessages()[0].GetContent()[0].GetText(); got != want {
					t.Errorf("%s: from %q the model sees %q", shield, from, got)
				}
			}
			if got := w.Triggered(); !strings.HasPrefix(got, told) || strings.Count(got, shield) != min(len(told), 1) {
				t.Errorf("%s: from %q triggered %q", shield, from, got)
			}
			if end := w.Journal.Ending(in.TurnID); end.GetStopReason() != "end" {
				t.Errorf("%s: ending %v", shield, end)
			}
		}
	}
}

func TestTheReasonOfAChoiceIsChecked(t *testing.T) {
	for shield, want := range map[string]string{
		"output-redact-secret": "the *** needs no tool", "output-block-secret": `[reason withheld by shield "output-block-secret"]`,
	} {
		w := steptest.New(t, &sessionsv1.Agent{Strategy: turnv1.Strategy_STRATEGY_AUTO, Shields: []string{shield}})
		w.Model(steptest.Texts(`{"strategy":"direct","reason":"the secret needs no tool"}`, "done"))
		w.Walk()
		for _, e := range w.Journal.Events(in.TurnID) {
			if s := e.GetStrategySelected(); s != nil && s.GetReason() != want {
				t.Errorf("%s: the reason is %q", shield, s.GetReason())
			}
		}
		if end := w.Journal.Ending(in.TurnID); end.GetStopReason() != "end" || !strings.HasPrefix(w.Triggered(), "select "+shield) {
			t.Errorf("%s: %v, triggered %q", shield, end, w.Triggered())
		}
	}
}

func TestAnAgentWithInputShieldsAloneIsStreamed(t *testing.T) {
	w := steptest.Shielded(t, "input-block-nope")
	w.Model(turntest.Say("a", "b"))
	w.Walk()
	if got := answered(w); got.GetDeltas() == 0 {
		t.Errorf("completed %v", got)
	}
}

func TestToolArgumentsAreChecked(t *testing.T) {
	w := steptest.Shielded(t, "tool-block-round")
	w.Model(turntest.CallTools("x__echo", 1))
	w.Walk()
	if r := w.Result(); !r.GetResult().GetIsError() || r.GetCode() != "shield_blocked" ||
		!strings.Contains(r.GetResult().GetContent()[0].GetText(), `shield "tool-block-round" blocks its arguments`) {
		t.Errorf("result %v", r)
	}
	if len(w.Called()) != 0 || w.Triggered() != "tool-1.0 tool-block-round tool block own-0-0 word" {
		t.Errorf("called %v, triggered %q", w.Called(), w.Triggered())
	}
	w = steptest.Shielded(t, "tool-redact-rou")
	w.Model(turntest.CallTools("x__echo", 1))
	w.Walk()
	if got := w.Called()[0].GetArgumentsJson(); got != `{"***nd":0,"call":0}` {
		t.Errorf("the tool is given %s", got)
	}
}

func TestAFlagIsOnlyRecorded(t *testing.T) {
	w := steptest.Shielded(t, "tool-flag-round")
	w.Model(turntest.CallTools("x__echo", 1))
	w.Walk()
	if got := w.Called()[0].GetArgumentsJson(); got != `{"round":0,"call":0}` || len(w.Called()[0].GetApprovalRules()) != 0 {
		t.Errorf("called %v", w.Called())
	}
	if got := w.Triggered(); got != "tool-1.0 tool-flag-round tool flag own-0-0 word" {
		t.Errorf("triggered %q", got)
	}
}

func TestAShieldAsksBeforeACall(t *testing.T) {
	w := steptest.Shielded(t, "tool-ask-round")
	w.Model(turntest.CallTools("x__echo", 1))
	w.Walk()
	rules := w.Called()[0].GetApprovalRules()
	if len(rules) != 1 || rules[0].GetName() != "shield:tool-ask-round" || rules[0].GetTools()[0] != "x__echo" {
		t.Errorf("the registry is given the rules %v", rules)
	}
	if got := w.Triggered(); got != "tool-1.0 tool-ask-round tool ask own-0-0 word" {
		t.Errorf("triggered %q", got)
	}
}

func TestACallThatCannotWaitIsNotMadeWhenAShieldAsks(t *testing.T) {
	w := steptest.Shielded(t, "tool-ask-round")
	w.Journal.ClientTools(in.TurnID, &sessionsv1.ClientTool{Name: "pick"})
	w.Model(turntest.CallTools("client__pick", 1))
	w.Walk()
	if r := w.Result(); r.GetCode() != "shield_blocked" || !strings.Contains(r.GetResult().GetContent()[0].GetText(), "asks for an approval") {
		t.Errorf("result %v", r)
	}
}

func TestShieldsFailClosed(t *testing.T) {
	w := steptest.Shielded(t, "nope")
	out := w.Do(&turnv1.StepRef{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN})
	if out.GetError().GetCode() != "invalid_blueprint" || !strings.Contains(out.GetError().GetMessage(), `no shield "nope"`) {
		t.Errorf("begin with an unknown shield: %v", out)
	}
	w = steptest.Shielded(t, "output-block-x")
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	// Parts of the answer may be checked while it streams, so one failure might not be that of the whole answer's check.
	w.Fail("CheckText", slices.Repeat([]error{status.Error(codes.Unavailable, "away")}, 20)...)
	_, err := w.Runner.Do(t.Context(), in, ref)
	if _, again := errors.AsType[*step.RetryError](err); !again {
		t.Errorf("an answer without its check: %v", err)
	}
}

func TestWithoutShieldsNobodyIsAsked(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 1))
	w.Fail("CheckText", status.Error(codes.Internal, "asked"), status.Error(codes.Internal, "asked"), status.Error(codes.Internal, "asked"))
	w.Walk()
	if got := w.Journal.Ending(in.TurnID).GetStopReason(); got != "end" {
		t.Errorf("stop reason %q", got)
	}
}

// A shield that could not check a text and must not be skipped ends what would use the text, once and with its name.
func TestAShieldThatFailsClosed(t *testing.T) {
	down := fault.FailedPrecondition(faultv1.Reason_REASON_SHIELD_FAILED, `shield "judge" could not check the text: no answer`)
	for _, stage := range []string{"input", "output"} {
		w := steptest.Shielded(t, stage+"-block-x")
		w.Model(turntest.Say("fine"))
		ref := w.UpTo(turnv1.StepKind_STEP_KIND_BEGIN)
		if stage == "output" {
			ref = w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
		}
		w.Fail("CheckText", slices.Repeat([]error{down}, 20)...) // parts of the answer may be checked while it streams
		if out := w.Do(ref); out.GetError().GetCode() != "shield_failed" || !strings.Contains(out.GetError().GetMessage(), `shield "judge"`) {
			t.Errorf("%s: %v", stage, out)
		}
	}
	for stage, want := range map[string]string{
		"tool":   `The call was not run: shield "judge" could not check the text: no answer`,
		"result": `The result of the call is withheld: shield "judge" could not check the text: no answer. Calling it again`,
	} {
		w := steptest.Shielded(t, stage+"-block-x")
		w.Model(turntest.CallTools("x__echo", 1))
		ref := w.UpTo(turnv1.StepKind_STEP_KIND_TOOL)
		w.Fail("CheckText", down)
		w.Do(ref)
		if r := w.Result(); r.GetCode() != "shield_blocked" || !strings.HasPrefix(r.GetResult().GetContent()[0].GetText(), want) ||
			len(w.Called()) != map[string]int{"tool": 0, "result": 1}[stage] {
			t.Errorf("%s: %v after %d calls", stage, r, len(w.Called()))
		}
	}
}
