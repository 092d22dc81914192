package turn

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/memlimit"
	"github.com/windlass-dev/windlass/libs/metrics"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/totalsdb"
)

// LoadConfig bounds what the mesh takes on. What it has accepted goes on: only further turns are refused, before they are stored.
type LoadConfig struct {
	MaxQueuedTurns int           `yaml:"max_queued_turns" default:"5000" zero:"off" doc:"Number of turns of all tenants that wait for a worker, without those behind another turn of their session, from which on further turns are refused with 503 and Retry-After. 0: no limit. Quotas bound the share of a user or tenant."`
	MaxOutboxAge   time.Duration `yaml:"max_outbox_age" default:"15m" zero:"off" doc:"How long a turn may have waited for the start of its workflow before further turns are refused. 0: no limit."`
	MaxMemory      int           `yaml:"max_memory" default:"95" zero:"off" doc:"Percentage of the memory limit of the process, or of the maximum of an automatic one, in use besides garbage, from which on further turns are refused. 0: no limit."`
}

// Check reports settings that cannot be used.
func (c LoadConfig) Check() error {
	if err := config.CheckNotNegative(c); err != nil {
		return err
	}
	if c.MaxMemory > 100 {
		return fault.Invalid("max_memory", "it is a percentage, at most 100")
	}
	return nil
}

const (
	// loadAge is how long a reading of the load is used.
	loadAge = 500 * time.Millisecond
	// retryOverload is when callers may try again: the load is read again by then, but hardly gone.
	retryOverload = 5 * time.Second
)

// Limits by which refused turns are counted.
const limitQueued, limitOutbox, limitMemory = "queued_turns", "outbox_age", "memory"

// backlog reads what waits.
type backlog interface {
	Load(ctx context.Context, now time.Time, most int) (totalsdb.Load, error)
}

// load decides whether the mesh takes on further turns. It is safe for concurrent use.
type load struct {
	cfg     LoadConfig
	read    backlog
	memory  func() (used, limit int64)
	now     func() time.Time
	refused metric.Int64Counter

	reading sync.Mutex // held while one caller reads

	mu    sync.Mutex
	until time.Time // of the last reading
	// queued are the turns of the last reading, and those that this process has admitted since; outbox is since when the oldest start waits.
	queued int64
	outbox time.Time
}

func newLoad(cfg LoadConfig, read backlog) *load {
	l := &load{cfg: cfg, read: read, memory: memory, now: time.Now, refused: metrics.Process().Counter(metrics.TurnsRefused)}
	for _, limit := range []string{limitQueued, limitOutbox, limitMemory} {
		l.refused.Add(context.Background(), 0, metrics.TurnsRefused.Labelled(limit)) // what rises from nothing does not rise for Prometheus
	}
	return l
}

// admit counts a turn, or returns why the mesh takes on no further one now.
func (l *load) admit(ctx context.Context) error {
	if l.cfg.MaxQueuedTurns > 0 || l.cfg.MaxOutboxAge > 0 {
		if err := l.refresh(ctx); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if most := l.cfg.MaxQueuedTurns; most > 0 && l.queued >= int64(most) {
		return l.refuse(ctx, limitQueued, "%d turns are queued, as many as the mesh may have", l.queued)
	}
	if most := l.cfg.MaxOutboxAge; most > 0 && !l.outbox.IsZero() && l.now().Sub(l.outbox) > most {
		return l.refuse(ctx, limitOutbox, "workflows of turns have not been started for %v: Temporal does not take them", most)
	}
	if most := l.cfg.MaxMemory; most > 0 {
		if used, limit := l.memory(); limit > 0 && used > limit/100*int64(most) {
			return l.refuse(ctx, limitMemory, "the process uses more than %d %% of its memory limit", most)
		}
	}
	l.queued++
	return nil
}

func (l *load) refuse(ctx context.Context, limit, format string, args ...any) error {
	l.refused.Add(ctx, 1, metrics.TurnsRefused.Labelled(limit))
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the mesh takes on no further turns now: "+format, args...).
		RetryAfter(retryOverload).Hint("Try again later. Turns that were accepted go on.")
}

// refresh reads the load if the last reading is old. While one caller does, the others use the last one.
func (l *load) refresh(ctx context.Context) error {
	l.mu.Lock()
	now := l.now()
	fresh := now.Before(l.until)
	l.mu.Unlock()
	if fresh || !l.reading.TryLock() {
		return nil
	}
	defer l.reading.Unlock()
	b, err := l.read.Load(ctx, now, l.cfg.MaxQueuedTurns)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.queued, l.outbox = now.Add(loadAge), b.Queued, b.Sent
	return nil
}

// memory returns the bytes that the process uses besides garbage, and how many it may use, 0 for any number.
func memory() (used, limit int64) {
	use := memlimit.Read()
	return use.Live + use.Other, memlimit.Most()
}

// newWork returns the turn that a request has made before, or admits a further one.
func (s *Service) newWork(ctx context.Context, once store.Once) (View, bool, error) {
	v, ok, err := s.earlier(ctx, once)
	if err != nil || ok {
		return v, ok, err
	}
	return v, false, s.load.admit(ctx)
}
