package execute

import (
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Stop gives a running call up, whatever it may change: its tool is told, and what is not known then is said to be unknown. It tells
// whether such a call runs in this process.
func (x *Executor) Stop(tenant, key string) bool {
	x.flights.mu.Lock()
	f, runs := x.flights.byKey[flightKey{tenant, key}]
	x.flights.mu.Unlock()
	if runs {
		f.cancel(fault.New(codes.Canceled, faultv1.Reason_REASON_CANCELLED, "the call was stopped: its turn was cancelled"))
	}
	return runs
}
