package attempt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// atOnce is the pause before the rest of a chain is requested.
const atOnce = time.Millisecond

// failure returns the error of a call without an answer. It can be retried if a target remains, or if one of those that failed may recover;
// then it says when the first of them may be called again.
func (r *run) failure() error {
	text, several := r.summary()
	if r.begun && len(r.left()) > 0 {
		return fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "%s", text).RetryAfter(atOnce)
	}
	if len(r.failed) == 0 && !r.from.IsZero() {
		return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "%s", text).
			Hint("Try again later.").RetryAfter(max(time.Until(r.from), time.Millisecond))
	}
	if len(r.failed) == 0 && len(r.closed) > 0 {
		return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "%s", text).Hint("Check the keys in inference.keys.")
	}
	if len(r.failed) == 0 {
		return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "%s", text).Hint("Check the models of the agent or its route.")
	}
	err := r.failed[len(r.failed)-1]
	for _, e := range r.failed {
		if fault.Retryable(e) && (!fault.Retryable(err) || fault.From(e).Retry < fault.From(err).Retry) {
			err = e
		}
	}
	if _, recovers := r.least(0); recovers && !r.spent() && !fault.Retryable(err) { // one that failed before this run
		return fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "%s", text).Hint("%s", fault.From(err).Todo)
	}
	f := fault.From(err)
	if !r.from.IsZero() && fault.Retryable(err) { // a key recovers at a known time, which may be earlier
		if wait := max(time.Until(r.from), time.Millisecond); f.Retry > wait {
			f.Retry = wait
		}
	}
	if !several {
		return err
	}
	return fault.New(f.Code, f.Reason, "%s", text).Hint("%s", f.Todo).RetryAfter(f.Retry).Cause(err)
}

// over returns the error of a call whose time is over.
func (r *run) over() error {
	text, _ := r.summary()
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_MODEL_UNAVAILABLE, "%s", text).
		Hint("Raise the time of model calls (worker.model_time), or use a faster model.")
}

// summary says which targets were attempted and why each failed, which keys were not called and why, and whether there were several parts.
func (r *run) summary() (text string, several bool) {
	var order []string
	last, times := map[string]string{}, map[string]int{}
	for _, a := range r.made {
		name := a.GetModel()
		if a.GetKey() != "" {
			name += " (key " + a.GetKey() + ")"
		}
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
		last[name], times[name] = a.GetMessage(), times[name]+1
	}
	parts := make([]string, len(order))
	for i, name := range order {
		parts[i] = name + ": " + last[name]
		if times[name] > 1 {
			parts[i] = fmt.Sprintf("%s, %d times: %s", name, times[name], last[name])
		}
	}
	parts = slices.Concat(parts, r.closed)
	return "no model answered: " + strings.Join(parts, "; "), len(parts) > 1
}
