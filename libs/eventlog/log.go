package eventlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
)

const (
	// MaxRetention is how long events are kept at most.
	MaxRetention = 400 * 24 * time.Hour
	// Interval is a good value of Config.Interval.
	Interval = time.Second
)

// endTimeout bounds the last numbering of a log that ends.
const endTimeout = 2 * time.Second

// pace is the shortest time between two transactions that number events, so that many events share one. An event after a quiet time gets
// its number at once.
const pace = 50 * time.Millisecond

// pruneEvery is the time between two deletions of old events.
const pruneEvery = 10 * time.Minute

// Publisher is the part of the bus that a log uses.
type Publisher interface {
	// Publish must not block.
	Publish(subject string, data []byte) error
}

// Config configures a log; all fields are required.
type Config struct {
	// Source is the source of the events.
	Source string
	// Retention is how long events are kept.
	Retention time.Duration
	// Interval is the time between two checks for events that another process left without numbers.
	Interval time.Duration
	// Subject returns where events of a tenant are published.
	Subject func(tenant string) string
}

// CheckRetention rejects a retention that is negative or longer than MaxRetention.
func CheckRetention(d time.Duration) error {
	if d < 0 || d > MaxRetention {
		return fmt.Errorf("event_retention must be more than 0 and at most %s", MaxRetention)
	}
	return nil
}

// Log numbers, publishes and deletes the events of a table in the background.
type Log struct {
	*Table
	cfg Config
	bus Publisher
	log *slog.Logger
}

// NewLog returns a log over a table. Without a bus nothing is published.
func NewLog(cfg Config, t *Table, bus Publisher, log *slog.Logger) (*Log, error) {
	if cfg.Source == "" || cfg.Retention <= 0 || cfg.Interval <= 0 || cfg.Subject == nil || t == nil || log == nil {
		return nil, errors.New("event log needs Source, Retention, Interval, Subject, a table and a logger")
	}
	return &Log{Table: t, cfg: cfg, bus: bus, log: log}, nil
}

// Source returns the source of the events.
func (l *Log) Source() string { return l.cfg.Source }

// Run works until ctx ends. What is added after that gets its number from another process, or from the next one.
func (l *Log) Run(ctx context.Context) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		l.sequence(ctx)
	}()
	tick := time.NewTicker(l.cfg.Interval)
	defer tick.Stop()
	var pruned, sequenced time.Time
	for ctx.Err() == nil {
		if backoff.Sleep(ctx, pace-time.Since(sequenced)) != nil {
			return
		}
		l.sequence(ctx)
		sequenced = time.Now()
		if now := time.Now(); now.Sub(pruned) >= pruneEvery {
			pruned = now
			if err := l.Prune(ctx, l.db.Now().Add(-l.cfg.Retention)); err != nil && ctx.Err() == nil {
				l.log.ErrorContext(ctx, "old events cannot be deleted", "source", l.cfg.Source, "error", err)
			}
		}
		select {
		case <-l.added:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// sequence numbers and publishes all that has been committed.
func (l *Log) sequence(ctx context.Context) {
	for ctx.Err() == nil {
		events, err := l.Sequence(ctx)
		l.publish(ctx, events)
		if err != nil {
			if ctx.Err() == nil {
				l.log.ErrorContext(ctx, "events cannot be numbered", "source", l.cfg.Source, "error", err)
			}
			return
		}
		if len(events) < batch {
			return
		}
	}
}

// publish publishes numbered events. A bus that is away loses nothing: readers read the table.
func (l *Log) publish(ctx context.Context, events []Event) {
	if l.bus == nil {
		return
	}
	for _, e := range events {
		data, err := e.structured(l.cfg.Source)
		if err == nil {
			err = l.bus.Publish(l.cfg.Subject(e.Tenant), data)
		}
		if err != nil {
			l.log.DebugContext(ctx, "events not published on the bus", "source", l.cfg.Source, "error", err)
			return
		}
	}
}
