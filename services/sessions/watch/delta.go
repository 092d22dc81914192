package watch

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// transient tells events that only the bus has from those of the journal.
func transient(e *turnv1.Event) bool { return e.GetData() != nil && journal.Type(e) == "" }

func isGone(err error) bool { return errors.Is(err, store.ErrNotFound) }

// delta passes on a transient event: an unnumbered one at once, a numbered one in its order.
func (f *feed) delta(ctx context.Context, e *turnv1.Event) {
	switch next := uint32(len(f.snap.Deltas)) + 1; {
	case e.GetDelta() == 0:
		f.mu.Lock()
		f.tell(e)
		f.mu.Unlock()
	case f.snap.Open == 0 || e.GetSeq() != f.snap.Open || e.GetDelta() < next:
		// It belongs to a message or an attempt that is over, or was seen.
	case e.GetDelta() == next:
		f.recheck = false // none is missing before it
		f.append(e)
	default:
		f.hold(e)
		if time.Since(f.filled) >= f.fillPause() {
			f.fill(ctx)
		}
	}
}

func (f *feed) fillPause() time.Duration {
	return min(fillPause<<min(f.fills, 10), fillPauseMax)
}

// append passes on the next delta and those that waited for it.
func (f *feed) append(e *turnv1.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for e != nil {
		f.snap.Deltas, f.fills = append(f.snap.Deltas, e), 0
		f.tell(e)
		next := uint32(len(f.snap.Deltas)) + 1
		e = f.pending[next]
		delete(f.pending, next)
	}
}

// hold keeps a delta that came ahead of others.
func (f *feed) hold(e *turnv1.Event) {
	if f.pending == nil {
		f.pending = map[uint32]*turnv1.Event{}
	}
	if len(f.pending) < maxPending {
		f.pending[e.GetDelta()] = e
	}
}

// fill fetches the open message's deltas that the bus kept and passes on those that are next. Where turns follow each other at once, the
// bus has thousands of the messages before: the first look is at those since the message began, the next ones allow for other clocks.
func (f *feed) fill(ctx context.Context) {
	if f.snap.Open == 0 {
		return
	}
	f.filled = time.Now()
	skew := firstSkew
	if f.fills++; f.fills > 1 {
		skew = clockSkew
	}
	kept, err := f.hub.bus.KeptSince(ctx, contract.DeltaSubject(f.key.tenant, f.key.session), f.opened.Add(-skew))
	if err != nil {
		f.hub.log.DebugContext(ctx, "kept deltas not to be had", "session_id", f.key.session, "error", err)
		return
	}
	for _, m := range kept {
		e := &turnv1.Event{}
		if err := proto.Unmarshal(m.Data, e); err != nil || e.GetSeq() != f.snap.Open || e.GetDelta() == 0 {
			continue // another message's
		}
		switch next := uint32(len(f.snap.Deltas)) + 1; {
		case e.GetDelta() == next:
			f.append(e)
		case e.GetDelta() > next:
			f.hold(e)
		}
	}
}
