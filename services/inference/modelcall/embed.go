package modelcall

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/telemetry"
	"github.com/windlass-dev/windlass/libs/tokens"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/parts"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/retrieval"
)

// errLate is why the context of a request without a stream ends.
var errLate = errors.New("no answer in time")

// Batches splits texts into those of one request each, in order.
func (c *Caller) Batches(m catalog.Model, texts []string) ([][]string, error) {
	p, ok := m.Provider.Provider.(retrieval.Embedder)
	if !ok {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "the provider %q of kind %s has no embeddings",
			m.Provider.Name, m.Provider.Kind.Name).Hint("Use a provider of kind openai, ollama, gemini or bedrock with an embedding model.")
	}
	limits, err := p.EmbedLimits(m.Name)
	if err != nil {
		return nil, err
	}
	var out [][]string
	sum := 0
	for _, text := range texts {
		n := tokens.Text(text)
		last := len(out) - 1
		if last < 0 || len(out[last]) >= limits.Texts || limits.Tokens > 0 && sum+n > limits.Tokens {
			out, last, sum = append(out, nil), last+1, 0
		}
		out[last], sum = append(out[last], text), sum+n
	}
	return out, nil
}

// Embed makes vectors of the texts of one of the Batches. The request's model and key are set here; a zero key is the provider's own.
func (c *Caller) Embed(
	ctx context.Context, m catalog.Model, req retrieval.EmbedRequest, key secret.Value, turnID string,
) (got retrieval.Embedded, report Report, err error) {
	p, _ := m.Provider.Provider.(retrieval.Embedder) // Batches has checked it
	err = c.request(ctx, "embeddings", m, key, turnID, func(ctx context.Context, key secret.Value) (*provider.Usage, error) {
		req.Model, req.APIKey = m.Name, key
		if got, err = p.Embed(ctx, req); err != nil {
			return nil, err
		}
		if got.Usage == nil {
			got.Usage = &provider.Usage{Input: estimated(req.Texts...)}
			got.Estimated = true
		}
		got.Usage = clamp(*got.Usage)
		return got.Usage, retrieval.CheckVectors(m.Provider.Name, req, got.Vectors)
	})
	return got, Report{Usage: got.Usage, Rest: got.Rest}, err
}

// Rerank orders documents. The request's model and key are set here.
func (c *Caller) Rerank(
	ctx context.Context, m catalog.Model, req retrieval.RerankRequest, key secret.Value, turnID string,
) (got retrieval.Reranked, report Report, err error) {
	p, ok := m.Provider.Provider.(retrieval.Reranker)
	if !ok {
		return got, Report{Unsent: true}, fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED,
			"the provider %q of kind %s has no reranking", m.Provider.Name, m.Provider.Kind.Name).
			Hint("Use a provider of kind openai at a server with /rerank, such as vLLM, or bedrock, with a reranking model.")
	}
	err = c.request(ctx, "rerank", m, key, turnID, func(ctx context.Context, key secret.Value) (*provider.Usage, error) {
		req.Model, req.APIKey = m.Name, key
		if got, err = p.Rerank(ctx, req); err != nil {
			return nil, err
		}
		if got.Usage == nil {
			got.Usage = &provider.Usage{Input: estimated(append([]string{req.Query}, req.Documents...)...)}
			got.Estimated = true
		}
		got.Usage = clamp(*got.Usage)
		got.Ranks, err = retrieval.CheckRanks(m.Provider.Name, req, got.Ranks)
		return got.Usage, err
	})
	return got, Report{Usage: got.Usage, Rest: got.Rest}, err
}

// Count counts the tokens of a conversation. note says why the count is an estimate; it is "" for a provider's count.
func (c *Caller) Count(
	ctx context.Context, m catalog.Model, req provider.Request, key secret.Value,
) (n int64, note string, report Report, err error) {
	target := parts.Target{Name: m.FullName(), Sheet: c.catalog.Sheet(m), TurnID: req.TurnID}
	if req.Messages, _, err = c.fitter.Fit(ctx, target, req.Messages); err != nil {
		return 0, "", Report{Unsent: true}, err
	}
	p, ok := m.Provider.Provider.(retrieval.TokenCounter)
	if !ok {
		return estimate(req, 0).Input, "providers of kind " + m.Provider.Kind.Name + " do not count tokens", Report{}, nil
	}
	err = c.request(ctx, "count_tokens", m, key, req.TurnID, func(ctx context.Context, key secret.Value) (*provider.Usage, error) {
		req.Model, req.APIKey = m.Name, key
		n, err = p.CountTokens(ctx, req)
		if errors.Is(err, retrieval.ErrNoCount) {
			n, note, err = estimate(req, 0).Input, "the server of "+m.Provider.Name+" does not count tokens", nil
		}
		return nil, err
	})
	return n, note, Report{}, err
}

// estimated estimates the tokens of texts.
func estimated(texts ...string) (sum int64) {
	for _, text := range texts {
		sum += int64(tokens.Text(text))
	}
	return max(sum, 1)
}

// request makes one request that is not streamed: with the provider's own key or a stored one unless there is one, within the time that a
// conversation has for its beginning and one pause, in a span, counted.
func (c *Caller) request(
	parent context.Context, what string, m catalog.Model, key secret.Value, turnID string,
	send func(context.Context, secret.Value) (*provider.Usage, error),
) (err error) {
	callers := !key.IsZero()
	if !callers {
		if key, callers, err = c.catalog.Key(parent, m, turnID); err != nil {
			return err
		}
	}
	span := trace.WithAttributes(
		attribute.String("gen_ai.operation.name", what), attribute.String("gen_ai.provider.name", m.Provider.Kind.Name),
		attribute.String("gen_ai.request.model", m.Name), attribute.String("windlass.provider", m.Provider.Name),
		attribute.String("windlass.turn.id", turnID),
	)
	ctx, s := telemetry.Tracer("services/inference").Start(parent, what+" "+m.Name, trace.WithSpanKind(trace.SpanKindClient), span)
	defer s.End()
	wait := c.limits.FirstTokenTimeout + c.limits.IdleTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errLate)
	defer cancel()
	used, err := send(ctx, key)
	switch {
	case err == nil:
	case parent.Err() != nil:
		err = parent.Err()
	case errors.Is(context.Cause(ctx), errLate):
		err = fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "%s did not answer within %s", m.FullName(), wait).
			Hint("Try again, or raise inference.first_token_timeout.").Cause(err)
	}
	if parent.Err() == nil && !callers {
		m.Provider.NoteResult(err)
	}
	c.meter.count(parent, m, 0, used, err)
	if err != nil {
		fail(s, err)
	}
	return err
}
