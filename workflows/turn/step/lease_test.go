package step_test

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
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func asRetry(err error) *step.RetryError {
	retry, _ := errors.AsType[*step.RetryError](err)
	return retry
}

// gate is a model that tells when it is asked, and answers when it is told to or its caller goes away.
type gate struct {
	asked chan struct{}
	open  chan struct{}
}

func newGate() *gate { return &gate{asked: make(chan struct{}, 8), open: make(chan struct{})} }

func (g *gate) generate(words ...string) turntest.Generate {
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		for _, word := range words {
			if err := stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: word}}); err != nil {
				return err
			}
		}
		g.asked <- struct{}{}
		select {
		case <-g.open:
			return turntest.Say("whole")(req, stream)
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func TestAStepIsDoneOnceWhoeverAsks(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_INFER)
	g := newGate()
	w.Model(g.generate())
	first := async(t.Context(), w.runner, ref)
	<-g.asked
	others := []<-chan result{async(t.Context(), w.another("worker-2"), ref), async(t.Context(), w.another("worker-3"), ref)}
	close(g.open)
	want := w.wait(first)
	for _, c := range others {
		if got := w.wait(c); got.err != nil || got.out.GetMessageId() != want.out.GetMessageId() {
			t.Errorf("another worker got %v, %v", got.out, got.err)
		}
	}
	if n := len(w.Asked()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if got := w.do(ref); got.GetMessageId() != want.out.GetMessageId() {
		t.Errorf("later: %v", got)
	}
}

func TestADeadWorkersStepIsTakenOver(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Journal.Seize(in.TurnID, ref.GetKey(), "dead", 150*time.Millisecond)
	if out := w.do(ref); out.GetFinishReason() != "stop" {
		t.Errorf("outcome = %v", out)
	}
}

func TestWaitingEndsWithTheNewsOfTheStepsEnd(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_INFER)
	// Far longer than the test's patience: only the bus can end the wait. The waiter caps its own sleep at the lease's ttl.
	w.Journal.Seize(in.TurnID, ref.GetKey(), "other", time.Hour)
	c := async(t.Context(), w.runner, ref)
	w.Journal.Complete(in.TurnID, &turnv1.StepOutcome{Key: ref.GetKey(), Kind: ref.GetKind(), MessageId: "theirs"})
	if got := w.wait(c); got.err != nil || got.out.GetMessageId() != "theirs" {
		t.Errorf("got %v, %v", got.out, got.err)
	}
}

func TestALostLeaseStopsTheWorkAndAdopts(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_INFER)
	g := newGate()
	w.Model(g.generate("half"))
	c := async(t.Context(), w.runner, ref)
	<-g.asked
	w.Journal.Seize(in.TurnID, ref.GetKey(), "thief", time.Hour)
	w.Journal.Complete(in.TurnID, &turnv1.StepOutcome{Key: ref.GetKey(), Kind: ref.GetKind(), MessageId: "theirs"})
	if got := w.wait(c); got.err != nil || got.out.GetMessageId() != "theirs" {
		t.Errorf("got %v, %v", got.out, got.err)
	}
	for _, m := range w.Journal.Messages(in.TurnID) {
		if text(m) == "half" {
			t.Error("the loser's message stands")
		}
	}
}

func TestALateCommitIsRefusedAndTheStandingOutcomeAdopted(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Model(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		w.Journal.Seize(in.TurnID, ref.GetKey(), "thief", time.Hour)
		w.Journal.Complete(in.TurnID, &turnv1.StepOutcome{Key: ref.GetKey(), Kind: ref.GetKind(), MessageId: "theirs"})
		return turntest.Say("mine")(req, stream)
	})
	if out := w.do(ref); out.GetMessageId() != "theirs" || w.Journal.Commits(in.TurnID)[ref.GetKey()] != 1 {
		t.Errorf("outcome = %v, commits = %v", out, w.Journal.Commits(in.TurnID))
	}
}

func TestACommitSurvivesASessionsOutage(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_INFER)
	away := fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away")
	w.Fail("CommitStep", away, away, away)
	if out := w.do(ref); out.GetFinishReason() != "stop" || len(w.Asked()) != 1 {
		t.Errorf("outcome = %v after %d model calls", out, len(w.Asked()))
	}
}

func TestAWorkerThatStopsGivesItsStepBack(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_INFER)
	g := newGate()
	w.Model(g.generate("half"))
	stops := errors.New("worker stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := async(ctx, w.runner, ref)
	<-g.asked
	cancel(stops)
	if got := w.wait(c); !errors.Is(got.err, stops) || !w.Journal.Released(in.TurnID, ref.GetKey()) {
		t.Errorf("got %v, %v; released: %v", got.out, got.err, w.Journal.Released(in.TurnID, ref.GetKey()))
	}
	w.Model(turntest.Say("again"))
	if out, err := w.another("worker-2").Do(t.Context(), in, ref); err != nil || out.GetFinishReason() != "stop" {
		t.Errorf("the next worker got %v, %v", out, err)
	}
}

func TestAStepThatKillsItsWorkersIsGivenUp(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_INFER)
	for range 20 {
		w.Journal.Seize(in.TurnID, ref.GetKey(), "dead", 0)
	}
	if out := w.do(ref); out.GetError().GetCode() != "internal" || len(w.Asked()) != 0 {
		t.Errorf("outcome = %v", out)
	}
}

func TestAnEndedTurnHasNoMoreSteps(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	ref := w.upTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Journal.End(in.TurnID, "cancelled", "cancelled")
	if _, err := w.runner.Do(t.Context(), in, ref); !errors.Is(err, step.ErrTurnEnded) {
		t.Errorf("err = %v", err)
	}
}

func TestAnUnknownTurnIsFinal(t *testing.T) {
	w := newWorld(t, &sessionsv1.Agent{})
	other := in
	other.TurnID = "trn_nope"
	_, err := w.runner.Do(t.Context(), other, &turnv1.StepRef{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN})
	if !step.IsFinal(err) {
		t.Errorf("err = %v", err)
	}
}
