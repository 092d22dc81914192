package watch_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/watch"
)

// spreadingBus is a cluster whose other servers do not know of a subscription yet: nothing is delivered.
type spreadingBus struct{ *bus.Bus }

func (b spreadingBus) Subscribe(_ string, buf int) (*bus.Subscription, error) {
	return b.Bus.Subscribe("nothing", buf)
}

func (spreadingBus) Spread() time.Duration { return time.Millisecond }

// writingStore has an event committed as soon as a feed has found out where the session stands.
type writingStore struct {
	*store.Store
	once  sync.Once
	write func()
}

func (s *writingStore) Session(ctx context.Context, tenant, id string) (store.Session, error) {
	ses, err := s.Store.Session(ctx, tenant, id)
	s.once.Do(s.write)
	return ses, err
}

// What is published at another server of a cluster before that knows of the feed reaches the watcher all the same, and not only
// at the next look at the journal in an hour.
func TestEventsAreNotMissedWhileASubscriptionSpreads(t *testing.T) {
	t.Parallel()
	s := &writingStore{Store: openStore(t)}
	commit(t, s.Store, openSeq) // the open message would make the feed look often by itself
	s.write = func() { commit(t, s.Store, openSeq+1) }
	hub, err := watch.New(watch.Config{Buffer: 16, BusBuffer: 16, PollActive: time.Hour, PollIdle: time.Hour, PollAway: time.Hour},
		s, spreadingBus{openBus(t)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Stop)
	w, snap, err := hub.Attach(t.Context(), tenant, session, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for last := snap.Last; last < openSeq+1; {
		events, err := w.Next(ctx)
		if err != nil {
			t.Fatalf("after event %d: %v", last, err)
		}
		for _, e := range events {
			last = max(last, e.GetSeq())
		}
	}
}

// commit closes what is open, and adds an event if last is a new seq.
func commit(t *testing.T, s *store.Store, last uint32) {
	t.Helper()
	ctx := t.Context()
	data, err := proto.Marshal(&turnv1.Event{Seq: last, Type: "turn.queued", Data: &turnv1.Event_TurnQueued{TurnQueued: &turnv1.TurnQueued{}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.LockSession(ctx, tenant, session)
		if err != nil {
			return err
		}
		was := ses.LastSeq
		ses.LastSeq, ses.OpenSeq = last, 0
		if err := tx.SaveSession(ctx, ses); err != nil || last == was {
			return err
		}
		return tx.AddEvents(ctx, tenant, session, []store.Event{{
			Seq: last, Type: "turn.queued", Time: sqldb.Time(time.Now().UnixMicro()),
			Data: data,
		}})
	}); err != nil {
		t.Error(err)
	}
}
