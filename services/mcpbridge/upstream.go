package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// upstream is one server in the pool, with at most one connection at a time.
type upstream struct {
	spec  *spec
	pool  *pool
	slots chan struct{}

	mu           sync.Mutex
	conn         *connection
	dialling     *dial
	retired      bool
	wanted       bool // it was discovered and reports changes: keep it, and reconnect when it is lost
	reconnecting bool
	era          era
	crashes      int       // consecutive losses of a process, each soon after its start
	notBefore    time.Time // when a crashed process may be restarted
}

// dial is one attempt to connect, shared by all callers.
type dial struct {
	done chan struct{}
	conn *connection
	err  error
}

// steadyAfter is how long a process must run for its end not to count as another crash.
const steadyAfter = 10 * time.Second

// connection returns the live connection, and connects if needed. Concurrent callers share one attempt, which does not end with any of
// them. errRetired means that the pool has another upstream by now.
func (u *upstream) connection(ctx context.Context) (*connection, error) {
	u.mu.Lock()
	if u.retired {
		u.mu.Unlock()
		return nil, errRetired
	}
	if u.conn != nil && u.conn.alive() {
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
		return nil, &sendError{fate: notSent, cause: ctx.Err()}
	}
}

// dial makes the connection.
func (u *upstream) dial(d *dial) {
	ctx, cancel := context.WithTimeout(u.pool.life, u.spec.connectTimeout)
	defer cancel()
	begin := time.Now()
	d.conn, d.err = u.open(ctx)
	u.mu.Lock()
	u.dialling = nil
	if d.err == nil && u.retired {
		d.conn.retire()
		d.err = errRetired
	}
	if d.err != nil {
		u.crashed(begin)
		u.mu.Unlock()
		close(d.done)
		return
	}
	c := d.conn
	u.conn = c
	u.era = legacyEra
	if c.modern() {
		u.era = modernEra
	}
	u.pool.eras.remember(u.spec.key, u.era)
	// Under the lock: a "connected" must not overtake the "lost" of the previous connection.
	u.pool.hub.Publish(watch.Event{Server: u.spec.id, Change: watch.Connected})
	u.mu.Unlock()
	u.pool.log.InfoContext(ctx, "tool server connected", "server_id", u.spec.id, "server", u.spec.name, "protocol", c.version,
		"took", time.Since(begin))
	close(d.done)
	if !u.pool.background(func() { u.guard(c, begin) }) {
		c.close()
	}
}

// open waits until a crashed process may be restarted, and connects.
func (u *upstream) open(ctx context.Context) (*connection, error) {
	u.mu.Lock()
	wait, known := time.Until(u.notBefore), u.era
	u.mu.Unlock()
	if wait > 0 {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return nil, &sendError{
				fate: notSent, retryAfter: wait,
				text: fmt.Sprintf("its process ended several times in a row and is started again in %s", wait.Round(time.Second)),
			}
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
	c, err := u.pool.opener.open(ctx, u.spec, known, u.changed)
	if err != nil && known != unknownEra {
		u.mu.Lock()
		u.era = unknownEra // it may be another server by now
		u.mu.Unlock()
		u.pool.eras.remember(u.spec.key, unknownEra)
	}
	return c, err
}

// crashed sets when a process may be restarted. The caller holds mu.
func (u *upstream) crashed(begin time.Time) {
	if u.spec.kind != overStdio {
		return
	}
	if time.Since(begin) > steadyAfter {
		u.crashes = 0
		return
	}
	// Restart at once after the first crash.
	if u.crashes++; u.crashes > 1 {
		u.notBefore = time.Now().Add(u.pool.cfg.reconnects().After(u.crashes - 1))
	}
}

// guard waits for the end of a connection, and cleans up.
func (u *upstream) guard(c *connection, begin time.Time) {
	select {
	case <-c.done:
		if u.recordLoss(c, begin) {
			u.pool.background(u.reconnect)
		}
		select {
		case <-c.drained:
		case <-u.pool.life.Done():
		}
	case <-u.pool.life.Done():
	}
	c.close()
}

// recordLoss records that a connection ended. It reports whether the caller has to start reconnect.
func (u *upstream) recordLoss(c *connection, begin time.Time) bool {
	cause := c.lost()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn == c {
		u.conn = nil
	}
	if cause == nil || u.retired {
		return false
	}
	if c.modern() {
		u.era = unknownEra // probing again is cheap, and it may be another server by now
	}
	detail := c.describe(cause)
	u.crashed(begin)
	u.pool.hub.Publish(watch.Event{Server: u.spec.id, Change: watch.Lost, Detail: detail})
	u.pool.log.WarnContext(u.pool.life, "tool server lost", "server_id", u.spec.id, "server", u.spec.name, "error", detail)
	return u.startReconnect()
}

// startReconnect reports whether the caller, who holds mu, has to start reconnect.
func (u *upstream) startReconnect() bool {
	if !u.wanted || u.reconnecting {
		return false
	}
	u.reconnecting = true
	return true
}

// reconnect retries until the server is back or no longer wanted.
func (u *upstream) reconnect() {
	defer func() {
		u.mu.Lock()
		u.reconnecting = false
		u.mu.Unlock()
	}()
	for pauses := u.pool.cfg.reconnects().Start(); ; {
		if pauses.Wait(u.pool.life) != nil {
			return
		}
		_, err := u.connection(u.pool.life)
		if err == nil || errors.Is(err, errRetired) || errors.Is(err, errClosed) {
			return
		}
		u.pool.log.DebugContext(u.pool.life, "tool server is still away", slog.String("server_id", u.spec.id),
			slog.String("error", u.spec.redact(plain(err))))
	}
}

// drop abandons a connection whose session is gone. Calls that run on it may finish.
func (u *upstream) drop(c *connection, why *sendError) {
	u.mu.Lock()
	if u.conn == c && !u.retired {
		u.conn = nil
		if c.modern() || why.wrongEra { // without a session none can be lost: it is another server by now
			u.era = unknownEra
		}
		u.pool.hub.Publish(watch.Event{Server: u.spec.id, Change: watch.Lost, Detail: why.Error()})
		if u.startReconnect() {
			u.pool.background(u.reconnect) // the caller that drops it connects again at once, unless the server is away
		}
	}
	u.mu.Unlock()
	c.retire()
}

// changed reports that the tool list changed.
func (u *upstream) changed() {
	u.mu.Lock()
	retired := u.retired
	u.mu.Unlock()
	if !retired {
		u.pool.hub.Publish(watch.Event{Server: u.spec.id, Change: watch.ToolsChanged})
	}
}

// want keeps the connection open for its notifications.
func (u *upstream) want() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wanted = true
}

// retire ends the upstream once its calls are over.
func (u *upstream) retire() {
	u.mu.Lock()
	u.retired = true
	c := u.conn
	u.mu.Unlock()
	if c != nil {
		c.retire()
	}
}

// idle reports whether it has been unused for that long and is not wanted.
func (u *upstream) idle(limit time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.wanted && time.Now().After(u.notBefore) && u.dialling == nil && len(u.slots) == 0 && (u.conn == nil || u.conn.idle() >= limit)
}
