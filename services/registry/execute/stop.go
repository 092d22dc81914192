package execute

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Stop gives up a running call, whatever its effect class: its tool is notified, and an unknown outcome is reported as such. A call that
// runs on another replica is marked in the ledger, and its replica stops it at its next heartbeat. Stop reports whether such a call runs.
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

// stop gives up the flight for good.
func (f *flight) stop() {
	f.giveUp(fault.New(codes.Canceled, faultv1.Reason_REASON_CANCELLED, "the call was stopped: its turn was cancelled"))
}

// stopRows gives up the flights of rows that are ours.
func (s *flights) stopRows(rows []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range rows {
		if f := s.rows[id]; f != nil {
			f.stop()
		}
	}
}
