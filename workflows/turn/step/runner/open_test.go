package runner_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// onCommit does something when a step is about to be committed for the first time.
func onCommit(w *steptest.World, step string, do func()) {
	done := false // commits of one step follow each other
	w.Journal.OnCommit(func(req *executionv1.CommitStepRequest) {
		if req.GetOutcome().GetKey() == step && !done {
			done = true
			do()
		}
	})
}

// asked waits for a model call.
func asked(t *testing.T, g *steptest.Gate) {
	t.Helper()
	select {
	case <-g.Asked:
	case <-time.After(20 * time.Second):
		t.Error("the model was not asked")
	}
}

func TestTheModelIsAskedWhileItsStepIsClaimed(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	sub, g := w.Transient(), steptest.NewGate()
	calls, last := turntest.CallTools("x__echo", 1), g.Generate("half")
	w.Model(func(req *inferencev1.GenerateRequest, stream modelStream) error {
		if req.GetStep() == "infer-2" {
			return last(req, stream)
		}
		return calls(req, stream)
	})
	onCommit(w, "tool-1.0", func() {
		asked(t, g)
		if err := w.Bus.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		for len(sub.C()) > 0 {
			if e := w.Next(sub); e.GetStep() == "infer-2" {
				t.Errorf("before the step is held: %v", e)
			}
		}
		close(g.Open)
	})
	w.Advance()
	all := w.Asked()
	if got := steptest.Reads(all[len(all)-1]); got != "user:hello assistant: tool:" || len(all) != 2 {
		t.Errorf("call %d reads %s", len(all), got)
	}
	if e := w.Next(sub); e.GetSeq() == 0 || e.GetMessageDelta().GetText() != "half" {
		t.Errorf("the first transient event is %v", e)
	}
}

// Several workers may be about to begin a turn. Only the one that does asks the model.
func TestNoModelIsAskedBeforeAStepIsHeld(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	others := make(chan struct{})
	go func() {
		defer close(others)
		for n := range 4 {
			if _, err := w.Another(fmt.Sprint("worker-", n+2)).Advance(t.Context(), in, nil); err != nil && !errors.Is(err, step.ErrElsewhere) {
				t.Error(err)
			}
		}
	}()
	if _, err := w.Runner.Advance(t.Context(), in, nil); err != nil && !errors.Is(err, step.ErrElsewhere) {
		t.Error(err)
	}
	<-others
	w.Once("begin finish infer-1")
	if n := len(w.Asked()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// ended returns a model that says nothing, and a channel that is closed when its caller has gone.
func ended() (turntest.Generate, *steptest.Gate, <-chan struct{}) {
	g, gone := steptest.NewGate(), make(chan struct{})
	return func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		g.Asked <- struct{}{}
		<-stream.Context().Done()
		close(gone)
		return stream.Context().Err()
	}, g, gone
}

func TestAModelCallEndsWithTheClaimThatIsNotMade(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	model, g, gone := ended()
	calls := turntest.CallTools("x__echo", 1)
	w.Model(func(req *inferencev1.GenerateRequest, stream modelStream) error {
		if req.GetStep() == "infer-2" {
			return model(req, stream)
		}
		return calls(req, stream)
	})
	onCommit(w, "tool-1.0", func() {
		asked(t, g)
		w.Journal.Cancel(in.TurnID)
	})
	w.Advance()
	<-gone
	if e := w.Journal.Ending(in.TurnID); e.GetStatus() != turnv1.TurnStatus_TURN_STATUS_CANCELLED {
		t.Errorf("ending %v", e)
	}
	w.Once("begin finish infer-1 tool-1.0")
}

func TestAModelCallThatDoesNotReadNewInputIsMadeAgain(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	g, calls := steptest.NewGate(), turntest.CallTools("x__echo", 1)
	w.Model(func(req *inferencev1.GenerateRequest, stream modelStream) error {
		if req.GetStep() == "infer-2" {
			g.Asked <- struct{}{}
		}
		return calls(req, stream)
	})
	onCommit(w, "tool-1.0", func() {
		asked(t, g)
		w.Journal.Steer(in.TurnID, "be brief")
	})
	w.Advance()
	w.Once("begin finish infer-1 infer-2 steer-1 tool-1.0")
	if n := len(w.Asked()); n != 3 || !reads(w, "infer-2", "user:hello assistant: tool: user:be brief") {
		t.Errorf("of %d calls none reads the input", n)
	}
}

func TestAModelCallOutlivesCommitsThatFail(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 1))
	away := fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away")
	onCommit(w, "tool-1.0", func() { w.Fail("CommitStep", away, away) })
	w.Advance()
	w.Once("begin finish infer-1 infer-2 tool-1.0")
	if n := len(w.Asked()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}
