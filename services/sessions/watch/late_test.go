package watch_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/watch"
	"github.com/windlass-dev/windlass/workflows/contract"
)

const tenant, session, openSeq = "t", "ses_1", 1

// lateBus keeps messages only after a number of looks at them, as a server under load does. Its clock is behind that of the database.
type lateBus struct {
	*bus.Bus
	looks  atomic.Int32
	behind time.Duration
}

func (b *lateBus) KeptSince(ctx context.Context, subject string, since time.Time) ([]bus.KeptMsg, error) {
	if b.looks.Add(-1) >= 0 {
		return nil, nil
	}
	return b.Bus.KeptSince(ctx, subject, since.Add(b.behind))
}

// A model that pauses just after a watcher has joined must not hide what it said before.
func TestDeltasThatAreKeptLateReachALateWatcher(t *testing.T) {
	t.Parallel()
	lateWatcher(t, 3, 0)
}

func TestDeltasReachALateWatcherWhateverTheBusTakesForTheTime(t *testing.T) {
	t.Parallel()
	lateWatcher(t, 0, 20*time.Second)
}

func lateWatcher(t *testing.T, looks int32, behind time.Duration) {
	t.Helper()
	b := &lateBus{Bus: openBus(t), behind: behind}
	b.looks.Store(looks)
	for n := range uint32(2) {
		say(t, b.Bus, n+1)
	}
	hub, err := watch.New(watch.Config{Buffer: 16, BusBuffer: 16, PollActive: time.Hour, PollIdle: time.Hour, PollAway: time.Hour},
		openStore(t), b, slog.New(slog.DiscardHandler))
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
	for got := len(snap.Deltas); got < 2; {
		events, err := w.Next(ctx)
		if err != nil {
			t.Fatalf("after %d deltas: %v", got, err)
		}
		for _, e := range events {
			if got++; e.GetDelta() != uint32(got) {
				t.Fatalf("delta %d as number %d", e.GetDelta(), got)
			}
		}
	}
}

func say(t *testing.T, b *bus.Bus, n uint32) {
	t.Helper()
	data, err := proto.Marshal(&turnv1.Event{
		Seq: openSeq, Delta: n, Type: "message.delta", Data: &turnv1.Event_MessageDelta{MessageDelta: &turnv1.MessageDelta{Text: "x"}},
	})
	if err == nil {
		err = b.Publish(contract.DeltaSubject(tenant, session), data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func openBus(t *testing.T) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Config{URL: bus.Embedded})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := b.EnsureKept(t.Context(), bus.KeptConfig{Name: contract.DeltaStream, Subjects: []string{contract.AllDeltas}}); err != nil {
		t.Fatal(err)
	}
	return b
}

// openStore has one session, in which a message is open.
func openStore(t *testing.T) *store.Store {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "sessions.db"), Schema: "sessions"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.AddSession(t.Context(), store.Session{Tenant: tenant, ID: session, LastSeq: openSeq, OpenSeq: openSeq}); err != nil {
			return err
		}
		return tx.AddEvents(t.Context(), tenant, session,
			[]store.Event{{Seq: openSeq, Type: "message.started", Time: sqldb.Time(time.Now().UnixMicro()), Data: []byte{}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
