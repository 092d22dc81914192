package step

import (
	"cmp"
	"context"

	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// meter counts what becomes of claims.
type meter struct{ claims, refused metric.Int64Counter }

func newMeter() meter {
	from := metrics.Process()
	return meter{claims: from.Counter(metrics.StepClaims), refused: from.Counter(metrics.BudgetRefusals)}
}

// claimed counts a claim once its transaction stands. before is the step as the claim has found it.
func (m meter) claimed(tx *journal.Tx, before store.Step, c Claim) {
	claim := "first"
	switch {
	case before.Owner != "":
		claim = "takeover"
	case before.Attempt > 0:
		claim = "retry"
	}
	tx.After(func(ctx context.Context) {
		m.claims.Add(ctx, 1, metrics.StepClaims.Labelled(stepkey.KindName(c.Step.GetKind()), claim))
	})
}

// overBudget counts a claim that a budget has refused, once that stands.
func (m meter) overBudget(tx *journal.Tx, got budget.Reservation) {
	limit := cmp.Or(got.Exhausted.GetUse().GetWhat(), "other")
	tx.After(func(ctx context.Context) { m.refused.Add(ctx, 1, metrics.BudgetRefusals.Labelled(limit)) })
}
