package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func TestAStepIsDoneOnceWhoeverAsks(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	g := steptest.NewGate()
	w.Model(g.Generate())
	first := steptest.Async(t.Context(), w.Runner, ref)
	<-g.Asked
	others := []<-chan steptest.Result{
		steptest.Async(t.Context(), w.Another("worker-2"), ref), steptest.Async(t.Context(), w.Another("worker-3"), ref),
	}
	close(g.Open)
	want := w.Wait(first)
	for _, c := range others {
		if got := w.Wait(c); got.Err != nil || got.Out.GetMessageId() != want.Out.GetMessageId() {
			t.Errorf("another worker got %v, %v", got.Out, got.Err)
		}
	}
	if n := len(w.Asked()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if got := w.Do(ref); got.GetMessageId() != want.Out.GetMessageId() {
		t.Errorf("later: %v", got)
	}
}

func TestADeadWorkersStepIsTakenOver(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Journal.Seize(in.TurnID, ref.GetKey(), "dead", 150*time.Millisecond)
	if out := w.Do(ref); out.GetFinishReason() != "stop" {
		t.Errorf("outcome = %v", out)
	}
}

func TestWaitingEndsWithTheNewsOfTheStepsEnd(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	// Far longer than the test's patience: only the bus can end the wait. The waiter caps its own sleep at the lease's ttl.
	w.Journal.Seize(in.TurnID, ref.GetKey(), "other", time.Hour)
	c := steptest.Async(t.Context(), w.Runner, ref)
	w.Journal.Complete(in.TurnID, &turnv1.StepOutcome{Key: ref.GetKey(), Kind: ref.GetKind(), MessageId: "theirs"})
	if got := w.Wait(c); got.Err != nil || got.Out.GetMessageId() != "theirs" {
		t.Errorf("got %v, %v", got.Out, got.Err)
	}
}

func TestALostLeaseStopsTheWorkAndAdopts(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	g := steptest.NewGate()
	w.Model(g.Generate("half"))
	c := steptest.Async(t.Context(), w.Runner, ref)
	<-g.Asked
	w.Journal.Seize(in.TurnID, ref.GetKey(), "thief", time.Hour)
	w.Journal.Complete(in.TurnID, &turnv1.StepOutcome{Key: ref.GetKey(), Kind: ref.GetKind(), MessageId: "theirs"})
	if got := w.Wait(c); got.Err != nil || got.Out.GetMessageId() != "theirs" {
		t.Errorf("got %v, %v", got.Out, got.Err)
	}
	for _, m := range w.Journal.Messages(in.TurnID) {
		if steptest.Text(m) == "half" {
			t.Error("the loser's message stands")
		}
	}
}

func TestALateCommitIsRefusedAndTheStandingOutcomeAdopted(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Model(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		w.Journal.Seize(in.TurnID, ref.GetKey(), "thief", time.Hour)
		w.Journal.Complete(in.TurnID, &turnv1.StepOutcome{Key: ref.GetKey(), Kind: ref.GetKind(), MessageId: "theirs"})
		return turntest.Say("mine")(req, stream)
	})
	if out := w.Do(ref); out.GetMessageId() != "theirs" || w.Journal.Commits(in.TurnID)[ref.GetKey()] != 1 {
		t.Errorf("outcome = %v, commits = %v", out, w.Journal.Commits(in.TurnID))
	}
}

func TestACommitSurvivesASessionsOutage(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	away := fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away")
	w.Fail("CommitStep", away, away, away)
	if out := w.Do(ref); out.GetFinishReason() != "stop" || len(w.Asked()) != 1 {
		t.Errorf("outcome = %v after %d model calls", out, len(w.Asked()))
	}
}

func TestAWorkerThatStopsGivesItsStepBack(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	g := steptest.NewGate()
	w.Model(g.Generate("half"))
	stops := errors.New("worker stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := steptest.Async(ctx, w.Runner, ref)
	<-g.Asked
	cancel(stops)
	if got := w.Wait(c); !errors.Is(got.Err, stops) || !w.Journal.Released(in.TurnID, ref.GetKey()) {
		t.Errorf("got %v, %v; released: %v", got.Out, got.Err, w.Journal.Released(in.TurnID, ref.GetKey()))
	}
	w.Model(turntest.Say("again"))
	if out, err := w.Another("worker-2").Do(t.Context(), in, ref); err != nil || out.GetFinishReason() != "stop" {
		t.Errorf("the next worker got %v, %v", out, err)
	}
}

func TestAStepThatKillsItsWorkersIsGivenUp(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	for range 20 {
		w.Journal.Seize(in.TurnID, ref.GetKey(), "dead", 0)
	}
	if out := w.Do(ref); out.GetError().GetCode() != "internal" || len(w.Asked()) != 0 {
		t.Errorf("outcome = %v", out)
	}
}

func TestAnEndedTurnHasNoMoreSteps(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Journal.End(in.TurnID, turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
	if _, err := w.Runner.Do(t.Context(), in, ref); !errors.Is(err, step.ErrTurnEnded) {
		t.Errorf("err = %v", err)
	}
}

func TestAnUnknownTurnIsFinal(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	other := in
	other.TurnID = "trn_nope"
	_, err := w.Runner.Do(t.Context(), other, &turnv1.StepRef{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN})
	if !step.IsFinal(err) {
		t.Errorf("err = %v", err)
	}
}
