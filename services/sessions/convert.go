package sessions

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func turnStatus(t store.Turn) turnv1.TurnStatus { return turnv1.TurnStatus(t.Status) }

func ended(t store.Turn) bool { return t.EndUs != 0 }

// waiting tells whether a turn waits for people.
func waiting(t store.Turn) bool {
	return turnv1.TurnStatus(t.Status) == turnv1.TurnStatus_TURN_STATUS_WAITING
}
