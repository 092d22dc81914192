package eventlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testwant"
)

// published is a bus that keeps what is published, and fails if it is away.
type published struct {
	mu       sync.Mutex
	away     bool
	subjects []string
	messages [][]byte
}

func (p *published) Publish(subject string, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return errors.New("away")
	}
	p.subjects, p.messages = append(p.subjects, subject), append(p.messages, data)
	return nil
}

func (p *published) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.messages)
}

func (e env) log(b eventlog.Publisher, retention time.Duration) *eventlog.Log {
	e.Helper()
	l, err := eventlog.NewLog(eventlog.Config{
		Source: "/windlass/test", Retention: retention, Interval: time.Hour, Subject: func(tenant string) string { return "events." + tenant },
	}, e.Table, b, slog.New(slog.DiscardHandler))
	if err != nil {
		e.Fatal(err)
	}
	return l
}

// run runs a log until the function is called that it returns.
func run(l *eventlog.Log) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { l.Run(ctx) })
	return func() { cancel(); done.Wait() }
}

// TestPublishedEventsAreCloudEvents has the official SDK read what is published.
func TestPublishedEventsAreCloudEvents(t *testing.T) {
	onEngines(t, 2, func(e env) {
		b := &published{}
		e.add(event(e, "one", updated, "left by another process", e.db.Now()))
		stop := run(e.log(b, time.Hour))
		testpoll.Until(e, "the first event is published", func() bool { return b.count() == 1 })
		e.add(event(e, "one", deleted, "a", e.db.Now()))
		testpoll.Until(e, "the second event is published", func() bool { return b.count() == 2 })
		stop()
		want := e.read(eventlog.Query{}).Events
		for i, data := range b.messages {
			var got cloudevents.Event
			if err := json.Unmarshal(data, &got); err != nil {
				e.Fatalf("%s: %v", data, err)
			}
			if err := got.Validate(); err != nil {
				e.Errorf("%s: %v", data, err)
			}
			testwant.Equal(e, "got: SpecVersion", got.SpecVersion(), "1.0")
			testwant.Equal(e, "got: ID", got.ID(), want[i].ID)
			testwant.Equal(e, "got: Type", got.Type(), want[i].Type)
			testwant.Equal(e, "got: Subject", got.Subject(), want[i].Subject)
			testwant.Equal(e, "got: Source", got.Source(), "/windlass/test")
			testwant.Equal(e, "got: Time.Equal(want[i].Time)", got.Time().Equal(want[i].Time), true)
			testwant.Equal(e, "got: DataContentType", got.DataContentType(), "application/json")
			var fields map[string]any
			if err := got.DataAs(&fields); err != nil || fields["agent_id"] != want[i].Subject {
				e.Errorf("data %v, %v", fields, err)
			}
		}
		if !slices.Equal(b.subjects, []string{"events.one", "events.one"}) {
			e.Errorf("subjects: %q", b.subjects)
		}
	})
}

func TestBusIsAway(t *testing.T) {
	onEngines(t, 2, func(e env) {
		stop := run(e.log(&published{away: true}, time.Hour))
		e.add(event(e, "one", updated, "a", e.db.Now()), event(e, "one", updated, "b", e.db.Now()))
		testpoll.Until(e, "the events have numbers", func() bool { return len(e.read(eventlog.Query{}).Events) == 2 })
		stop()
		e.add(event(e, "one", updated, "c", e.db.Now()))
		run(e.log(nil, time.Hour))() // it numbers what is there before it ends
		e.same("all", subjects(e.read(eventlog.Query{})), "a", "b", "c")
	})
}

func TestRunDeletesOldEvents(t *testing.T) {
	onEngines(t, 2, func(e env) {
		e.add(event(e, "one", updated, "old", e.db.Now().Add(-2*time.Hour)))
		e.number()
		e.add(event(e, "one", updated, "new", e.db.Now()))
		e.number()
		stop := run(e.log(nil, time.Hour))
		testpoll.Until(e, "the old event is deleted", func() bool { return slices.Equal(subjects(e.read(eventlog.Query{})), []string{"new"}) })
		stop()
	})
}

func TestConfigIsChecked(t *testing.T) {
	good := eventlog.Config{Source: "s", Retention: 1, Interval: 1, Subject: func(string) string { return "" }}
	for name, change := range map[string]func(*eventlog.Config){
		"no source":    func(c *eventlog.Config) { c.Source = "" },
		"no retention": func(c *eventlog.Config) { c.Retention = 0 },
		"no interval":  func(c *eventlog.Config) { c.Interval = -1 },
		"no subject":   func(c *eventlog.Config) { c.Subject = nil },
	} {
		c := good
		change(&c)
		if _, err := eventlog.NewLog(c, &eventlog.Table{}, nil, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := eventlog.NewLog(good, nil, nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("no table: no error")
	}
}
