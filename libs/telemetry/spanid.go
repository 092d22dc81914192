package telemetry

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"
)

type spanIDKey struct{}

// WithSpanID sets the id of the span that is started with ctx, for work that several processes report as one span. It only affects spans
// with a parent.
func WithSpanID(ctx context.Context, id trace.SpanID) context.Context {
	return context.WithValue(ctx, spanIDKey{}, id)
}

// idGenerator generates random ids, except for spans whose id was set.
type idGenerator struct{}

// NewIDs implements the SDK's IDGenerator.
func (g idGenerator) NewIDs(context.Context) (id trace.TraceID, span trace.SpanID) {
	for !id.IsValid() {
		_, _ = rand.Read(id[:]) // never fails
	}
	return id, g.NewSpanID(context.Background(), id)
}

// NewSpanID implements the SDK's IDGenerator.
func (idGenerator) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	if chosen, ok := ctx.Value(spanIDKey{}).(trace.SpanID); ok && chosen.IsValid() {
		return chosen
	}
	for !id.IsValid() {
		_, _ = rand.Read(id[:]) // never fails
	}
	return id
}
