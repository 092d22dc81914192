package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

const (
	// deliverEvery is the interval between deliveries of decisions to policy.
	deliverEvery = 2 * time.Second
	// deliveredAtOnce limits the decisions of one delivery.
	deliveredAtOnce = 500
)

// Deliver gives policy the decisions that rows of the ledger hold. Policy stores a decision a moment after it made it, so that it nearly
// always has them; a process of it that was killed has lost some. Rows of other replicas are left to them for the time of a lease.
func (x *Executor) Deliver(ctx context.Context) error {
	for {
		rows, err := x.deps.Store.Undelivered(ctx, x.owner, x.deps.Now().Add(-x.cfg.LeaseTTL), deliveredAtOnce)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := x.deliverRows(ctx, rows); err != nil || len(rows) < deliveredAtOnce {
			return err
		}
	}
}

// deliverRows delivers the decisions of rows. If policy cannot read one, they are delivered one by one, and that one is set aside.
func (x *Executor) deliverRows(ctx context.Context, rows []store.Execution) error {
	req := &policyv1.RecordDecisionsRequest{}
	for _, e := range rows {
		req.Records = append(req.Records, e.Decision)
	}
	_, err := x.deps.Policy.RecordDecisions(ctx, req)
	switch {
	case err == nil:
		return x.deps.Store.Delivered(ctx, rows)
	case status.Code(err) != codes.InvalidArgument:
		return fmt.Errorf("deliver decisions: %w", err)
	case len(rows) == 1:
		x.deps.Log.ErrorContext(ctx, "policy cannot read the record of a decision: it stays in the ledger's row, as refused_decision",
			"execution_id", rows[0].ID, "error", err)
		return x.deps.Store.Refused(ctx, rows[0])
	}
	for i := range rows {
		if err := x.deliverRows(ctx, rows[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// keepDelivering delivers periodically until ctx ends.
func (x *Executor) keepDelivering(ctx context.Context) {
	tick := time.NewTicker(deliverEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			x.deliver(ctx)
		}
	}
}

// deliver is Deliver in the background.
func (x *Executor) deliver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, deliverEvery)
	defer cancel()
	if err := x.Deliver(ctx); err != nil && !errors.Is(err, context.Canceled) {
		x.deps.Log.WarnContext(ctx, "decisions were not delivered to policy", "error", err)
	}
}

// handOver records the decision on a call that got no row.
func (a *attempt) handOver(ctx context.Context) error {
	record := a.decision.GetRecord()
	if a.entry != nil || len(record) == 0 {
		return nil
	}
	_, err := a.x.deps.Policy.RecordDecisions(context.WithoutCancel(ctx), &policyv1.RecordDecisionsRequest{Records: [][]byte{record}})
	if err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	a.tellDecided()
	return nil
}

// tellDecided tells the callers of the decision, once it is on record here or there.
func (a *attempt) tellDecided() {
	if a.flight != nil {
		a.flight.tell(Event{Decided: decided(a.decision)})
	}
}
