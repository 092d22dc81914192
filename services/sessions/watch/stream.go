package watch

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/stack"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Scope is what somebody watches.
type Scope struct {
	// Tenant and Session are required.
	Tenant, Session string
	// Turn narrows to one turn; FirstSeq is the seq of its first event, EndSeq that of its last, 0 while it is active.
	Turn             string
	FirstSeq, EndSeq uint32
}

// sender sends one event to the watcher, with the cursor to resume after it ("" for an unnumbered event).
type sender func(e *turnv1.Event, cursor string) error

// Stream sends the events after a position: each durable one once and in order, the open message's deltas as they come. Watching
// a turn it returns nil after the terminal event; watching a session it goes on until ctx ends. Other errors: ErrSlow,
// ErrStopped, store.ErrNotFound when the session is deleted, send's.
func (h *Hub) Stream(ctx context.Context, scope Scope, at Position, send sender) error {
	s := stream{hub: h, scope: scope, at: at, read: at.Seq, send: send}
	if scope.Turn != "" {
		if scope.EndSeq != 0 && at.Seq >= scope.EndSeq {
			return nil
		}
		if at.Seq+1 < scope.FirstSeq { // nothing of the turn is before
			s.at = Position{Seq: scope.FirstSeq - 1}
			s.read = s.at.Seq
		}
	}
	for {
		again, err := s.attached(ctx)
		if err != nil || !again {
			return err
		}
	}
}

// stream is one watcher's way through the journal and the live events.
type stream struct {
	hub   *Hub
	scope Scope
	send  sender
	at    Position // what the watcher has
	read  uint32   // how far the journal was looked through: events of other turns are passed over
	over  bool     // the turn's terminal event was sent
}

// attached watches from where the stream stands. It asks for another round when so much happened while it read the journal that
// the live events no longer fit on.
func (s *stream) attached(ctx context.Context) (again bool, err error) {
	w, snap, err := s.hub.Attach(ctx, s.scope.Tenant, s.scope.Session, s.wants())
	if err != nil {
		return false, err
	}
	defer w.Close()
	if s.read < snap.Last {
		err = stack.Apart(func() error { return s.replay(ctx, snap.Last) })
	}
	if err != nil || s.over {
		return false, err
	}
	if snap.Open != 0 && snap.Open == s.at.Open {
		for _, e := range snap.Deltas {
			if err := s.delta(e); err != nil {
				return false, err
			}
		}
	}
	if errors.Is(w.Err(), ErrSlow) {
		return true, nil
	}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if err := s.live(e); err != nil || s.over {
				return false, err
			}
		}
	}
}

// wants chooses the turn's events; it runs in the feed and must not touch what the stream changes.
func (s *stream) wants() func(*turnv1.Event) bool {
	turn := s.scope.Turn
	if turn == "" {
		return nil
	}
	return func(e *turnv1.Event) bool { return e.GetTurnId() == turn }
}

// replay sends what the journal has up to a seq.
func (s *stream) replay(ctx context.Context, last uint32) error {
	for s.read < last {
		rows, err := s.hub.store.Events(ctx, s.scope.Tenant, s.scope.Session, s.read, page)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil // the session was deleted
		}
		for _, row := range rows {
			if row.Seq > last {
				return nil
			}
			s.read = row.Seq
			if s.scope.Turn != "" && row.TurnID != s.scope.Turn {
				if row.OpenSeq != s.at.Open { // another turn's message
					s.at.Open, s.at.N, s.at.Turn = row.OpenSeq, 0, ""
				}
				continue
			}
			e := &turnv1.Event{}
			if err := proto.Unmarshal(row.Data, e); err != nil {
				return fmt.Errorf("event %d: %w", row.Seq, err)
			}
			s.at.takeAt(row.Seq, row.OpenSeq, row.TurnID)
			if err := s.give(e); err != nil || s.over {
				return err
			}
		}
	}
	return nil
}

// live sends an event of the feed unless it was sent before.
func (s *stream) live(e *turnv1.Event) error {
	if transient(e) {
		return s.delta(e)
	}
	if e.GetSeq() <= s.read {
		return nil
	}
	s.read = e.GetSeq()
	s.at.Take(e)
	return s.give(e)
}

func (s *stream) delta(e *turnv1.Event) error {
	switch {
	case s.scope.Turn != "" && e.GetTurnId() != s.scope.Turn:
		return nil
	case e.GetDelta() == 0:
		return s.send(e, "")
	case !s.at.TakeDelta(e):
		return nil
	}
	return s.send(e, s.at.String())
}

func (s *stream) give(e *turnv1.Event) error {
	s.over = s.scope.Turn != "" && e.GetTurnEnded() != nil
	return s.send(e, s.at.String())
}

// Await returns nil once over says so, which asks the database: when the watch has begun, so that nothing can be missed, and
// again after each event of the turn that wakes lets through. The turn's end needs no question.
func (h *Hub) Await(
	ctx context.Context, tenant, session, turn string, wakes func(*turnv1.Event) bool, over func(context.Context) (bool, error),
) error {
	for {
		w, _, err := h.Attach(ctx, tenant, session, func(e *turnv1.Event) bool {
			return e.GetTurnId() == turn && (e.GetTurnEnded() != nil || wakes(e))
		})
		if err != nil {
			return err
		}
		done, err := over(ctx)
		for err == nil && !done {
			var events []*turnv1.Event
			if events, err = w.Next(ctx); err != nil {
				break
			}
			if events[len(events)-1].GetTurnEnded() != nil {
				break
			}
			done, err = over(ctx)
		}
		w.Close()
		if !errors.Is(err, ErrSlow) {
			return err
		}
	}
}
