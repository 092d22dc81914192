package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/enum"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/totalsdb"
)

// gauges are read from the database at each collection, so all replicas report the same numbers, and a killed process takes none with it.
type gauges struct {
	active, turns, outbox, approvals, unresolved metric.Int64ObservableGauge
	oldestQueued, oldestStart, oldestApproval    metric.Float64ObservableGauge
	cost                                         metric.Float64ObservableCounter
	ended                                        metric.Int64ObservableCounter
}

func newGauges(from metric.Meter) (*gauges, error) {
	var g gauges
	var errs []error
	number := func(to *metric.Int64ObservableGauge, name, what string) {
		var err error
		*to, err = from.Int64ObservableGauge(name, metric.WithDescription(what+" All replicas report the same number."))
		errs = append(errs, err)
	}
	age := func(to *metric.Float64ObservableGauge, name, what string) {
		var err error
		*to, err = from.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(what+" All replicas report the same number."))
		errs = append(errs, err)
	}
	number(&g.active, "windlass.sessions.active", "Sessions with a turn that is queued, running or waiting.")
	number(&g.turns, "windlass.turns", "Turns that have not ended, by state: queued, running or waiting.")
	number(&g.outbox, "windlass.outbox.depth", "Turns whose workflow is to be started.")
	number(&g.approvals, "windlass.approvals.pending", "Tool calls that wait for an approval.")
	number(&g.unresolved, "windlass.unresolved.calls", "Tool calls with an unknown outcome that wait for a person.")
	age(&g.oldestQueued, "windlass.oldest_queued_turn", "Age of the oldest queued turn that no turn of its session precedes, 0 without one.")
	age(&g.oldestStart, "windlass.outbox.oldest", "Age of the oldest turn whose workflow is to be started, 0 without one.")
	age(&g.oldestApproval, "windlass.approvals.oldest", "Age of the oldest call that waits for an approval, 0 without one.")
	var err error
	g.ended, err = from.Int64ObservableCounter("windlass.turns.total", metric.WithDescription(
		"Turns that have ended, by outcome and stop reason. Counted in the database with the end itself. All replicas report the same number."))
	errs = append(errs, err)
	g.cost, err = from.Float64ObservableCounter("windlass.model.cost", metric.WithDescription(
		"What turns that have ended have cost, in the currency of the prices, by the model they were pinned to. All replicas report the same number."))
	return &g, errors.Join(append(errs, err)...)
}

// measure reports what is in the database at each collection of metrics, until the returned function is called.
func (s *Service) measure() (stop func(), err error) {
	meter := otel.Meter("github.com/windlass-dev/windlass/services/sessions")
	g, err := newGauges(meter)
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	reg, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error { return g.observe(ctx, o, s.store) },
		g.active, g.turns, g.outbox, g.approvals, g.unresolved, g.oldestQueued, g.oldestStart, g.oldestApproval, g.ended, g.cost)
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	return func() { _ = reg.Unregister() }, nil // fails only if it was never registered
}

func (g *gauges) observe(ctx context.Context, o metric.Observer, from *store.Store) error {
	active, err := from.ActiveSessions(ctx)
	if err != nil {
		return fmt.Errorf("count active sessions: %w", err)
	}
	b, err := from.Backlog(ctx, time.Now())
	if err != nil {
		return fmt.Errorf("count what waits: %w", err)
	}
	totals, err := from.Totals(ctx)
	if err != nil {
		return fmt.Errorf("count the turns that have ended: %w", err)
	}
	costs, err := from.Costs(ctx)
	if err != nil {
		return fmt.Errorf("add up what turns have cost: %w", err)
	}
	g.waiting(o, b)
	o.ObserveInt64(g.active, active)
	for _, t := range totals {
		o.ObserveInt64(g.ended, t.Turns,
			metric.WithAttributes(attribute.String("outcome", enum.Name(t.Status)), attribute.String("stop_reason", t.StopReason)))
	}
	for _, c := range costs {
		o.ObserveFloat64(g.cost, float64(c.Micros)/1e6, metric.WithAttributes(attribute.String("model", c.Model)))
	}
	return nil
}

// waiting reports what waits.
func (g *gauges) waiting(o metric.Observer, b totalsdb.Backlog) {
	now := time.Now()
	age := func(since time.Time) float64 {
		if since.IsZero() {
			return 0
		}
		return max(0, now.Sub(since).Seconds())
	}
	for _, s := range []turnv1.TurnStatus{
		turnv1.TurnStatus_TURN_STATUS_QUEUED, turnv1.TurnStatus_TURN_STATUS_RUNNING, turnv1.TurnStatus_TURN_STATUS_WAITING,
	} {
		o.ObserveInt64(g.turns, b.Turns[s], metric.WithAttributes(attribute.String("state", enum.Name(s))))
	}
	o.ObserveInt64(g.outbox, b.Outbox)
	o.ObserveInt64(g.approvals, b.Waits[turnv1.WaitKind_WAIT_KIND_APPROVAL])
	o.ObserveInt64(g.unresolved, b.Waits[turnv1.WaitKind_WAIT_KIND_RESOLUTION])
	o.ObserveFloat64(g.oldestQueued, age(b.Queued))
	o.ObserveFloat64(g.oldestStart, age(b.Sent))
	o.ObserveFloat64(g.oldestApproval, age(b.Oldest[turnv1.WaitKind_WAIT_KIND_APPROVAL]))
}
