package turn

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// doer is what activities need of a runner.Runner.
type doer interface {
	Do(ctx context.Context, turn contract.TurnInput, ref *turnv1.StepRef) (*turnv1.StepOutcome, error)
	Finish(ctx context.Context, turn contract.TurnInput, ref *turnv1.StepRef) (*turnv1.StepOutcome, error)
	Outcomes(ctx context.Context, turn contract.TurnInput) (*executionv1.GetOutcomesResponse, error)
	ExpireWaits(ctx context.Context, turn contract.TurnInput) error
	Now() time.Time
}

// ahead is what activities need of the runs.
type ahead interface {
	joinBriefly(ctx context.Context, turn contract.TurnInput) ([]*turnv1.StepOutcome, error)
}

// Activities are the steps of a turn as Temporal sees them, one type for each kind. Each returns the outcome of its step, and of all
// others that were committed after the given time (Unix microseconds): the turn may run ahead of its workflow.
type Activities struct {
	steps doer
	runs  ahead
	drain time.Duration
}

// Error types beside the codes of libs/fault.
const (
	// typeTurnEnded: the step was not done because the turn is over.
	typeTurnEnded = "turn_ended"
	// typeReleased: the worker stopped before the step ended; another one continues.
	typeReleased = "worker_let_go"
	// typeForeign: the workflow is not the one that the mesh starts for the turn.
	typeForeign = "foreign_workflow"
)

// own returns an error for a workflow that the mesh did not start: that of a turn has the turn's id. Who can start workflows, but has no
// key, has only inputs of other workflows to start them with.
func own(ctx context.Context, turn contract.TurnInput) error {
	if id := activity.GetInfo(ctx).WorkflowExecution.ID; id != turn.TurnID {
		return foreign(id, turn)
	}
	return nil
}

func foreign(id string, turn contract.TurnInput) error {
	return temporal.NewApplicationErrorWithOptions("workflow "+id+" is not that of turn "+turn.TurnID, typeForeign,
		temporal.ApplicationErrorOptions{NonRetryable: true})
}

// JoinRun waits briefly for the eager run of the turn and returns the outcomes of its steps by then, so that a short turn costs its
// workflow one task.
func (a *Activities) JoinRun(ctx context.Context, in contract.TurnInput) (*turnv1.Progress, error) {
	if err := own(ctx, in); err != nil {
		return nil, err
	}
	out, err := a.runs.joinBriefly(ctx, in)
	return a.progress(out...), toTemporal(err)
}

// Begin pins the turn's surface.
func (a *Activities) Begin(ctx context.Context, in contract.TurnInput, ref *turnv1.StepRef, since int64) (*turnv1.Progress, error) {
	return a.do(ctx, a.steps.Do, in, ref, since)
}

// Infer asks the model once.
func (a *Activities) Infer(ctx context.Context, in contract.TurnInput, ref *turnv1.StepRef, since int64) (*turnv1.Progress, error) {
	return a.do(ctx, a.steps.Do, in, ref, since)
}

// Tool runs one tool call.
func (a *Activities) Tool(ctx context.Context, in contract.TurnInput, ref *turnv1.StepRef, since int64) (*turnv1.Progress, error) {
	return a.do(ctx, a.steps.Do, in, ref, since)
}

// Finish writes the turn's end.
func (a *Activities) Finish(ctx context.Context, in contract.TurnInput, ref *turnv1.StepRef, since int64) (*turnv1.Progress, error) {
	return a.do(ctx, a.steps.Finish, in, ref, since)
}

// progress returns outcomes, without text, together with the time of the database, since the clock of Temporal's server may differ.
func (a *Activities) progress(outcomes ...*turnv1.StepOutcome) *turnv1.Progress {
	p := &turnv1.Progress{NowMicros: a.steps.Now().UnixMicro()}
	for _, o := range outcomes {
		p.Outcomes = append(p.Outcomes, withoutText(o))
	}
	return p
}

type stepFunc func(context.Context, contract.TurnInput, *turnv1.StepRef) (*turnv1.StepOutcome, error)

func (a *Activities) do(
	ctx context.Context, do stepFunc, in contract.TurnInput, ref *turnv1.StepRef, since int64,
) (*turnv1.Progress, error) {
	if err := own(ctx, in); err != nil {
		return nil, err
	}
	ctx, done := a.withHeartbeats(ctx)
	defer done()
	var out *turnv1.StepOutcome
	ref, err := a.withText(ctx, in, ref)
	if err == nil {
		out, err = do(ctx, in, ref)
	}
	if errors.Is(err, step.ErrStale) {
		return a.ReadJournal(ctx, in, nil)
	}
	if err != nil {
		return nil, toTemporal(err)
	}
	p := a.progress(out)
	if ref.GetKind() == turnv1.StepKind_STEP_KIND_FINISH {
		return p, nil // no step follows
	}
	now, err := a.steps.Outcomes(ctx, in)
	if err != nil {
		return p, nil // without the others the workflow asks for them one by one
	}
	for _, o := range now.GetOutcomes() {
		if o.GetKey() != out.GetKey() && o.GetCommittedMicros() > since {
			p.Outcomes = append(p.Outcomes, withoutText(o))
		}
	}
	return p, nil
}

// withHeartbeats sends heartbeats until the step ends, so that a lost worker is detected and a cancel is delivered. Its context ends
// when the activity's does, with the cause step.ErrCancelled if Temporal requests a cancel. It also ends when the worker has been
// stopping for the drain time, early enough to release the lease.
func (a *Activities) withHeartbeats(activityCtx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(activityCtx))
	stopFollowing := context.AfterFunc(activityCtx, func() { cancel(causeOf(activityCtx)) })
	done := make(chan struct{})
	if activity.GetInfo(activityCtx).IsLocalActivity {
		close(done)
	} else {
		go func() {
			defer close(done)
			a.heartbeat(ctx, activityCtx, cancel)
		}()
	}
	return ctx, func() {
		stopFollowing()
		cancel(nil)
		<-done
	}
}

func (a *Activities) heartbeat(ctx, activityCtx context.Context, cancel context.CancelCauseFunc) {
	// The first heartbeat is late on purpose: most steps end before it, and each one is work for the server.
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	stopping := activity.GetWorkerStopChannel(activityCtx)
	var drained <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			activity.RecordHeartbeat(activityCtx)
		case <-stopping:
			stopping, drained = nil, time.After(a.drain)
		case <-drained:
			cancel(errDrained)
		}
	}
}

// errDrained ends a step that is still running after the drain time.
var errDrained = errors.New("worker stops")

func causeOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	if _, cancelled := errors.AsType[*temporal.CanceledError](cause); cancelled {
		return step.ErrCancelled
	}
	return cause
}

// toTemporal converts an error to one from which Temporal decides whether to retry, and when. Error texts go into the history: they name
// ids and reasons, never content. What belongs to the life of a turn or a worker is benign: the SDK does not log it as an error.
func toTemporal(err error) error {
	if err == nil {
		return nil
	}
	retry, again := errors.AsType[*step.RetryError](err)
	switch {
	case again:
		return temporal.NewApplicationErrorWithOptions(fault.From(err).Message, fault.CodeOf(err), temporal.ApplicationErrorOptions{
			NextRetryDelay: retry.Delay, Category: temporal.ApplicationErrorCategoryBenign,
		})
	case errors.Is(err, step.ErrCancelled):
		return temporal.NewCanceledError()
	case errors.Is(err, step.ErrTurnEnded):
		return temporal.NewApplicationErrorWithOptions("the turn has ended", typeTurnEnded, temporal.ApplicationErrorOptions{
			NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign,
		})
	case step.IsFinal(err):
		return temporal.NewApplicationErrorWithOptions(fault.From(err).Message, fault.CodeOf(err), temporal.ApplicationErrorOptions{
			NonRetryable: true,
		})
	default: // the context ended: the worker is stopping, or the activity timed out
		return temporal.NewApplicationErrorWithOptions("the worker let go of the step", typeReleased, temporal.ApplicationErrorOptions{
			Category: temporal.ApplicationErrorCategoryBenign,
		})
	}
}
