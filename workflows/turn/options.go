package turn

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

const (
	// heartbeatTimeout is how long a lost worker goes unnoticed. A false alarm does no harm: the step keeps its lease, and another worker
	// waits for its outcome.
	heartbeatTimeout  = 2 * time.Second
	heartbeatInterval = 800 * time.Millisecond
	// shortStep bounds one attempt of the begin and finish steps.
	shortStep = 10 * time.Second
	// beginPatience bounds all attempts of the begin step, finishPatience those of the finish step: a turn must have an end, so the
	// latter is for an operator to notice.
	beginPatience  = 10 * time.Minute
	finishPatience = 7 * 24 * time.Hour
	// deadlineGrace is how long after the turn's deadline a step may still record that it has passed.
	deadlineGrace = 30 * time.Second
)

// retryPolicy has no maximum of attempts: the step itself gives up, and records that in the journal.
func retryPolicy() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second}
}

// failureOf returns the error of a turn one of whose steps could not be run at all.
func failureOf(err error) *turnv1.TurnError {
	var timeout *temporal.TimeoutError
	var act *temporal.ActivityError
	var app *temporal.ApplicationError
	switch {
	case errors.As(err, &timeout), errors.As(err, &act) && act.RetryState() == enumspb.RETRY_STATE_TIMEOUT,
		errors.As(err, &app) && app.Type() == typeReleased: // the last attempt of a local activity, whose error does not say that its time is up
		return &turnv1.TurnError{Code: engine.CodeDeadline, Message: "The step did not come to an end in time."}
	case errors.As(err, &app) && app.Type() != "":
		return &turnv1.TurnError{Code: app.Type(), Message: app.Message()}
	default:
		return &turnv1.TurnError{Code: "internal", Message: "The step could not be done."}
	}
}
