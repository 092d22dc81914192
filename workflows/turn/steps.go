package turn

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// stepRunner runs the activities of a turn.
type stepRunner struct {
	ctx workflow.Context
	// work is where steps run, until stop is called.
	work workflow.Context
	stop workflow.CancelFunc
	in   contract.TurnInput
}

func (r stepRunner) stopped() bool { return r.work.Err() != nil }

// run runs one step as one activity and returns its outcome, and those committed after since.
func (r stepRunner) run(
	ctx workflow.Context, step *turnv1.StepRef, since int64, remaining func(*turnv1.StepRef) time.Duration,
) (*turnv1.Progress, error) {
	var act *Activities // typed nil: only the methods' names are used
	var activity any
	switch step.GetKind() {
	case turnv1.StepKind_STEP_KIND_BEGIN:
		return r.local(ctx, short(r.work, step, beginPatience), act.Begin, step, since)
	case turnv1.StepKind_STEP_KIND_FINISH: // not stopped by anything
		return r.local(ctx, short(r.ctx, step, finishPatience), act.Finish, step, since)
	case turnv1.StepKind_STEP_KIND_INFER:
		activity = act.Infer
	case turnv1.StepKind_STEP_KIND_SELECT:
		activity = act.Select
	case turnv1.StepKind_STEP_KIND_PLAN:
		activity = act.Plan
	case turnv1.StepKind_STEP_KIND_COMPACT:
		activity = act.Compact
	default:
		activity = act.Tool
	}
	var out *turnv1.Progress
	err := workflow.ExecuteActivity(long(r.work, step, remaining(step)), activity, r.in, step, since).Get(ctx, &out)
	return out, err
}

func (r stepRunner) local(
	ctx, options workflow.Context, activity any, step *turnv1.StepRef, since int64,
) (out *turnv1.Progress, err error) {
	err = workflow.ExecuteLocalActivity(options, activity, r.in, step, since).Get(ctx, &out)
	return out, err
}

// join waits briefly for the eager run of the turn.
func (r stepRunner) join() (out *turnv1.Progress, err error) {
	var act *Activities
	ctx := workflow.WithLocalActivityOptions(r.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: shortStep, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: "join the eager run",
	})
	err = workflow.ExecuteLocalActivity(ctx, act.JoinRun, r.in).Get(r.ctx, &out)
	return out, err
}

// read runs an activity that returns the outcomes in the journal which are not known yet. It retries until the journal can be read,
// since nothing else could be done before.
func (r stepRunner) read(summary string, activity any, known []string) (out *turnv1.Progress, err error) {
	ctx := workflow.WithLocalActivityOptions(r.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: shortStep, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
	err = workflow.ExecuteLocalActivity(ctx, activity, r.in, known).Get(r.ctx, &out)
	return out, err
}

// short is for steps that only read and write: local activities, which save a round trip through the server.
func short(ctx workflow.Context, step *turnv1.StepRef, patience time.Duration) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: patience, StartToCloseTimeout: shortStep, RetryPolicy: retryPolicy(), Summary: step.GetTitle(),
	})
}

// long is for steps that wait for a model or a tool. The workflow waits for a step that is stopped: it still writes what it has.
func long(ctx workflow.Context, step *turnv1.StepRef, remaining time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: remaining, HeartbeatTimeout: heartbeatTimeout,
		RetryPolicy: retryPolicy(), WaitForCancellation: true, Summary: step.GetTitle(),
	})
}
