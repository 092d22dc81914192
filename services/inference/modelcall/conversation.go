// Package modelcall makes model calls: one conversation, streamed, under a watch, or the moderation of texts.
package modelcall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/telemetry"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/parts"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/feature"
	"github.com/windlass-dev/windlass/services/inference/provider/structured"
)

// Limits bound model calls.
type Limits struct {
	FirstTokenTimeout time.Duration `yaml:"first_token_timeout" default:"30s" doc:"How long a model may take until the first piece of its answer. Raise it for models that think long in silence."`
	IdleTimeout       time.Duration `yaml:"idle_timeout" default:"20s" doc:"How long a model may be silent in the middle of an answer."`
	MaxResponse       config.Size   `yaml:"max_response" default:"64MiB" doc:"Maximum bytes read per answer; each token comes with a few hundred bytes around it."`
}

// Check returns an error unless all limits are positive.
func (l Limits) Check() error {
	if l.FirstTokenTimeout <= 0 || l.IdleTimeout <= 0 || l.MaxResponse <= 0 {
		return errors.New("first_token_timeout, idle_timeout and max_response must be positive")
	}
	return nil
}

// Caller calls models. It is safe for concurrent use.
type Caller struct {
	limits  Limits
	catalog *catalog.Catalog
	meter   *meter
	shaped  *structured.Caller
	fitter  *parts.Fitter
}

// New returns a caller of the models in a catalog. The limits must be valid.
func New(limits Limits, models *catalog.Catalog) (*Caller, error) {
	shaped, err := structured.New()
	if err != nil {
		return nil, err
	}
	fitter, err := parts.New()
	return &Caller{limits: limits, catalog: models, meter: newMeter(), shaped: shaped, fitter: fitter}, err
}

// Receiver receives an answer. An error of it ends the call and is returned.
type Receiver interface {
	// Piece takes the next piece, which is not empty.
	Piece(d provider.Delta) error
	// Finish takes the whole answer, after its pieces.
	Finish(a *Answer) error
}

// Report says what a call came to, whether it failed or not.
type Report struct {
	// First is the time until the first piece, 0 without one.
	First time.Duration
	// Usage is what the call used; an estimate if it failed after the first piece, nil if it failed before.
	Usage *provider.Usage
	// Rest is how long the provider takes no further calls with this key, 0 if it does not say. It is not set for conversations, whose
	// answer has it.
	Rest time.Duration
	// Unsent: the provider was not called, so that the failure says nothing about it.
	Unsent bool
}

// Generate makes one model call. It sets the model and its window, and unless the request has one, the key. Failures are those that
// InferenceService.Generate lists.
func (c *Caller) Generate(ctx context.Context, m catalog.Model, req provider.Request, to Receiver) (Report, error) {
	if err := req.Check(c.catalog.Features(m), m.FullName()); err != nil {
		return Report{}, err
	}
	callers := !req.APIKey.IsZero() // one of several keys says nothing about the provider
	if !callers {
		var err error
		if req.APIKey, callers, err = c.catalog.Key(ctx, m, req.TurnID); err != nil {
			return Report{}, err
		}
	}
	req.Model = m.Name
	window, _ := c.catalog.Window(m)
	req.ContextWindow = int(window)
	target := parts.Target{Name: m.FullName(), Sheet: c.catalog.Sheet(m), Strict: req.RefuseContent, TurnID: req.TurnID}
	fitted, warnings, err := c.fitter.Fit(ctx, target, req.Messages)
	if err != nil {
		return Report{Unsent: true}, err
	}
	req.Messages = fitted
	if !target.Sheet.Tools && len(req.Tools) > 0 {
		if req.Forces() != "" {
			return Report{}, fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "%s calls no tools, but %s is %q",
				m.FullName(), feature.ToolChoice, req.Forces()).Hint("Leave it out, or use another model.")
		}
		req.Tools = nil
		warnings = append(warnings, m.FullName()+" calls no tools: none is offered to it")
	}
	call := &conversation{
		caller: c, model: m, callers: callers, req: req, to: to, warnings: warnings,
		answer: newCollector(min(int(c.limits.MaxResponse), maxAnswer)),
	}
	err = call.run(ctx)
	out := Report{First: call.first}
	switch {
	case call.finished != nil:
		out.Usage = call.finished.Usage
	case call.first > 0:
		out.Usage = estimate(req, call.answer.tokens()+call.answer.withheld/bytesPerToken)
	}
	return out, err
}

// bytesPerToken estimates the tokens of what was withheld until the call failed.
const bytesPerToken = 4

// conversation is one model call under way.
type conversation struct {
	caller  *Caller
	model   catalog.Model
	callers bool // the key is that of the request
	req     provider.Request
	to      Receiver
	answer  *collector
	// warnings say what of the conversation was left out.
	warnings []string

	started  time.Time
	first    time.Duration // until the first piece, 0 while there is none
	watch    *time.Timer
	finished *Answer
}

var (
	errNoFirstToken = errors.New("no first token in time")
	errSilent       = errors.New("silent for too long")
)

// run calls the provider under a watch: the call's context ends when the model is silent for too long.
func (c *conversation) run(parent context.Context) (err error) {
	c.started = time.Now()
	ctx, span := telemetry.Tracer("services/inference").Start(parent, "chat "+c.model.Name,
		trace.WithSpanKind(trace.SpanKindClient), describe(c.model, c.req))
	defer span.End()
	defer func() {
		if parent.Err() == nil && !c.callers { // a refused key of a caller is no failure of the provider
			c.model.Provider.NoteResult(err)
		}
		c.caller.meter.record(parent, c.model, c.first, c.finished, err)
		conclude(span, c.finished, err)
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.watch = time.AfterFunc(c.caller.limits.FirstTokenTimeout, func() { cancel(errNoFirstToken) })
	defer func() { c.watch.Stop() }()

	if err := faultpoint.Fail(faultpoint.ModelAsked); err != nil {
		return err
	}
	features := c.caller.catalog.Features(c.model)
	end, err := c.caller.shaped.Generate(ctx, c.model.Provider, features, c.model.FullName(), c.req, func(d provider.Delta) error {
		return c.take(ctx, cancel, d)
	})
	if err != nil {
		return c.explain(parent, ctx, err)
	}
	if err := parent.Err(); err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.ModelDone)
	for _, d := range c.answer.rest() {
		if err := c.take(ctx, cancel, d); err != nil {
			return c.explain(parent, ctx, err)
		}
	}
	if err := c.answer.check(end); err != nil {
		return err
	}
	c.finished = c.answer.finish(end, c.req)
	c.finished.Model, c.finished.First = c.model.FullName(), c.first
	c.finished.Warnings = append(c.warnings, c.finished.Warnings...)
	return c.to.Finish(c.finished)
}

// take passes a piece on and winds the watch up again. A piece without content is a sign of life only once the answer has
// begun, be it withheld. The watch stands still while a slow reader makes us wait.
func (c *conversation) take(ctx context.Context, cancel context.CancelCauseFunc, d provider.Delta) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	d, err := c.answer.add(d)
	if err != nil {
		return err
	}
	empty := d == provider.Delta{}
	if empty && c.first == 0 {
		return nil
	}
	c.watch.Stop()
	if c.first == 0 {
		c.first = time.Since(c.started)
		c.watch = time.AfterFunc(c.caller.limits.IdleTimeout, func() { cancel(errSilent) })
		c.watch.Stop()
	}
	if d.Withheld = 0; d != (provider.Delta{}) {
		if err := c.to.Piece(d); err != nil {
			return err
		}
		faultpoint.Hit(faultpoint.ModelSaid)
	}
	c.watch.Reset(c.caller.limits.IdleTimeout)
	return nil
}

// explain distinguishes timeouts of the caller and of ours from the provider's failures.
func (c *conversation) explain(parent, ctx context.Context, err error) error {
	if cause := parent.Err(); cause != nil {
		return cause
	}
	limits := c.caller.limits
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errNoFirstToken):
		return fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "%s did not begin to answer within %s",
			c.model.FullName(), limits.FirstTokenTimeout).Hint("Try again, or raise inference.first_token_timeout.").Cause(err)
	case errors.Is(cause, errSilent):
		return fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "%s was silent for %s in the middle of its answer",
			c.model.FullName(), limits.IdleTimeout).Hint("Try again, or raise inference.idle_timeout.").Cause(err)
	}
	if fault.As(err) == nil {
		return fmt.Errorf("%s: %w", c.model.FullName(), err)
	}
	return err
}
