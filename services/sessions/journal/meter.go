package journal

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// meter records how long turns take, as their users see it: from acceptance on.
type meter struct{ turn, first metric.Float64Histogram }

func newMeter() meter {
	from := metrics.Process()
	return meter{turn: from.Histogram(metrics.TurnSeconds), first: from.Histogram(metrics.FirstTokenSeconds)}
}

func (m meter) ended(ctx context.Context, t store.Turn) {
	m.turn.Record(ctx, t.EndTime.Sub(t.CreateTime).Seconds(), metrics.TurnSeconds.Labelled(enum.Name(t.Status)))
}

// FirstToken says when a turn had the first piece of its first answer, once that stands.
func (tx *Tx) FirstToken(t store.Turn, at time.Time) { tx.first = at.Sub(t.CreateTime) }
