package compact_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func TestARefusedConversationIsCompacted(t *testing.T) {
	both(t, &sessionsv1.Agent{}, func(t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome) {
		w.Journal.Recall(in.TurnID, earlier(10)...)
		w.Model(summarising(turntest.Say("hi"), 6000))
		var keys []string
		for _, o := range run() {
			keys = append(keys, o.GetKey())
		}
		if got := strings.Join(keys, " "); got != "begin infer-1 compact-2 infer-2 finish" {
			t.Errorf("steps %s", got)
		}
		if ending := w.Journal.Ending(in.TurnID); ending.GetStopReason() != engine.StopEnd || len(compactions(w)) != 1 {
			t.Errorf("ended with %v after %v", ending, compactions(w))
		}
	})
}

func TestAConversationThatNothingShortens(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	w.Journal.Recall(in.TurnID, earlier(3)...)
	w.Model(summarising(turntest.Say("hi"), 1))
	w.Walk()
	if e := w.Journal.Ending(in.TurnID); e.GetError().GetCode() != engine.CodeContext ||
		e.GetStatus() != turnv1.TurnStatus_TURN_STATUS_FAILED {
		t.Errorf("ended with %v", e)
	}
}

func TestWithoutASummaryOldMessagesAreLeftOut(t *testing.T) {
	for name, model := range map[string]turntest.Generate{
		"refused": func(*inferencev1.GenerateRequest, grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
			return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "no")
		},
		"empty": turntest.Say(" \n"),
		"filtered": func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
			return turntest.End(stream, &inferencev1.Finished{FinishReason: "content_filter", Text: "half"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{MaxContextTokens: 2000})
			w.Journal.Recall(in.TurnID, earlier(10)...)
			w.Model(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
				if strings.Contains(req.GetInstructions(), contract.MarkCompact) {
					return model(req, stream)
				}
				return turntest.Say("hi")(req, stream)
			})
			all := w.Walk()
			c := compactions(w)
			if len(c) != 1 || !c[0].GetDropped() || !strings.Contains(c[0].GetSummary(), "17 older messages") {
				t.Errorf("compacted %v", c)
			}
			if u := all[1].GetUsage(); all[1].GetKey() != "compact-1" || u.GetModelCalls() != 1 {
				t.Errorf("outcome %v", all[1])
			}
			if e := w.Journal.Ending(in.TurnID); e.GetStopReason() != engine.StopEnd {
				t.Errorf("ended with %v", e)
			}
		})
	}
}

// A choice and a plan cannot be asked for again: a conversation that is too long for them is decided by rules, and planned without what
// was before.
func TestChoicesAndPlansOverALongConversation(t *testing.T) {
	both(t, &sessionsv1.Agent{Strategy: turnv1.Strategy_STRATEGY_AUTO, Tools: []string{"*"}}, func(
		t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome,
	) {
		past := earlier(10)
		past[18].Content = executiontest.Text("short")
		w.Journal.Recall(in.TurnID, past...)
		w.Model(summarising(turntest.Say(`{"strategy":"direct","reason":"x"}`), 6000))
		all := run()
		if s := all[1]; s.GetKey() != "select" || s.GetStrategy() != turnv1.Strategy_STRATEGY_REACT || s.GetUsage().GetModelCalls() != 1 {
			t.Errorf("chosen %v", s)
		}
		if e := w.Journal.Ending(in.TurnID); e.GetStopReason() != engine.StopEnd || len(compactions(w)) != 1 {
			t.Errorf("ended with %v", e)
		}
	})
	both(t, &sessionsv1.Agent{Strategy: turnv1.Strategy_STRATEGY_PLAN, Tools: []string{"*"}}, func(
		t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome,
	) {
		w.Journal.Recall(in.TurnID, earlier(10)...)
		w.Model(summarising(turntest.Say(`{"steps":[{"title":"one","goal":"find one"}]}`), 6000))
		all := run()
		if s := all[1]; s.GetKey() != "plan-1" || len(s.GetPlan()) != 1 || s.GetUsage().GetModelCalls() != 2 {
			t.Errorf("planned %v", s)
		}
		if e := w.Journal.Ending(in.TurnID); e.GetStopReason() != engine.StopEnd || len(compactions(w)) != 1 {
			t.Errorf("ended with %v after %v", e, w.Kinds())
		}
	})
}

// A failure that may pass is no reason to go without a summary.
func TestASummaryIsAskedForAgain(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{MaxContextTokens: 2000})
	w.Journal.Recall(in.TurnID, earlier(10)...)
	w.Model(summarising(turntest.Say("hi"), 0))
	w.Fail("Generate", fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "overloaded"))
	if _, err := w.Runner.Advance(t.Context(), in, nil); err != nil {
		t.Fatal(err)
	}
	if c := compactions(w); len(c) != 1 || c[0].GetDropped() || len(w.Asked()) != 3 {
		t.Errorf("compacted %v after %d model calls", c, len(w.Asked()))
	}
}

// The journal gives so much at once. A conversation that is longer than that is compacted, though what it gives would fit.
func TestAConversationThatIsNotGivenWhole(t *testing.T) {
	both(t, &sessionsv1.Agent{MaxContextTokens: 3000}, func(t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome) {
		w.Journal.Recall(in.TurnID, earlier(20)...)
		w.Journal.LeaveOut(in.TurnID, 30)
		w.Model(summarising(turntest.Say("hi"), 0))
		run()
		if c := compactions(w); len(c) != 1 || c[0].GetMessages() == 0 {
			t.Errorf("compacted %v", c)
		}
		if got := shownTo(w.Asked()[1]); !strings.HasPrefix(got, "Summary of|") || !strings.HasSuffix(got, "|hello result") {
			t.Errorf("the model read %s", got)
		}
	})
}
