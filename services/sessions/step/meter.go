package step

import (
	"cmp"
	"context"

	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/metrics"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// meter counts what becomes of claims.
type meter struct {
	claims, refused metric.Int64Counter
	// labels are those of all claims, which each step needs.
	labels map[counted]metric.MeasurementOption
}

// counted is what a claim is counted as.
type counted struct {
	kind  turnv1.StepKind
	claim string
}

// How a step is claimed.
const (
	claimFirst, claimRetry, claimTakeover = "first", "retry", "takeover"
)

// newMeter makes a meter. Takeovers are counted from 0: what rises from nothing does not rise for Prometheus, and the first one matters.
func newMeter(from metrics.Meter) meter {
	m := meter{
		claims: from.Counter(metrics.StepClaims), refused: from.Counter(metrics.BudgetRefusals),
		labels: map[counted]metric.MeasurementOption{},
	}
	for n := range turnv1.StepKind_name {
		kind := turnv1.StepKind(n)
		if !claimable(kind) {
			continue
		}
		for _, claim := range []string{claimFirst, claimRetry, claimTakeover} {
			m.labels[counted{kind, claim}] = metrics.StepClaims.Labelled(stepkey.KindName(kind), claim)
		}
		m.claims.Add(context.Background(), 0, m.labels[counted{kind, claimTakeover}])
	}
	return m
}

// claimOf returns how an owner claims a step, which is as before. A takeover is one from another owner, as in the journal: see claimEvents.
func claimOf(before store.Step, owner string) string {
	switch {
	case before.Owner != "" && before.Owner != owner:
		return claimTakeover
	case before.Attempt > 0:
		return claimRetry
	}
	return claimFirst
}

// claimed counts a claim once its transaction stands. before is the step as the claim has found it.
func (m meter) claimed(tx *journal.Tx, before store.Step, c Claim) {
	labels := m.labels[counted{c.Step.GetKind(), claimOf(before, c.Owner)}] // the kind was checked
	tx.After(func(ctx context.Context) { m.claims.Add(ctx, 1, labels) })
}

// overBudget counts a claim that a budget has refused, once that stands.
func (m meter) overBudget(tx *journal.Tx, got budget.Reservation) {
	limit := cmp.Or(got.Exhausted.GetUse().GetWhat(), "other")
	tx.After(func(ctx context.Context) { m.refused.Add(ctx, 1, metrics.BudgetRefusals.Labelled(limit)) })
}
