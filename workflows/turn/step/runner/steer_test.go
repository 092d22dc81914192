package runner_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/testpoll"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
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

func TestInputWhileTheModelAnswersHasItAnswerAgain(t *testing.T) {
	for _, told := range []bool{false, true} { // by the commit's answer, or by news before
		w := steptest.New(t, &sessionsv1.Agent{})
		news := make(chan struct{}, 1)
		w.Model(first(func() {
			w.Journal.Steer(in.TurnID, "in French")
			if told {
				news <- struct{}{}
			}
		}, turntest.Say("ok")))
		if _, err := w.Runner.Advance(t.Context(), in, news); err != nil {
			t.Fatal(err)
		}
		w.Once("begin finish infer-1 infer-2 steer-1")
		if got := steptest.Reads(w.Asked()[1]); got != "user:hello user:in French assistant:ok" &&
			got != "user:hello assistant:ok user:in French" {
			t.Errorf("the second call reads %s", got)
		}
		if got := w.Outcome("infer-2").GetInputs(); got != 1 {
			t.Errorf("infer-2 has read %d inputs", got)
		}
	}
}

// reads reports whether a model call of a step reads these messages. The model may also have been asked before the step was held, without
// the input that came meanwhile.
func reads(w *steptest.World, step, messages string) bool {
	return slices.ContainsFunc(w.Asked(), func(req *inferencev1.GenerateRequest) bool {
		return req.GetStep() == step && steptest.Reads(req) == messages
	})
}

func TestInputWhileToolsRunStandsBehindTheirResults(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 1, 1))
	w.Tool(func(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
		if strings.Contains(req.GetArgumentsJson(), `"round":0`) {
			w.Journal.Steer(in.TurnID, "be brief")
		}
		return turntest.Echo(req, stream)
	})
	w.Advance()
	w.Once("begin finish infer-1 infer-2 infer-3 steer-1 tool-1.0 tool-2.0")
	if !reads(w, "infer-2", "user:hello assistant: tool: user:be brief") {
		t.Error("the second call does not read the input")
	}
	if !reads(w, "infer-3", "user:hello assistant: tool: user:be brief assistant: tool:") {
		t.Error("the third call does not read the input")
	}
}

// A turn that is about to end goes on when its end would leave input unread. The steps are done one by one here, as a workflow does.
func TestAnEndThatDoesNotKnowAllInputIsRefused(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_FINISH)
	w.Journal.Steer(in.TurnID, "one more thing")
	if out, err := w.Runner.Finish(t.Context(), in, ref); !errors.Is(err, step.ErrStale) {
		t.Fatalf("finish: %v, %v", out, err)
	}
	w.Advance()
	w.Once("begin finish infer-1 infer-2 steer-1")
}

func TestAnAnswerReachesAnAdvanceUnderWay(t *testing.T) {
	definition := "v1"
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 2))
	busy, release := make(chan struct{}), make(chan struct{})
	w.Tool(func(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
		switch {
		case !strings.Contains(req.GetArgumentsJson(), `"call":0`):
			close(busy)
			<-release
		case req.GetApproved() == nil:
			return steptest.Guarded(&definition)(req, stream)
		default: // it runs while the other one still does
			close(release)
		}
		return turntest.Echo(req, stream)
	})
	news, done := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := w.Runner.Advance(t.Context(), in, news)
		done <- err
	}()
	<-busy
	testpoll.Until(t, "the turn waits", func() bool { return len(w.Journal.Waits(in.TurnID)) == 1 })
	w.Answer("tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
	news <- struct{}{}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the answer did not arrive")
	}
	w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 tool-1.1 wait-1.0")
}

// Two workers are notified of an answer: one runs what follows, once.
func TestTwoWorkersHearOfAnAnswer(t *testing.T) {
	definition := "v1"
	w := steptest.Waiting(t, &sessionsv1.Agent{}, steptest.Guarded(&definition))
	w.Answer("tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
	results := make(chan error, 2)
	for _, name := range []string{"worker-2", "worker-3"} {
		go func() {
			_, err := w.Another(name).Advance(t.Context(), in, nil)
			results <- err
		}()
	}
	for range 2 {
		if err := <-results; err != nil && !errors.Is(err, step.ErrElsewhere) {
			t.Error(err)
		}
	}
	w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 wait-1.0")
}

func TestInputForATurnThatWaits(t *testing.T) {
	definition := "v1"
	w := steptest.Waiting(t, &sessionsv1.Agent{}, steptest.Guarded(&definition))
	w.Journal.Steer(in.TurnID, "hurry")
	w.MustWait(1) // it is read behind the call's result
	w.Answer("tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
	w.Advance()
	if got := steptest.Reads(w.Asked()[1]); got != "user:hello assistant: tool: user:hurry" || w.Outcome(stepkey.Infer(2)).GetInputs() != 1 {
		t.Errorf("the second call reads %s", got)
	}
}
