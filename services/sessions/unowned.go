package sessions

import (
	"context"

	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// notifyUnowned tells all workers of turns that no worker has, although there is something to do for them: their worker was lost between two steps,
// or before the first, so that no lease runs out. It takes up to wakeBatch turns, goes on behind those of the call before, and returns where
// the next call goes on. A turn whose worker lives and is merely slow to claim its next step is told of too; the lease decides.
func (s *Service) notifyUnowned(ctx context.Context, after store.TurnPoint) store.TurnPoint {
	turns, err := s.store.Unowned(ctx, s.store.NowUs()-s.cfg.SweepInterval.Microseconds(), after, wakeBatch)
	if err != nil {
		if ctx.Err() == nil {
			s.log.ErrorContext(ctx, "unowned turns cannot be looked for", "error", err)
		}
		return after
	}
	for _, t := range turns {
		s.call(ctx, contract.WakeSubject(t.Tenant), t)
	}
	if len(turns) < wakeBatch {
		return store.TurnPoint{}
	}
	last := turns[len(turns)-1]
	return store.TurnPoint{CreateUs: last.CreateUs, ID: last.ID}
}
