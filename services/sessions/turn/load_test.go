package turn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/sessions/store/totalsdb"
)

// stored is a backlog that tests set.
type stored struct {
	queued int64
	outbox time.Time
	reads  int
	err    error
}

func (s *stored) Load(context.Context, time.Time, int) (totalsdb.Load, error) {
	s.reads++
	return totalsdb.Load{Queued: s.queued, Sent: s.outbox}, s.err
}

// TestLoad: the bound holds between readings, refusals say when to try again, and it is lifted without help.
func TestLoad(t *testing.T) {
	at := time.Unix(1000, 0)
	db := &stored{queued: 7}
	l := newLoad(LoadConfig{MaxQueuedTurns: 10, MaxOutboxAge: time.Minute, MaxMemory: 90}, db)
	l.now = func() time.Time { return at }
	used := int64(80)
	l.memory = func() (int64, int64) { return used, 100 }
	accepted := 0
	for range 20 {
		if l.admit(t.Context()) == nil {
			accepted++
		}
	}
	if accepted != 3 || db.reads != 1 {
		t.Errorf("%d turns fit into 10 with 7 queued, after %d readings", accepted, db.reads)
	}
	err := l.admit(t.Context())
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Retry != retryOverload || !strings.Contains(err.Error(), "10 turns are queued") {
		t.Errorf("the refusal is %v", err)
	}
	at, db.queued = at.Add(loadAge), 0
	if err := l.admit(t.Context()); err != nil {
		t.Errorf("after the queue is empty: %v", err)
	}
	at, db.outbox = at.Add(loadAge), at.Add(-2*time.Minute)
	if err := l.admit(t.Context()); err == nil || !strings.Contains(err.Error(), "Temporal") {
		t.Errorf("with an old outbox: %v", err)
	}
	at, db.outbox, used = at.Add(loadAge), time.Time{}, 91
	if err := l.admit(t.Context()); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("with full memory: %v", err)
	}
	at, used, db.err = at.Add(loadAge), 10, errors.New("away")
	if err := l.admit(t.Context()); !errors.Is(err, db.err) {
		t.Errorf("without a database: %v", err)
	}
}

func TestNoLoadLimits(t *testing.T) {
	db := &stored{queued: 1 << 30}
	if err := newLoad(LoadConfig{}, db).admit(t.Context()); err != nil || db.reads != 0 {
		t.Errorf("without limits: %v, %d readings", err, db.reads)
	}
}
