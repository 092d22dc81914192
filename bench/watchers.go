package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/bench/figures"
	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
	"github.com/windlass-dev/windlass/libs/backoff"
)

// watchersRest is how long idle watchers are observed: several heartbeats.
const watchersRest = 45 * time.Second

// watching is the cost of watchers of sessions in which nothing happens.
type watching struct {
	machine figures.Machine
	n       int
	opened  time.Duration // until all were open
	// before and after are the memory without and with watchers.
	before, after process.Usages
	// idle and busy are how much of a processor Windlass uses without and with them.
	idle, busy float64
}

// watchers opens a watcher for each of many sessions, and observes them while nothing happens.
func (b *bench) watchers(ctx context.Context) (_ *watching, err error) {
	out := &watching{machine: figures.Describe(ctx), n: b.options.watchers}
	err = b.alone(ctx, func(m *mesh, d *deployment) error {
		b.say("%d sessions", out.n)
		c := &client{mesh: m, agent: model.Instant}
		if err := c.prepare(ctx, out.n); err != nil {
			return err
		}
		var err error
		if out.idle, err = m.cores(ctx, d); err != nil {
			return err
		}
		out.before = m.usage()
		b.say("%d watchers", out.n)
		all := &readers{}
		defer all.close()
		begin := time.Now()
		if err := all.open(ctx, m, c.sessions); err != nil {
			return err
		}
		out.opened = time.Since(begin)
		if out.busy, err = m.cores(ctx, d); err != nil {
			return err
		}
		out.after = m.usage()
		return all.failed()
	})
	return out, err
}

// cores is how much of a processor Windlass uses while nothing happens.
func (m *mesh) cores(ctx context.Context, d *deployment) (float64, error) {
	if err := m.settle(ctx, d.idleCores); err != nil {
		return 0, err
	}
	before := m.usage()
	if err := backoff.Sleep(ctx, watchersRest); err != nil {
		return 0, err
	}
	return m.usage().Since(before)[process.Windlass].CPU.Seconds() / watchersRest.Seconds(), nil
}

// readers read event streams until they are closed.
type readers struct {
	all sync.WaitGroup

	mu     sync.Mutex
	bodies []io.Closer
	closed bool
	errs   []error
}

// open opens a stream for each session.
func (r *readers) open(ctx context.Context, m *mesh, sessions []string) error {
	next := make(chan string, len(sessions))
	for _, id := range sessions {
		next <- id
	}
	_, err := loop(ctx, longAtOnce, len(sessions), func(ctx context.Context) (sample, error) {
		resp, err := openStream(context.WithoutCancel(ctx), m.http, http.MethodGet, m.url+"/v1/sessions/"+<-next+"/events", nil)
		if err != nil {
			return sample{}, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies = append(r.bodies, resp.Body)
		r.all.Go(func() { r.ended(frames(resp.Body, func(string, []byte) error { return nil })) })
		return sample{}, nil
	})
	return err
}

// ended records a stream that ended before it was closed.
func (r *readers) ended(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.errs = append(r.errs, errors.Join(errors.New("an event stream ended"), err))
	}
}

func (r *readers) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) == 0 {
		return nil
	}
	return fmt.Errorf("%d streams: %w", len(r.errs), r.errs[0])
}

func (r *readers) close() {
	r.mu.Lock()
	r.closed = true
	for _, body := range r.bodies {
		_ = body.Close() // it is not read to its end
	}
	r.mu.Unlock()
	r.all.Wait()
}

// each is the memory of a watcher, in KiB.
func (w *watching) each() float64 {
	return float64(w.after[process.Windlass].RSS-w.before[process.Windlass].RSS) / float64(w.n) / (1 << 10)
}

func (w *watching) table() *table {
	t := &table{head: []string{"idle watchers", "windlass MiB", "KiB each", "of a processor"}}
	t.add("none", mebi(w.before[process.Windlass].RSS), "", fmt.Sprintf("%.1f %%", 100*w.idle))
	t.add(fmt.Sprint(w.n), mebi(w.after[process.Windlass].RSS), fmt.Sprintf("%.1f", w.each()), fmt.Sprintf("%.1f %%", 100*w.busy))
	return t
}

func (w *watching) text() string {
	return fmt.Sprintf("Watchers of sessions in which nothing happens, opened in %.1f s, %d/s\n\n%s", w.opened.Seconds(),
		int(float64(w.n)/w.opened.Seconds()), w.table().text())
}

func (w *watching) markdown() string { return "# Idle watchers\n\n" + w.table().markdown() }

// check implements result: a person judges.
func (w *watching) check() error { return nil }

func (w *watching) measuredOn() figures.Machine { return w.machine }

// figures implements recordable.
func (w *watching) figures() []figures.Figure {
	row := fmt.Sprintf("%d idle watchers", w.n)
	return []figures.Figure{
		{Row: row, Name: "KiB each", Value: w.each()},
		{Row: row, Name: "of a processor", Value: 100 * (w.busy - w.idle)},
	}
}
