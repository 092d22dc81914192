package turn

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

const (
	// heartbeatTimeout is how long a lost worker goes unnoticed; beat is how often a living one tells. A false alarm does no harm: the
	// step keeps its lease, and another worker waits for its outcome.
	heartbeatTimeout = 2 * time.Second
	beat             = 800 * time.Millisecond
	// shortStep bounds one attempt of the begin and finish steps.
	shortStep = 10 * time.Second
	// beginPatience bounds all attempts of the begin step, finishPatience those of the finish step: a turn must have an end, so only
	// an operator should ever see the latter pass.
	beginPatience  = 10 * time.Minute
	finishPatience = 7 * 24 * time.Hour
	// deadlineGrace is how long after the turn's deadline a step may still write down that it passed.
	deadlineGrace = 30 * time.Second
)

// do runs one step as one activity and gives its outcome, and what else was done meanwhile.
func (w *walk) do(ctx workflow.Context, step *turnv1.StepRef) (*turnv1.Progress, error) {
	var act *Activities // typed nil: only the methods' names are used
	var out *turnv1.Progress
	var err error
	since := w.since()
	switch step.GetKind() {
	case turnv1.StepKind_STEP_KIND_BEGIN:
		err = workflow.ExecuteLocalActivity(w.short(w.work, step, beginPatience), act.Begin, w.in, step, since).Get(ctx, &out)
	case turnv1.StepKind_STEP_KIND_FINISH: // not stopped by anything
		err = workflow.ExecuteLocalActivity(w.short(w.ctx, step, finishPatience), act.Finish, w.in, step, since).Get(ctx, &out)
	case turnv1.StepKind_STEP_KIND_INFER:
		err = workflow.ExecuteActivity(w.long(w.work, step), act.Infer, w.in, step, since).Get(ctx, &out)
	case turnv1.StepKind_STEP_KIND_SELECT:
		err = workflow.ExecuteActivity(w.long(w.work, step), act.Select, w.in, step, since).Get(ctx, &out)
	case turnv1.StepKind_STEP_KIND_PLAN:
		err = workflow.ExecuteActivity(w.long(w.work, step), act.Plan, w.in, step, since).Get(ctx, &out)
	case turnv1.StepKind_STEP_KIND_COMPACT:
		err = workflow.ExecuteActivity(w.long(w.work, step), act.Compact, w.in, step, since).Get(ctx, &out)
	default:
		err = workflow.ExecuteActivity(w.long(w.work, step), act.Tool, w.in, step, since).Get(ctx, &out)
	}
	return out, err
}

// joinRun waits briefly for the eager run of the turn, which may be under way already, and learns its outcomes. Without them the workflow runs the steps.
func (w *walk) joinRun() {
	var act *Activities
	ctx := workflow.WithLocalActivityOptions(w.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: shortStep, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: "join the eager run",
	})
	if w.parked && w.hear() == nil {
		w.looked = w.woken // what it was woken for is in the journal, which is read here
	}
	var out *turnv1.Progress
	if err := workflow.ExecuteLocalActivity(ctx, act.Glance, w.in).Get(w.ctx, &out); err != nil {
		workflow.GetLogger(w.ctx).Debug("the eager run was not joined", "error", err)
	}
	w.learnTime(out)
	for _, o := range out.GetOutcomes() {
		if w.shown(o) {
			w.walked[o.GetKey()] = true
			w.learn(o)
		}
	}
	if w.continued() {
		w.inherited()
	}
	for _, o := range out.GetOutcomes() {
		w.learn(o)
	}
	w.describe()
}

// short is for steps that only read and write: local activities, which save a round trip through the server.
func (w *walk) short(ctx workflow.Context, step *turnv1.StepRef, patience time.Duration) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: patience, StartToCloseTimeout: shortStep, RetryPolicy: retryPolicy(), Summary: step.GetTitle(),
	})
}

// long is for steps that wait for a model or a tool. A step that is stopped is waited for: it still writes what it has.
func (w *walk) long(ctx workflow.Context, step *turnv1.StepRef) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: w.remaining(step), HeartbeatTimeout: heartbeatTimeout,
		RetryPolicy: retryPolicy(), WaitForCancellation: true, Summary: step.GetTitle(),
	})
}

// retryPolicy knows no number of attempts: the step itself gives up, and says so in the journal.
func retryPolicy() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second}
}

// failureOf says why a step could not be done at all.
func failureOf(err error) *turnv1.TurnError {
	var timeout *temporal.TimeoutError
	var act *temporal.ActivityError
	var app *temporal.ApplicationError
	switch {
	case errors.As(err, &timeout), errors.As(err, &act) && act.RetryState() == enumspb.RETRY_STATE_TIMEOUT,
		errors.As(err, &app) && app.Type() == typeLetGo: // the last attempt of a local activity, whose error does not tell that its time is up
		return &turnv1.TurnError{Code: engine.CodeDeadline, Message: "The step did not come to an end in time."}
	case errors.As(err, &app) && app.Type() != "":
		return &turnv1.TurnError{Code: app.Type(), Message: app.Message()}
	default:
		return &turnv1.TurnError{Code: "internal", Message: "The step could not be done."}
	}
}
