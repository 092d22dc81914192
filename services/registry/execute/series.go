package execute

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/windlass-dev/windlass/libs/metrics"
)

// series are values by labels: as many as were changed last. It is safe for concurrent use.
type series[T any] struct {
	fresh func() T

	mu     sync.Mutex
	values *simplelru.LRU[labels, *measured[T]]
}

// measured is a value, when it began and when it last changed.
type measured[T any] struct {
	value       T
	begin, last time.Time
}

func newSeries[T any](most int, fresh func() T) (*series[T], error) {
	values, err := simplelru.NewLRU[labels, *measured[T]](most, nil)
	return &series[T]{fresh: fresh, values: values}, err
}

func (s *series[T]) update(l labels, change func(T)) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.values.Get(l)
	if !ok {
		m = &measured[T]{value: s.fresh(), begin: now}
		s.values.Add(l, m)
	}
	m.last = now
	change(m.value)
}

// forget drops values.
func (s *series[T]) forget(which func(labels) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.values.Keys() {
		if which(l) {
			s.values.Remove(l)
		}
	}
}

// each calls do with the values, after those that have not changed for long are dropped.
func (s *series[T]) each(now time.Time, do func(labels, *measured[T])) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.values.Keys() {
		if m, ok := s.values.Peek(l); ok && now.Sub(m.last) > forgottenAfter {
			s.values.Remove(l)
		} else if ok {
			do(l, m)
		}
	}
}

type count struct{ n int64 }

// histogram counts durations.
type histogram struct {
	buckets []uint64
	count   uint64
	sum     float64
}

func (h *histogram) add(seconds float64) {
	at, _ := slices.BinarySearch(metrics.ToolSeconds.Bounds, seconds)
	h.buckets[at]++
	h.count++
	h.sum += seconds
}

// Produce implements the OpenTelemetry SDK's Producer.
func (m *Metrics) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	now := time.Now()
	calls := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	m.calls.each(now, func(l labels, c *measured[*count]) {
		calls.DataPoints = append(calls.DataPoints, metricdata.DataPoint[int64]{
			Attributes: l.ofCall(), StartTime: c.begin, Time: now, Value: c.value.n,
		})
	})
	durations := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
	m.duration.each(now, func(l labels, h *measured[*histogram]) {
		durations.DataPoints = append(durations.DataPoints, metricdata.HistogramDataPoint[float64]{
			Attributes: l.ofTool(), StartTime: h.begin, Time: now, Count: h.value.count, Sum: h.value.sum, Bounds: metrics.ToolSeconds.Bounds,
			BucketCounts: slices.Clone(h.value.buckets),
		})
	})
	return []metricdata.ScopeMetrics{{
		Scope: instrumentation.Scope{Name: "github.com/windlass-dev/windlass/services/registry"},
		Metrics: []metricdata.Metrics{
			metrics.ToolCalls.Data(calls),
			metrics.ToolSeconds.Data(durations),
		},
	}}, nil
}
