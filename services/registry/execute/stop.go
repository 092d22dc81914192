package execute

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Stop returns a running call up, whatever it may change: its tool is told, and what is not known then is said to be unknown. A call that
// another replica runs is marked in the ledger, where that one finds it with its next sign of life. It tells whether such a call runs.
func (x *Executor) Stop(ctx context.Context, tenant, key string) (bool, error) {
	x.flights.mu.Lock()
	f, runs := x.flights.byKey[flightKey{tenant, key}]
	x.flights.mu.Unlock()
	if runs {
		f.stop()
		return true, nil
	}
	return x.deps.Store.AskStop(ctx, tenant, key, x.deps.Now())
}

// stop returns the flight up for good.
func (f *flight) stop() {
	f.cancel(fault.New(codes.Canceled, faultv1.Reason_REASON_CANCELLED, "the call was stopped: its turn was cancelled"))
}

// stopRows returns up the flights of rows that are ours.
func (s *flights) stopRows(rows []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range rows {
		if f := s.rows[id]; f != nil {
			f.stop()
		}
	}
}
