package step_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

type modelStream = grpc.ServerStreamingServer[inferencev1.GenerateResponse]

// first does something in the model's first call.
func first(do func(), model turntest.Generate) turntest.Generate {
	var calls atomic.Int32
	return func(req *inferencev1.GenerateRequest, stream modelStream) error {
		if calls.Add(1) == 1 {
			do()
		}
		return model(req, stream)
	}
}

// reads lists what a model call reads, by role.
func reads(req *inferencev1.GenerateRequest) string {
	var out []string
	for _, m := range req.GetMessages() {
		out = append(out, strings.ToLower(strings.TrimPrefix(m.GetRole().String(), "ROLE_"))+":"+text(m))
	}
	return strings.Join(out, " ")
}

func TestInputWhileTheModelAnswersHasItAnswerAgain(t *testing.T) {
	for _, told := range []bool{false, true} { // by the commit's answer, or by news before
		w := newWorld(t, &sessionsv1.Agent{})
		news := make(chan struct{}, 1)
		w.Model(first(func() {
			w.Journal.Steer(in.TurnID, "in French")
			if told {
				news <- struct{}{}
			}
		}, turntest.Say("ok")))
		if _, err := w.runner.Advance(t.Context(), in, news); err != nil {
			t.Fatal(err)
		}
		w.once("begin finish infer-1 infer-2 steer-1")
		if got := reads(w.Asked()[1]); got != "user:hello user:in French assistant:ok" && got != "user:hello assistant:ok user:in French" {
			t.Errorf("the second call reads %s", got)
		}
		if got := w.outcome("infer-2").GetInputs(); got != 1 {
			t.Errorf("infer-2 has read %d inputs", got)
		}
	}
}

// outcome is what a step left in the journal.
func (w *world) outcome(key string) *turnv1.StepOutcome {
	w.t.Helper()
	now, err := w.runner.Outcomes(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range now.GetOutcomes() {
		if o.GetKey() == key {
			return o
		}
	}
	w.t.Fatalf("step %s is not done", key)
	return nil
}

func TestInputWhileToolsRunStandsBehindTheirResults(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 1, 1))
	w.Tool(func(req *registryv1.CallToolRequest, stream toolStream) error {
		if strings.Contains(req.GetArgumentsJson(), `"round":0`) {
			w.Journal.Steer(in.TurnID, "be brief")
		}
		return turntest.Echo(req, stream)
	})
	w.advance()
	w.once("begin finish infer-1 infer-2 infer-3 steer-1 tool-1.0 tool-2.0")
	if got := reads(w.Asked()[1]); got != "user:hello assistant: tool: user:be brief" {
		t.Errorf("the second call reads %s", got)
	}
	if got := reads(w.Asked()[2]); got != "user:hello assistant: tool: user:be brief assistant: tool:" {
		t.Errorf("the third call reads %s", got)
	}
}

// A turn that is about to end goes on when its end would leave input unread. The steps are done one by one here, as a workflow does.
func TestAnEndThatDoesNotKnowAllInputIsRefused(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_FINISH)
	w.Journal.Steer(in.TurnID, "one more thing")
	if out, err := w.runner.Finish(t.Context(), in, ref); !errors.Is(err, step.ErrStale) {
		t.Fatalf("finish: %v, %v", out, err)
	}
	w.advance()
	w.once("begin finish infer-1 infer-2 steer-1")
}

func TestAnAnswerReachesAnAdvanceUnderWay(t *testing.T) {
	definition := "v1"
	w := newWorld(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 2))
	busy, release := make(chan struct{}), make(chan struct{})
	w.Tool(func(req *registryv1.CallToolRequest, stream toolStream) error {
		switch {
		case !strings.Contains(req.GetArgumentsJson(), `"call":0`):
			close(busy)
			<-release
		case req.GetApproved() == nil:
			return guarded(&definition)(req, stream)
		default: // it runs while the other one still does
			close(release)
		}
		return turntest.Echo(req, stream)
	})
	news, done := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := w.runner.Advance(t.Context(), in, news)
		done <- err
	}()
	<-busy
	w.until(func() bool { return len(w.Journal.Waits(in.TurnID)) == 1 })
	w.answer("tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
	news <- struct{}{}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the answer did not arrive")
	}
	w.once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 tool-1.1 wait-1.0")
}

// until polls for what has no event.
func (w *world) until(is func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			w.t.Fatal("it did not come about")
		case <-tick.C:
		}
	}
}

// Two workers hear of an answer: one does what follows, once.
func TestTwoWorkersHearOfAnAnswer(t *testing.T) {
	definition := "v1"
	w := waiting(t, &sessionsv1.Agent{}, guarded(&definition))
	w.answer("tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
	results := make(chan error, 2)
	for _, name := range []string{"worker-2", "worker-3"} {
		go func() {
			_, err := w.another(name).Advance(t.Context(), in, nil)
			results <- err
		}()
	}
	for range 2 {
		if err := <-results; err != nil && !errors.Is(err, step.ErrElsewhere) {
			t.Error(err)
		}
	}
	w.once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 wait-1.0")
}

func TestInputForATurnThatWaits(t *testing.T) {
	definition := "v1"
	w := waiting(t, &sessionsv1.Agent{}, guarded(&definition))
	w.Journal.Steer(in.TurnID, "hurry")
	w.mustWait(1) // it is read behind the call's result
	w.answer("tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
	w.advance()
	if got := reads(w.Asked()[1]); got != "user:hello assistant: tool: user:hurry" || w.outcome(stepkey.Infer(2)).GetInputs() != 1 {
		t.Errorf("the second call reads %s", got)
	}
}
