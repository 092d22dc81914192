// Package pending finds why a turn does not continue, other than that it waits for people.
package pending

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// stuckAfter is how long nothing must have happened in the session of a running turn before the cause is looked for.
	stuckAfter = 10 * time.Second
	// checkTimeout bounds the search for the cause, for which a caller waits.
	checkTimeout = 2 * time.Second
)

// Engine runs turns.
type Engine interface {
	// CheckWorkers returns a fault if turns cannot continue: no worker runs, or the engine does not answer.
	CheckWorkers(ctx context.Context) error
}

// Kind is why a turn does not continue.
type Kind int

// Kinds. None is that of a turn that does continue, as far as is known.
const (
	None Kind = iota
	// PrecedingTurn: another turn of the session is active.
	PrecedingTurn
	// Worker: a worker will begin it.
	Worker
	// Mesh: no worker runs, or the workflow engine does not answer.
	Mesh
)

// Reason is why a turn does not continue, with details.
type Reason struct {
	Kind Kind
	// TurnID is the turn that must end first, with PrecedingTurn.
	TurnID string
	// Detail explains it to people, Action says what to do about it. Action may be empty.
	Detail, Action string
}

// Of returns why a turn does not continue at a time, given its session as it was lately.
func Of(ctx context.Context, engine Engine, now time.Time, t store.Turn, ses store.Session) Reason {
	switch t.Status {
	case turnv1.TurnStatus_TURN_STATUS_QUEUED:
		if first := ses.ActiveTurnID; first != "" && first != t.ID {
			return Reason{Kind: PrecedingTurn, TurnID: first, Detail: "turn " + first + " of the same session runs first"}
		}
		if r := broken(ctx, engine); r.Kind != None {
			return r
		}
		return Reason{Kind: Worker, Detail: "a worker is about to begin it"}
	case turnv1.TurnStatus_TURN_STATUS_RUNNING:
		if t.OpenWaits == 0 && now.Sub(ses.UpdateTime) > stuckAfter {
			return broken(ctx, engine)
		}
	}
	return Reason{}
}

func broken(ctx context.Context, engine Engine) Reason {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := engine.CheckWorkers(ctx)
	if err == nil {
		return Reason{}
	}
	f := fault.From(err)
	return Reason{Kind: Mesh, Detail: f.Message, Action: f.Todo}
}
