package journal

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// meter records how long turns take, as their users see it: from acceptance on.
type meter struct{ turn, first metric.Float64Histogram }

func newMeter(log *slog.Logger) meter {
	from := otel.Meter("github.com/windlass-dev/windlass/services/sessions")
	var m meter
	var errs [2]error
	m.turn, errs[0] = from.Float64Histogram("windlass.turn", metric.WithUnit("s"),
		metric.WithDescription("Time from the acceptance of a turn to its end, waits for people included, by outcome."),
		metric.WithExplicitBucketBoundaries(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 21600, 86400))
	m.first, errs[1] = from.Float64Histogram("windlass.first_token", metric.WithUnit("s"),
		metric.WithDescription("Time from the acceptance of a turn to the first piece of its first answer."),
		metric.WithExplicitBucketBoundaries(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300))
	if err := errors.Join(errs[:]...); err != nil {
		log.Warn("durations of turns are not measured", "error", err)
	}
	return m
}

func (m meter) ended(ctx context.Context, t store.Turn) {
	m.turn.Record(ctx, t.EndTime.Sub(t.CreateTime).Seconds(), metric.WithAttributes(attribute.String("outcome", enum.Name(t.Status))))
}

// FirstToken says when a turn had the first piece of its first answer, once that stands.
func (tx *Tx) FirstToken(t store.Turn, at time.Time) { tx.first = at.Sub(t.CreateTime) }
