package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/totalsdb"
)

// usesNamed is how many combinations of tenant, agent and model have series of their own; others are one together.
const usesNamed = 500

// measured are the metrics that are read from the database at each collection, so that all replicas report the same numbers, and a killed
// process takes none with it.
var measured = metrics.Rows{
	metrics.SessionsActive, metrics.Turns, metrics.OutboxDepth, metrics.OutboxOldest, metrics.OldestQueued, metrics.TurnsEnded,
	metrics.Approvals, metrics.ApprovalsOldest, metrics.Unresolved, metrics.UnresolvedOldest, metrics.Waits, metrics.WaitsOldest,
	metrics.Deliveries, metrics.DeliveriesLate, metrics.Fires, metrics.FiresOldest, metrics.ModelCost,
	metrics.AgentTurns, metrics.AgentModelCalls, metrics.AgentToolCalls, metrics.AgentInputTokens, metrics.AgentOutputTokens,
	metrics.AgentCost,
}

// measure reports what is in the database at each collection of metrics, until the returned function is called.
func (s *Service) measure() (stop func(), err error) {
	observed, err := metrics.Process().Observe(measured, func(ctx context.Context) ([]metrics.Value, error) {
		return readMetrics(ctx, s.store, time.Now())
	})
	if err != nil {
		return nil, err
	}
	return observed.Stop, nil
}

// values collects measurements.
type values []metrics.Value

func (v *values) add(of *metrics.Metric, number float64, labels ...string) {
	*v = append(*v, metrics.Value{Metric: of, Number: number, Labels: labels})
}

// readings are the parts of the metrics.
var readings = []struct {
	what string
	read func(v *values, ctx context.Context, from *store.Store, now time.Time) error
}{
	{"count active sessions", (*values).active},
	{"count what waits", (*values).waits},
	{"add up the turns that have ended", (*values).ended},
	{"count deliveries", (*values).deliveries},
	{"count fires of schedules", (*values).fires},
}

// readMetrics reads all that it can: with an error, what was read is returned all the same.
func readMetrics(ctx context.Context, from *store.Store, now time.Time) ([]metrics.Value, error) {
	var v values
	var errs []error
	for _, r := range readings {
		if err := r.read(&v, ctx, from, now); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.what, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return v, errors.Join(errs...)
}

func (v *values) active(ctx context.Context, from *store.Store, _ time.Time) error {
	active, err := from.ActiveSessions(ctx)
	if err != nil {
		return err
	}
	v.add(metrics.SessionsActive, float64(active))
	return nil
}

func (v *values) waits(ctx context.Context, from *store.Store, now time.Time) error {
	b, err := from.Backlog(ctx, now)
	if err != nil {
		return err
	}
	v.waiting(b, now)
	return nil
}

func (v *values) ended(ctx context.Context, from *store.Store, _ time.Time) error {
	sums, err := from.Sums(ctx)
	if err != nil {
		return err
	}
	for _, t := range sums.Totals() {
		v.add(metrics.TurnsEnded, float64(t.Turns), enum.Name(t.Status), t.StopReason)
	}
	for _, c := range sums.Costs() {
		v.add(metrics.ModelCost, float64(c.Micros)/1e6, c.Model)
	}
	for _, u := range sums.Uses(usesNamed) {
		v.add(metrics.AgentTurns, float64(u.Turns), u.Tenant, u.Agent, u.Model)
		v.add(metrics.AgentModelCalls, float64(u.ModelCalls), u.Tenant, u.Agent, u.Model)
		v.add(metrics.AgentToolCalls, float64(u.ToolCalls), u.Tenant, u.Agent, u.Model)
		v.add(metrics.AgentInputTokens, float64(u.Input), u.Tenant, u.Agent, u.Model)
		v.add(metrics.AgentOutputTokens, float64(u.Output), u.Tenant, u.Agent, u.Model)
		v.add(metrics.AgentCost, float64(u.CostMicros)/1e6, u.Tenant, u.Agent, u.Model)
	}
	return nil
}

func (v *values) deliveries(ctx context.Context, from *store.Store, now time.Time) error {
	deliveries, err := from.ToDeliver(ctx)
	if err != nil {
		return err
	}
	v.add(metrics.Deliveries, float64(deliveries.Count))
	v.add(metrics.DeliveriesLate, age(now, sqldb.Time(deliveries.Oldest)))
	return nil
}

func (v *values) fires(ctx context.Context, from *store.Store, now time.Time) error {
	fires, err := from.ToFire(ctx)
	if err != nil {
		return err
	}
	v.add(metrics.Fires, float64(fires.Count))
	v.add(metrics.FiresOldest, age(now, sqldb.Time(fires.Oldest)))
	return nil
}

// age returns for how long something has waited in seconds, 0 for the zero time and for a time to come.
func age(now, since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since).Seconds())
}

// waiting reports what waits.
func (v *values) waiting(b totalsdb.Backlog, now time.Time) {
	for _, s := range []turnv1.TurnStatus{
		turnv1.TurnStatus_TURN_STATUS_QUEUED, turnv1.TurnStatus_TURN_STATUS_RUNNING, turnv1.TurnStatus_TURN_STATUS_WAITING,
	} {
		v.add(metrics.Turns, float64(b.Turns[s]), enum.Name(s))
	}
	for kind := range turnv1.WaitKind_name {
		if kind := turnv1.WaitKind(kind); kind != turnv1.WaitKind_WAIT_KIND_UNSPECIFIED {
			v.add(metrics.Waits, float64(b.Waits[kind]), enum.Name(kind))
			v.add(metrics.WaitsOldest, age(now, b.Oldest[kind]), enum.Name(kind))
		}
	}
	approval, unresolved := turnv1.WaitKind_WAIT_KIND_APPROVAL, turnv1.WaitKind_WAIT_KIND_RESOLUTION
	v.add(metrics.OutboxDepth, float64(b.Outbox))
	v.add(metrics.OutboxOldest, age(now, b.Sent))
	v.add(metrics.OldestQueued, age(now, b.Queued))
	v.add(metrics.Approvals, float64(b.Waits[approval]))
	v.add(metrics.ApprovalsOldest, age(now, b.Oldest[approval]))
	v.add(metrics.Unresolved, float64(b.Waits[unresolved]))
	v.add(metrics.UnresolvedOldest, age(now, b.Oldest[unresolved]))
}
