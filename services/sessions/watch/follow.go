package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/stack"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// run follows the session until the feed is over. Each round is one subscription; a round that ends has lost messages, so the next one
// reads the journal first.
func (f *feed) run(ctx context.Context) {
	defer f.cancel()
	known := false
	for ctx.Err() == nil {
		var sub *bus.Subscription
		if err := stack.Apart(func() (err error) {
			sub, err = f.begin(ctx, known)
			return err
		}); err != nil {
			if sub != nil {
				sub.Close()
			}
			f.end(err)
			close(f.ready)
			return
		}
		known = true
		select {
		case <-f.ready:
		default:
			close(f.ready)
		}
		f.follow(ctx, sub)
	}
	select {
	case <-f.ready:
	default:
		close(f.ready)
	}
}

// begin subscribes, and finds out where the session stands, or what has happened since the last round. The error is that of the first.
func (f *feed) begin(ctx context.Context, known bool) (*bus.Subscription, error) {
	sub := f.subscribe(ctx)
	if !known {
		if err := f.load(ctx); err != nil {
			return sub, err
		}
	} else if err := f.catchUp(ctx); err != nil {
		f.trouble(ctx, err)
	}
	f.fill(ctx)
	f.recheck = f.snap.Open != 0
	return sub, nil
}

// subscribe returns nil while the bus is away.
func (f *feed) subscribe(ctx context.Context) *bus.Subscription {
	sub, err := f.hub.bus.Subscribe(contract.SessionSubjects(f.key.tenant, f.key.session), f.hub.cfg.BusBuffer)
	if err != nil {
		f.hub.log.DebugContext(ctx, "watching without the bus", "session_id", f.key.session, "error", err)
		return nil
	}
	if f.hub.bus.Connected() {
		if err := f.hub.bus.Flush(ctx); err != nil {
			f.hub.log.DebugContext(ctx, "watching without the bus for now", "session_id", f.key.session, "error", err)
		}
	}
	return sub
}

// load finds out where the session stands.
func (f *feed) load(ctx context.Context) error {
	ses, err := f.hub.store.Session(ctx, f.key.tenant, f.key.session)
	if err != nil {
		if ctx.Err() != nil {
			return errFeedOver
		}
		return fmt.Errorf("watch session %s: %w", f.key.session, err)
	}
	if ses.OpenSeq != 0 {
		e, err := f.hub.store.Event(ctx, f.key.tenant, f.key.session, ses.OpenSeq)
		if err != nil {
			return fmt.Errorf("watch session %s: %w", f.key.session, err)
		}
		f.opened, f.openTurn = e.Time, e.TurnID
	}
	f.mu.Lock()
	f.snap = Snapshot{Last: ses.LastSeq, Open: ses.OpenSeq}
	f.mu.Unlock()
	f.active = ses.ActiveTurnID != ""
	return nil
}

// follow passes on what comes until the subscription ends. Without one it polls for a while.
func (f *feed) follow(ctx context.Context, sub *bus.Subscription) {
	var live <-chan bus.Msg
	if sub != nil {
		defer sub.Close()
		live = sub.C()
	}
	first := f.pause(sub)
	if spread := f.hub.bus.Spread(); spread > 0 {
		first = min(first, spread)
	}
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case m, ok := <-live:
			if !ok {
				f.hub.log.DebugContext(ctx, "feed subscribes again", "session_id", f.key.session, "error", sub.Err())
				if errors.Is(sub.Err(), bus.ErrClosed) {
					live = nil // the bus is closed for good: poll
					sub = nil
					timer.Reset(f.pause(sub))
					continue
				}
				return
			}
			f.receive(ctx, m)
			if len(f.pending) > 0 {
				timer.Reset(f.fillPause())
			}
		case <-timer.C:
			if err := stack.Apart(func() error { return f.poll(ctx) }); err != nil {
				f.trouble(ctx, err)
			}
			timer.Reset(f.pause(sub))
		case <-ctx.Done():
			return
		}
	}
}

// pause is how long to wait for the bus before looking into the journal.
func (f *feed) pause(sub *bus.Subscription) time.Duration {
	switch {
	case sub == nil || !f.hub.bus.Connected():
		return f.hub.cfg.PollAway
	case len(f.pending) > 0 || f.recheck:
		return f.fillPause()
	case f.active:
		return f.hub.cfg.PollActive
	}
	return f.hub.cfg.PollIdle
}

func (f *feed) poll(ctx context.Context) error {
	if len(f.pending) > 0 || f.recheck {
		f.fill(ctx)
	}
	ses, err := f.hub.store.Session(ctx, f.key.tenant, f.key.session)
	if err != nil {
		return err
	}
	f.active = ses.ActiveTurnID != ""
	if ses.LastSeq > f.snap.Last {
		return f.catchUp(ctx)
	}
	return nil
}

// trouble reports that the journal cannot be read now. The next poll tries again; a session that is gone ends the feed.
func (f *feed) trouble(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	f.hub.log.WarnContext(ctx, "journal cannot be read", "session_id", f.key.session, "error", err)
	if isGone(err) {
		f.end(err)
	}
}

func (f *feed) receive(ctx context.Context, m bus.Msg) {
	events, err := f.read(m)
	if err != nil {
		f.hub.log.WarnContext(ctx, "message on the bus is no event", "session_id", f.key.session, "error", err)
		return
	}
	if len(events) == 0 { // something happened that is no event: the session was deleted
		if err := f.poll(ctx); err != nil {
			f.trouble(ctx, err)
		}
	}
	for _, e := range events {
		f.take(ctx, e)
	}
}

// read decodes a message: durable events come together, deltas one by one. Each kind has its subject: a delta cannot pass for a
// durable event.
func (f *feed) read(m bus.Msg) ([]*turnv1.Event, error) {
	if m.Subject == f.events {
		events, err := contract.UnpackEvents(m.Data)
		if err == nil && slices.ContainsFunc(events, transient) {
			err = errors.New("a delta among durable events")
		}
		return events, err
	}
	e := &turnv1.Event{}
	if err := proto.Unmarshal(m.Data, e); err != nil {
		return nil, fmt.Errorf("read delta: %w", err)
	}
	if !transient(e) {
		return nil, errors.New("not a delta")
	}
	return []*turnv1.Event{e}, nil
}

// take passes on an event of the bus, if it is the next; what is missing before it is read from the journal.
func (f *feed) take(ctx context.Context, e *turnv1.Event) {
	if e.GetSeq() > f.snap.Last && (transient(e) || e.GetSeq() != f.snap.Last+1 || e.GetData() == nil) {
		// It came ahead of others, or only its envelope came.
		if err := f.catchUp(ctx); err != nil {
			f.trouble(ctx, err)
			return
		}
	}
	switch {
	case transient(e):
		f.delta(ctx, e)
	case e.GetSeq() == f.snap.Last+1 && e.GetData() != nil:
		f.durable(ctx, e)
	}
}
