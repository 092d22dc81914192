package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/services/mcpbridge/connection"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Upstream is one server in the pool, with at most one connection at a time.
type Upstream struct {
	spec  *server.Spec
	pool  *Pool
	slots chan struct{}

	mu           sync.Mutex
	conn         *connection.Connection
	dialling     *dial
	retired      bool
	wanted       bool // it was discovered and reports changes: keep it, and reconnect when it is lost
	reconnecting bool
	era          connection.Era
	crashes      int       // consecutive losses of a process, each soon after its start
	notBefore    time.Time // when a crashed process may be restarted
}

// dial is one attempt to connect, shared by all callers.
type dial struct {
	done chan struct{}
	conn *connection.Connection
	err  error
}

// steadyAfter is how long a process must run for its end not to count as another crash.
const steadyAfter = 10 * time.Second

// Connection returns the live connection, and connects if needed. Concurrent callers share one attempt, which does not end with any of
// them. ErrRetired means that the pool has another upstream by now.
func (u *Upstream) Connection(ctx context.Context) (*connection.Connection, error) {
	u.mu.Lock()
	if u.retired {
		u.mu.Unlock()
		return nil, ErrRetired
	}
	if u.conn != nil && u.conn.Alive() {
		defer u.mu.Unlock()
		return u.conn, nil
	}
	d := u.dialling
	if d == nil {
		d = &dial{done: make(chan struct{})}
		u.dialling = d
		if !u.pool.background(func() { u.dial(d) }) {
			u.dialling = nil
			u.mu.Unlock()
			return nil, errClosed
		}
	}
	u.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
	}
	// Often the attempt times out at the same moment, with a better error.
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-timer.C:
		return nil, wire.NotSent(ctx.Err(), "")
	}
}

// dial makes the connection.
func (u *Upstream) dial(d *dial) {
	ctx, cancel := context.WithTimeout(u.pool.life, u.spec.ConnectTimeout)
	defer cancel()
	begin := time.Now()
	d.conn, d.err = u.open(ctx)
	u.mu.Lock()
	u.dialling = nil
	if d.err == nil && u.retired {
		d.conn.Retire()
		d.err = ErrRetired
	}
	if d.err != nil {
		u.crashed(begin)
		u.mu.Unlock()
		close(d.done)
		return
	}
	c := d.conn
	u.conn = c
	u.era = c.Era()
	u.pool.eras.remember(u.spec.Key, u.era)
	// Under the lock: a "connected" must not overtake the "lost" of the previous connection.
	u.pool.hub.Publish(watch.Event{Server: u.spec.ID, Change: watch.Connected})
	u.mu.Unlock()
	u.pool.log.InfoContext(ctx, "tool server connected", "server_id", u.spec.ID, "server", u.spec.Name, "protocol", c.Version(),
		"took", time.Since(begin))
	close(d.done)
	if !u.pool.background(func() { u.guard(c, begin) }) {
		c.Close()
	}
}

// open waits until a crashed process may be restarted, and connects.
func (u *Upstream) open(ctx context.Context) (*connection.Connection, error) {
	u.mu.Lock()
	wait, known := time.Until(u.notBefore), u.era
	u.mu.Unlock()
	if wait > 0 {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			e := wire.NotSent(nil, fmt.Sprintf("its process ended several times in a row and is started again in %s", wait.Round(time.Second)))
			e.RetryAfter = wait
			return nil, e
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
	c, err := u.pool.opener.Open(ctx, u.spec, known, u.changed)
	if err != nil && known != connection.UnknownEra {
		u.mu.Lock()
		u.era = connection.UnknownEra // it may be another server by now
		u.mu.Unlock()
		u.pool.eras.remember(u.spec.Key, connection.UnknownEra)
	}
	return c, err
}

// crashed sets when a process may be restarted. The caller holds mu.
func (u *Upstream) crashed(begin time.Time) {
	if u.spec.Kind != server.Stdio {
		return
	}
	if time.Since(begin) > steadyAfter {
		u.crashes = 0
		return
	}
	// Restart at once after the first crash.
	if u.crashes++; u.crashes > 1 {
		u.notBefore = time.Now().Add(u.pool.cfg.Reconnects.After(u.crashes - 1))
	}
}

// guard waits for the end of a connection, and cleans up.
func (u *Upstream) guard(c *connection.Connection, begin time.Time) {
	select {
	case <-c.Done():
		if u.recordLoss(c, begin) {
			u.pool.background(u.reconnect)
		}
		select {
		case <-c.Drained():
		case <-u.pool.life.Done():
		}
	case <-u.pool.life.Done():
	}
	c.Close()
}

// recordLoss records that a connection ended. It reports whether the caller has to start reconnect.
func (u *Upstream) recordLoss(c *connection.Connection, begin time.Time) bool {
	cause := c.Lost()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn == c {
		u.conn = nil
	}
	if cause == nil || u.retired {
		return false
	}
	if c.Era() == connection.ModernEra {
		u.era = connection.UnknownEra // probing again is cheap, and it may be another server by now
	}
	detail := wire.Describe(u.spec, cause)
	u.crashed(begin)
	u.pool.hub.Publish(watch.Event{Server: u.spec.ID, Change: watch.Lost, Detail: detail})
	u.pool.log.WarnContext(u.pool.life, "tool server lost", "server_id", u.spec.ID, "server", u.spec.Name, "error", detail)
	return u.startReconnect()
}

// startReconnect reports whether the caller, who holds mu, has to start reconnect.
func (u *Upstream) startReconnect() bool {
	if !u.wanted || u.reconnecting {
		return false
	}
	u.reconnecting = true
	return true
}

// reconnect retries until the server is back or no longer wanted.
func (u *Upstream) reconnect() {
	defer func() {
		u.mu.Lock()
		u.reconnecting = false
		u.mu.Unlock()
	}()
	for pauses := u.pool.cfg.Reconnects.Start(); ; {
		if pauses.Wait(u.pool.life) != nil {
			return
		}
		_, err := u.Connection(u.pool.life)
		if err == nil || errors.Is(err, ErrRetired) || errors.Is(err, errClosed) {
			return
		}
		u.pool.log.DebugContext(u.pool.life, "tool server is still away", slog.String("server_id", u.spec.ID),
			slog.String("error", wire.Describe(u.spec, err)))
	}
}

// Drop abandons a connection whose session is gone. Calls that run on it may finish.
func (u *Upstream) Drop(c *connection.Connection, why *wire.Error) {
	u.mu.Lock()
	if u.conn == c && !u.retired {
		u.conn = nil
		if c.Era() == connection.ModernEra || why.WrongEra { // without a session none can be lost: it is another server by now
			u.era = connection.UnknownEra
		}
		u.pool.hub.Publish(watch.Event{Server: u.spec.ID, Change: watch.Lost, Detail: why.Error()})
		if u.startReconnect() {
			u.pool.background(u.reconnect) // the caller that drops it connects again at once, unless the server is away
		}
	}
	u.mu.Unlock()
	c.Retire()
}

// changed reports that the tool list changed.
func (u *Upstream) changed() {
	u.mu.Lock()
	retired := u.retired
	u.mu.Unlock()
	if !retired {
		u.pool.hub.Publish(watch.Event{Server: u.spec.ID, Change: watch.ToolsChanged})
	}
}

// Keep keeps the connection open for its notifications.
func (u *Upstream) Keep() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wanted = true
}

// retire ends the upstream once its calls are over.
func (u *Upstream) retire() {
	u.mu.Lock()
	u.retired = true
	c := u.conn
	u.mu.Unlock()
	if c != nil {
		c.Retire()
	}
}

// idle reports whether it has been unused for that long and is not wanted.
func (u *Upstream) idle(limit time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.wanted && time.Now().After(u.notBefore) && u.dialling == nil && len(u.slots) == 0 && (u.conn == nil || u.conn.Idle() >= limit)
}
