package sessions

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/telemetry"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
	"github.com/windlass-dev/windlass/workflows/contract"
)

const (
	// rouseAgain is after what time a workflow that was not told of news is told again.
	rouseAgain = 2 * time.Second
	// rouseBatch is how many turns one look tells of their news.
	rouseBatch = 100
	// expireAgain is after what time waits are looked at again that could not be ended though their time is up.
	expireAgain = 10 * time.Second
)

// rouse tells whoever works on a turn, or waits with it, that the journal has news: workers at once, the workflow for certain. The turn's
// session is locked, and the news are written.
func (s *Service) rouse(tx *journal.Tx, t store.Turn) error {
	t.RouseUs = tx.NowUs + rouseAgain.Microseconds()
	tx.After(func(ctx context.Context) {
		s.call(ctx, contract.WakeSubject(t.Tenant), t)
		s.outbox.rouse(t)
	})
	return tx.SetRouse(tx.Context(), t.Tenant, t.ID, t.RouseUs)
}

// rouse tells a turn's workflow of news in the background. What fails is tried again by the sweeper.
func (o *outbox) rouse(t store.Turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped || o.ctx == nil {
		return // another replica, or the next start of this one, sees it in the database
	}
	o.flying.Go(func() { o.tellNews(o.ctx, t) })
}

// tellNews tells a turn's workflow of news, and notes that it knows them. A workflow that is not there is looked for at once.
func (o *outbox) tellNews(ctx context.Context, t store.Turn) {
	telling, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	there, err := o.wakeUp(telling, t)
	if err != nil {
		if ctx.Err() == nil {
			o.log.WarnContext(ctx, "workflow cannot be told of news yet", "turn_id", t.ID, "error", err)
		}
		return
	}
	after := context.WithoutCancel(ctx)
	if err := o.store.Write(after, func(tx *store.Tx) error { return tx.Roused(after, t.Tenant, t.ID, t.RouseUs, !there) }); err != nil {
		o.log.ErrorContext(ctx, "news of a turn cannot be noted as told", "turn_id", t.ID, "error", err)
		return
	}
	if !there {
		select {
		case o.lost <- struct{}{}:
		default:
		}
	}
}

// wakeUp tells a turn's workflow of news, with all that it takes to start it if that has not been done yet.
func (o *outbox) wakeUp(ctx context.Context, t store.Turn) (bool, error) {
	in, err := o.store.TurnInputs(ctx, t.Tenant, t.ID)
	if err != nil {
		return false, err
	}
	if len(in) != 1 { // the turn was deleted, and its workflow finds that out
		return true, nil
	}
	return o.dispatcher.Wake(telemetry.WithTraceParent(ctx, t.TraceParent), TurnStart{
		Tenant: t.Tenant, TurnID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID, Summary: summaryOf(t, in[0].Input),
	})
}

// lookAtWaits expires waits whose time is up, and tells workflows of news that they have not heard of.
func (s *Service) lookAtWaits(ctx context.Context) error {
	if err := sweep.Due(ctx, dueNow(s.store, s.store.DueWaits), s.expireDue); err != nil {
		return err
	}
	if some, err := s.store.HasToRouse(ctx, s.store.NowUs()); err != nil || !some {
		return err
	}
	var turns []store.Turn
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		now := s.store.NowUs()
		turns, err = tx.TakeToRouse(ctx, now, now+(startTimeout+rouseAgain).Microseconds(), rouseBatch)
		return err
	})
	for _, t := range turns {
		s.outbox.rouse(t)
	}
	return err
}

// expireDue ends the waits of a turn whose time is up, or has them looked at again later.
func (s *Service) expireDue(ctx context.Context, t store.Turn) error {
	cause := s.expire(ctx, t, true)
	if cause == nil || ctx.Err() != nil {
		return cause
	}
	s.log.WarnContext(ctx, "waits of a turn cannot be ended yet", "turn_id", t.ID, "error", cause)
	return s.store.Write(ctx, func(tx *store.Tx) error {
		now := s.store.NowUs()
		return tx.PostponeWaits(ctx, t.Tenant, t.ID, now, now+expireAgain.Microseconds())
	})
}
