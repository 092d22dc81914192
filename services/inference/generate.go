package inference

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/telemetry"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// Generate implements InferenceService.
func (s *Service) Generate(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	m, err := s.catalog.resolve(req.GetModel(), codes.InvalidArgument)
	if err != nil {
		return err
	}
	return s.converse(stream.Context(), m, req, stream)
}

// converse makes one model call.
func (s *Service) converse(ctx context.Context, m model, req *inferencev1.GenerateRequest, to sender) error {
	key, callers, err := s.credentials(ctx, m, req.GetTurnId())
	if err != nil {
		return err
	}
	c := &conversation{
		service: s, model: m, key: key, callers: callers, req: req, stream: to, answer: newAnswer(min(int(s.cfg.MaxResponse), maxAnswer)),
	}
	return c.run(ctx)
}

// credentials returns the API key of a call, zero if the provider has it, and whether it is that of the request.
func (s *Service) credentials(ctx context.Context, m model, turnID string) (key secret.Value, callers bool, err error) {
	if key, err = s.keyOf(ctx, m, turnID); err != nil || !key.IsZero() {
		return key, true, err
	}
	key, err = s.storedKey(m.provider)
	return key, false, err
}

// sender receives an answer.
type sender interface {
	Send(m *inferencev1.GenerateResponse) error
}

// conversation is one model call under way.
type conversation struct {
	service *Service
	model   model
	key     secret.Value // zero = the provider has it
	callers bool         // the key is that of the request
	req     *inferencev1.GenerateRequest
	stream  sender
	answer  *answer

	started  time.Time
	first    time.Duration // until the first piece, 0 while there is none
	watch    *time.Timer
	finished *inferencev1.Finished
}

var (
	errNoFirstToken = errors.New("no first token in time")
	errSilent       = errors.New("silent for too long")
)

// run calls the provider under a watch: the call's context ends when the model is silent for too long.
func (c *conversation) run(parent context.Context) (err error) {
	c.started = time.Now()
	ctx, span := telemetry.Tracer("services/inference").Start(parent, "chat "+c.model.name,
		trace.WithSpanKind(trace.SpanKindClient), describe(c.model, c.req))
	defer span.End()
	defer func() {
		if parent.Err() == nil && !c.callers { // that a caller's key is refused says nothing about the provider
			c.model.provider.reach.note(err)
		}
		c.service.meter.record(parent, c.model, c.first, c.finished, err)
		conclude(span, c.finished, err)
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.watch = time.AfterFunc(c.service.cfg.FirstTokenTimeout, func() { cancel(errNoFirstToken) })
	defer func() { c.watch.Stop() }()

	if err := faultpoint.Fail(faultpoint.ModelAsked); err != nil {
		return err
	}
	end, err := c.model.provider.Generate(ctx, c.request(), func(d provider.Delta) error {
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
	c.finished.Model = c.model.full()
	return c.stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_Finished{Finished: c.finished}})
}

// request converts the request.
func (c *conversation) request() provider.Request {
	r := requestFromProto(c.req, c.model.name)
	r.APIKey = c.key
	return r
}

// keyOf returns the API key in the provider data of the request that a call is part of; zero for the provider's own.
func (s *Service) keyOf(ctx context.Context, m model, turnID string) (secret.Value, error) {
	from := m.provider.keyFrom
	if from == "" {
		return secret.Value{}, nil
	}
	d, err := s.sealer.Open(providerdata.Incoming(ctx), providerdata.OfTurn(authn.Tenant(ctx), turnID))
	if err != nil {
		return secret.Value{}, err
	}
	key, ok := d.Text(from)
	switch {
	case ok && !httpguts.ValidHeaderFieldValue(key.Reveal()):
		return secret.Value{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"the value of the key %q in the header %s is no API key", from, providerdata.Header)
	case ok && !key.IsZero():
		return key, nil
	case m.provider.keyless:
		return secret.Value{}, providerdata.Missing(fmt.Sprintf("the model %q", m.full()), from)
	}
	return secret.Value{}, nil
}

// storedKey returns the provider's key if it is a stored secret; else zero. The secret is of the tenant that the configuration names,
// for callers of all tenants: the operator lends the provider to all tenants.
func (s *Service) storedKey(p *source) (secret.Value, error) {
	if p.stored == "" {
		return secret.Value{}, nil
	}
	r := envref.New(envref.Config{Owner: "inference", Vault: s.vault}, p.tenant)
	key := r.Resolve("api_key", p.stored)
	switch {
	case r.Err != nil:
		return secret.Value{}, r.Err
	case len(r.Wrong) > 0:
		return secret.Value{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the key of provider %q: %s", p.name,
			r.Wrong[0].Message)
	case !httpguts.ValidHeaderFieldValue(key):
		return secret.Value{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the key of provider %q is no API key", p.name)
	}
	return secret.New(key), nil
}

// take passes a piece on and winds the watch up again. A piece that says nothing is a sign of life only once the answer has
// begun. The watch stands still while a slow reader makes us wait.
func (c *conversation) take(ctx context.Context, cancel context.CancelCauseFunc, d provider.Delta) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	d, err := c.answer.add(d)
	if err != nil {
		return err
	}
	msg := deltaToProto(d)
	if msg == nil && c.first == 0 {
		return nil
	}
	c.watch.Stop()
	if c.first == 0 {
		c.first = time.Since(c.started)
		c.watch = time.AfterFunc(c.service.cfg.IdleTimeout, func() { cancel(errSilent) })
		c.watch.Stop()
	}
	if msg != nil {
		if err := c.stream.Send(msg); err != nil {
			return err
		}
		faultpoint.Hit(faultpoint.ModelSaid)
	}
	c.watch.Reset(c.service.cfg.IdleTimeout)
	return nil
}

// explain tells the end of the caller's patience and ours from the provider's failures.
func (c *conversation) explain(parent, ctx context.Context, err error) error {
	if cause := parent.Err(); cause != nil {
		return cause
	}
	cfg := c.service.cfg
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errNoFirstToken):
		return fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "%s did not begin to answer within %s",
			c.model.full(), cfg.FirstTokenTimeout).Hint("Try again, or raise inference.first_token_timeout.").Cause(err)
	case errors.Is(cause, errSilent):
		return fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "%s was silent for %s in the middle of its answer",
			c.model.full(), cfg.IdleTimeout).Hint("Try again, or raise inference.idle_timeout.").Cause(err)
	}
	if fault.As(err) == nil {
		return fmt.Errorf("%s: %w", c.model.full(), err)
	}
	return err
}
