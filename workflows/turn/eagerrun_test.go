package turn

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// advances is an advancer that does as it is told, call by call.
type advances struct {
	calls atomic.Int32
	do    func(call int32) error
}

func (a *advances) Advance(context.Context, contract.TurnInput, <-chan struct{}) ([]*turnv1.StepOutcome, error) {
	return nil, a.do(a.calls.Add(1))
}

func (*advances) Outcomes(context.Context, contract.TurnInput) (*executionv1.GetOutcomesResponse, error) {
	return &executionv1.GetOutcomesResponse{}, nil
}

// An answer that comes between a run's last look at the journal and its end is not lost: the run goes on.
func TestAnAnswerThatMeetsTheEndOfARun(t *testing.T) {
	var r *runs
	a := &advances{}
	a.do = func(call int32) error {
		if call == 1 {
			r.ensure(t.Context(), input) // the answer is told
			return step.ErrWaiting
		}
		return nil
	}
	r, err := newRuns(a, nil, slog.New(slog.DiscardHandler), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.stop(time.Second)
	one := r.ensure(t.Context(), input)
	<-one.done
	if one.err != nil || a.calls.Load() != 2 {
		t.Errorf("the run ended with %v after %d looks", one.err, a.calls.Load())
	}
}

func TestARunThatWaitsIsForgotten(t *testing.T) {
	a := &advances{do: func(int32) error { return step.ErrWaiting }}
	r, err := newRuns(a, nil, slog.New(slog.DiscardHandler), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.stop(time.Second)
	one := r.ensure(t.Context(), input)
	<-one.done
	if r.current(input.TurnID) != nil {
		t.Error("the run is kept")
	}
	if again := r.ensure(t.Context(), input); again == nil || again == one {
		t.Error("the turn cannot be run again")
	}
}
