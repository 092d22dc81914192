package eventfeed

import (
	"context"

	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
)

// batch is a part of the merged events.
type batch struct {
	// events have cursors.
	events []*eventv1.CloudEvent
	// at is where the next part begins: after these numbers, or before them if the newest come first.
	at Position
	// done means that nothing more is selected; partial that a service could not be reached and its events are missing.
	done, partial bool
}

// part is what was read of one stream, and how much of that has been merged.
type part struct {
	page
	merged int
}

func (p *part) empty() bool { return p.merged == len(p.events) }

// read reads a part of each stream and merges them. from is the position to continue at; nil begins at the end if the newest come first,
// else at the beginning. With partial, a service that cannot be reached has nothing new.
func (f *Feed) read(ctx context.Context, sel Selection, from *Position, newest bool, limit int, partial bool) (batch, error) {
	var parts [streams]part
	var out batch
	for i, read := range f.streams {
		q, selected := sel.query(i)
		q.Newest, q.Limit = newest, limit
		switch {
		case from == nil:
		case newest:
			q.Before = from[i]
		default:
			q.After = from[i]
		}
		if !selected {
			q.Limit = 0
		}
		p, err := read(ctx, q, partial)
		if err != nil && partial && i != sessions && away(err) {
			p, err, out.partial = page{first: q.After, last: q.After, position: q.After, done: true}, nil, true
		}
		if err != nil {
			return out, err
		}
		if !selected {
			p.done = true
			if p.position = p.last; newest {
				p.position = p.first + 1
			}
		}
		parts[i].page = p
		if out.at[i] = p.first; newest {
			out.at[i] = p.last + 1
		}
	}
	out.merge(&parts, newest, limit)
	return out, nil
}

// merge moves events from the parts to the batch in the order of their times. It stops when a part has no more events although its stream
// has: those may come next.
func (b *batch) merge(parts *[streams]part, newest bool, limit int) {
	for len(b.events) < limit {
		i := next(parts, newest)
		if i < 0 {
			break
		}
		p := &parts[i]
		e := p.events[p.merged]
		b.at[i] = p.numbers[p.merged]
		p.merged++
		e.Cursor = b.cursor(i, newest).String()
		b.events = append(b.events, e)
	}
	b.done = true
	for i := range parts {
		if p := &parts[i]; p.empty() {
			b.at[i] = p.position
		}
		b.done = b.done && parts[i].empty() && parts[i].done
	}
}

// cursor returns the position after the event just merged from stream i: all events that come before it in time are up to this position.
func (b *batch) cursor(i int, newest bool) Position {
	c := b.at
	if newest { // of the other streams, those merged already are later
		for k := range c {
			if k != i {
				c[k]--
			}
		}
	}
	return c
}

// next returns the stream whose event comes next, -1 if there is none or it is not known.
func next(parts *[streams]part, newest bool) int {
	best := -1
	for i := range parts {
		p := &parts[i]
		if p.empty() {
			if !p.done {
				return -1
			}
			continue
		}
		if best < 0 {
			best = i
			continue
		}
		other := &parts[best]
		mine, theirs := p.events[p.merged].GetTime().AsTime(), other.events[other.merged].GetTime().AsTime()
		if newest && !mine.Before(theirs) || !newest && mine.Before(theirs) {
			best = i
		}
	}
	return best
}
