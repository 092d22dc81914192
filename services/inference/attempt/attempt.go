// Package attempt carries out one model call over the targets of its chain: what an attempt failed with decides whether the call goes to
// the next key or target, is compacted, or ends. An attempt whose answer has begun ends the stream; its caller requests the rest of the
// chain with the attempts so far, after it has reset the message.
package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/health"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/route"
)

// Call is one model call.
type Call struct {
	// Targets are the models that may answer, in order; at least one.
	Targets []catalog.Model
	// Request is what they are asked.
	Request provider.Request
	// Made are the attempts so far, all of which failed.
	Made []*turnv1.ModelAttempt
	// MaxAttempts bounds the attempts, those so far included; 0 = no limit. Time bounds the rest of the call; 0 = no limit.
	MaxAttempts int
	Time        time.Duration
	// Principal is for whom the call is made; nil = policy is not asked.
	Principal *policyv1.Principal
	// Session keeps to one key.
	Session string
	// SwitchOnFilter requests an answer that a content filter ended from the next target.
	SwitchOnFilter bool
}

// Receiver receives an answer. An error of it ends the call and is returned.
type Receiver interface {
	// Piece takes the next piece, which is not empty.
	Piece(d provider.Delta) error
	// Attempt takes an attempt that failed; or, without a class, one that starts after another one has failed.
	Attempt(a *turnv1.ModelAttempt) error
	// Finish takes the whole answer, after its pieces, and the attempt that gave it.
	Finish(a *modelcall.Answer, by *turnv1.ModelAttempt) error
}

// Caller makes model calls. It is safe for concurrent use.
type Caller struct {
	calls  *modelcall.Caller
	models *catalog.Catalog
	policy route.Policy
	health *health.Table
}

// New returns a caller.
func New(calls *modelcall.Caller, models *catalog.Catalog, policy route.Policy, table *health.Table) *Caller {
	return &Caller{calls, models, policy, table}
}

// errTime is why the context of a call ends when its time is over.
var errTime = errors.New("the time of the model call is over")

// Generate makes a model call. It attempts each target once at most, beginning with those that have been attempted least. An error after
// attempts on several targets names all of them.
func (c *Caller) Generate(ctx context.Context, call Call, to Receiver) error {
	r := &run{caller: c, Call: call, to: to, made: call.Made}
	r.preferAble()
	r.floor, _ = r.least(-1)
	if call.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, call.Time, errTime)
		defer cancel()
	}
	for {
		target := r.pick(ctx)
		if target == nil && len(r.failed) == 0 && r.raise() {
			continue // none of those that were tried least can be called now
		}
		if target == nil {
			return r.failure()
		}
		done, err := r.attempt(ctx, target)
		if done {
			return err
		}
	}
}

// Ask makes a call that is not a conversation, with the key that it is given; a zero key is the provider's own.
type Ask func(ctx context.Context, m catalog.Model, key secret.Value) (modelcall.Report, error)

// Do makes a call of call's targets as Generate does, with ask in place of the conversation, and returns the attempts, of which the last
// one succeeded if there is no error. Of the request, only the turn counts.
func (c *Caller) Do(ctx context.Context, call Call, ask Ask) ([]*turnv1.ModelAttempt, error) {
	r := &run{caller: c, Call: call, to: discard{}, ask: ask}
	for {
		target := r.pick(ctx)
		if target == nil {
			return r.made, r.failure()
		}
		if done, err := r.attempt(ctx, target); done {
			return r.made, err
		}
	}
}

// discard is the receiver of a call that is not a conversation.
type discard struct{}

// Piece implements Receiver.
func (discard) Piece(provider.Delta) error { return nil }

// Attempt implements Receiver.
func (discard) Attempt(*turnv1.ModelAttempt) error { return nil }

// Finish implements Receiver.
func (discard) Finish(*modelcall.Answer, *turnv1.ModelAttempt) error { return nil }

// run is a call under way.
type run struct {
	Call
	caller *Caller
	to     Receiver
	ask    Ask                    // makes the call; nil for a conversation
	made   []*turnv1.ModelAttempt // all so far
	floor  int                    // number of attempts of the targets that are tried now
	failed []error                // of the attempts of this run
	begun  bool                   // the answer of the last attempt had begun
	closed []string               // why keys are not called
	notes  []string               // warnings about the order of the targets
	from   time.Time              // when the first of those that cool down may be called again; zero = none does
}

// tried returns the number of attempts on a target, and whether it must not be attempted again. Those that failed for one of several keys
// do not count.
func (r *run) tried(model string) (n int, lost bool) {
	for _, a := range r.made {
		if a.GetModel() == model && !(a.GetKey() != "" && keys(a.GetClass())) {
			n++
			lost = lost || lasting(a.GetClass())
		}
	}
	return n, lost
}

// least returns the smallest number of attempts, above another number, on a target that may be attempted again; false if there is none.
func (r *run) least(above int) (least int, ok bool) {
	for _, t := range r.Targets {
		if n, lost := r.tried(t.FullName()); !lost && n > above && (!ok || n < least) {
			least, ok = n, true
		}
	}
	return least, ok
}

// raise turns to the targets that have been attempted more often. It reports whether there are any.
func (r *run) raise() (ok bool) {
	r.floor, ok = r.least(r.floor)
	return ok
}

// spent reports whether no further attempt may be made.
func (r *run) spent() bool { return r.MaxAttempts > 0 && len(r.made) >= r.MaxAttempts }

// left returns the targets that are still to be tried, in order.
func (r *run) left() (out []catalog.Model) {
	if r.spent() {
		return nil
	}
	for _, t := range r.Targets {
		if n, lost := r.tried(t.FullName()); !lost && n == r.floor {
			out = append(out, t)
		}
	}
	return out
}

// attempt attempts a target. It is done unless the next one is to be tried.
func (r *run) attempt(ctx context.Context, target *picked) (done bool, err error) {
	a := &turnv1.ModelAttempt{Model: target.FullName(), Key: target.key.Alias, StartTime: timestamppb.Now()}
	defer func() { r.release(target.trials) }()
	began := time.Now()
	if len(r.made) > 0 {
		if err := r.to.Attempt(&turnv1.ModelAttempt{Model: a.GetModel(), Key: a.GetKey(), StartTime: a.GetStartTime()}); err != nil {
			return true, err
		}
	}
	if target.unread != nil {
		return r.fails(a, unread(target.unread), target.unread)
	}
	why, err := r.caller.policy.Denied(ctx, r.Principal, target.FullName())
	if err != nil {
		return true, fmt.Errorf("ask policy about %s: %w", target.FullName(), err)
	}
	if why != "" {
		return r.fails(a, denied, fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "%s: %s", target.FullName(), why))
	}
	o := &observed{run: r, attempt: a, began: began}
	req := r.Request
	req.APIKey = target.key.Value
	var report modelcall.Report
	if r.ask == nil {
		report, err = r.caller.calls.Generate(ctx, target.Model, req, o)
	} else if report, err = r.ask(ctx, target.Model, req.APIKey); err == nil {
		o.rest = report.Rest
		a.Class, a.DurationMs, a.Usage = answered, millis(time.Since(began)), usage(report.Usage)
		r.made = append(r.made, a)
	}
	if err == nil {
		r.worked(target, o.rest)
		return true, nil
	}
	a.DurationMs, a.Usage = millis(time.Since(began)), usage(report.Usage)
	if report.First > 0 {
		a.FirstTokenMs = millis(report.First)
	}
	switch {
	case errors.Is(context.Cause(ctx), errTime):
		err = fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "%s did not answer in time", target.FullName())
	case ctx.Err() != nil, o.err != nil:
		return true, err
	}
	class := classify(err, report.First > 0)
	if !report.Unsent {
		r.noteFailure(target, class, err)
	}
	done, err = r.fails(a, class, err)
	switch {
	case done:
		return true, err
	case errors.Is(context.Cause(ctx), errTime):
		return true, r.over()
	case report.First > 0:
		r.begun = true
		return true, r.failure()
	}
	return false, nil
}

// fails reports a failed attempt. It is done if that ends the call.
func (r *run) fails(a *turnv1.ModelAttempt, class turnv1.AttemptClass, err error) (done bool, _ error) {
	fail(a, class, err)
	r.made, r.failed = append(r.made[:len(r.made):len(r.made)], a), append(r.failed, err)
	if sendErr := r.to.Attempt(a); sendErr != nil {
		return true, sendErr
	}
	return ends(class), err
}

// observed is the receiver of one attempt.
type observed struct {
	run     *run
	attempt *turnv1.ModelAttempt
	began   time.Time
	rest    time.Duration // how long the key takes no further calls
	err     error         // of the receiver
}

// Piece implements modelcall.Receiver.
func (o *observed) Piece(d provider.Delta) error {
	o.err = o.run.to.Piece(d)
	return o.err
}

// Finish implements modelcall.Receiver.
func (o *observed) Finish(answer *modelcall.Answer) error {
	a := o.attempt
	if answer.Reason == provider.ContentFilter && o.run.SwitchOnFilter && o.run.others(a.GetModel()) {
		return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "the content filter of %s ended the answer", a.GetModel()).
			Cause(errFiltered)
	}
	o.rest = answer.Rest
	answer.Warnings = append(slices.Clone(o.run.notes), answer.Warnings...)
	a.Class, a.DurationMs, a.Usage = answered, millis(time.Since(o.began)), usage(answer.Usage)
	if answer.First > 0 {
		a.FirstTokenMs = millis(answer.First)
	}
	o.err = o.run.to.Finish(answer, a)
	return o.err
}

// others reports whether a target other than this one may still be attempted.
func (r *run) others(model string) bool {
	if r.MaxAttempts > 0 && len(r.made)+1 >= r.MaxAttempts {
		return false
	}
	for _, t := range r.Targets {
		if _, lost := r.tried(t.FullName()); !lost && t.FullName() != model {
			return true
		}
	}
	return false
}
