package sessions

import (
	"context"
	"encoding/json"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// wakeBatch is how many turns without a worker one look calls out.
const wakeBatch = 100

// headStart tells the workers of a turn that may begin: one of them runs ahead of its workflow. A message that is lost costs only that.
func (s *Service) headStart(ctx context.Context, t store.Turn) {
	s.call(ctx, contract.HeadStartSubject(t.Tenant), t)
	time.AfterFunc(s.cfg.StartDelay, s.outbox.kick)
}

// wake calls out the turns whose worker does not renew its lease any more, and those that no worker has, twice in each sweep interval, so that
// another one takes over long before Temporal would notice. All workers are told: one of them may be the lost one. The lease decides who gets it.
func (s *Service) wake(ctx context.Context) {
	var unowned store.TurnPoint
	tick := time.NewTicker(max(s.cfg.SweepInterval/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		turns, err := s.store.Forsaken(ctx, s.store.NowUs(), wakeBatch)
		if err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "turns without a worker cannot be looked for", "error", err)
		}
		for _, t := range turns {
			s.call(ctx, contract.WakeSubject(t.Tenant), t)
		}
		unowned = s.notifyUnowned(ctx, unowned)
	}
}

func (s *Service) call(ctx context.Context, subject string, t store.Turn) {
	data, err := json.Marshal(contract.HeadStart{
		TurnInput:   contract.TurnInput{Tenant: t.Tenant, TurnID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID},
		TraceParent: t.TraceParent,
	})
	if err == nil {
		err = s.bus.Publish(subject, data)
	}
	if err != nil {
		s.log.DebugContext(ctx, "workers not told of a turn", "turn_id", t.ID, "error", err)
	}
}
