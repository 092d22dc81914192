package conversation

import (
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Limits of what is kept of conversations that were read.
const (
	// keptBytes bounds all kept messages, by their encoded size; decoded they take a few times as much.
	keptBytes = 8 << 20
	// keptSessions bounds the sessions.
	keptSessions = 4096
	// keptFrom is the number of messages from which a conversation is kept: a shorter one is read again faster than it is worth.
	keptFrom = 32
)

// placed is a message of a conversation, at its point. The message is shared: read only.
type placed struct {
	point   store.Point
	size    int // encoded
	tokens  int64
	message *turnv1.Message
}

func place(row store.Message) (placed, error) {
	m, err := Message(row)
	return placed{row.Point(), len(row.Data), MessageTokens(m), m}, err
}

// past is a conversation up to the end of a turn, as it was read. Nothing of it changes later: messages belong to turns that are over,
// which get no more of them.
type past struct {
	// after is the point behind which all messages are there, end the place of the turn up to whose end they are.
	after store.Point
	end   uint32
	// messages are in the order of the conversation; size is that of all.
	messages []placed
	size     int
}

// begins reports whether no message behind a point is missing.
func (p *past) begins(point store.Point) bool { return !p.after.After(point) }

// without returns the past without messages up to a point.
func (p *past) without(point store.Point) *past {
	if !point.After(p.after) {
		return p
	}
	n, _ := slices.BinarySearchFunc(p.messages, point, func(m placed, point store.Point) int {
		if m.point.After(point) {
			return 1
		}
		return -1
	})
	out := &past{after: point, end: p.end, messages: p.messages[n:], size: p.size}
	for _, m := range p.messages[:n] {
		out.size -= m.size
	}
	return out
}

// with returns the past with more messages, which are those up to the turn at end. Shared slices are not written to.
func (p *past) with(more []placed, end uint32) *past {
	out := &past{after: p.after, end: end, messages: slices.Concat(p.messages, more), size: p.size}
	for _, m := range more {
		out.size += m.size
	}
	return out
}

// trimmed returns the newest messages that have more than limit bytes together, and a page before them, from which a window is cut; all if
// there are no more.
func (p *past) trimmed(limit int) *past {
	n, size := 0, p.size
	for n < len(p.messages) && size-p.messages[n].size > limit {
		size -= p.messages[n].size
		n++
	}
	if n <= windowPage {
		return p
	}
	return p.without(p.messages[n-windowPage-1].point)
}

// until returns the part of the past before a turn.
func (p *past) until(place uint32) *past {
	out := *p
	for n := len(out.messages); n > 0 && out.messages[n-1].point.TurnSeq >= place; n-- {
		out.size -= out.messages[n-1].size
		out.messages = out.messages[:n-1]
	}
	out.end = min(out.end, place-1)
	return &out
}

// recent keeps conversations that were read, so that the next turn of a session reads only what is new. It is safe for concurrent use.
type recent struct {
	mu   sync.Mutex
	all  *simplelru.LRU[sessionKey, *past]
	size int
}

type sessionKey struct{ tenant, session string }

func newRecent() *recent {
	r := &recent{}
	all, err := simplelru.NewLRU(keptSessions, func(_ sessionKey, p *past) { r.size -= p.size })
	if err != nil {
		panic(err) // the size is a constant
	}
	r.all = all
	return r
}

func (r *recent) get(key sessionKey) *past {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, _ := r.all.Get(key)
	return p
}

// keep replaces what is kept of a session.
func (r *recent) keep(key sessionKey, p *past) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.Remove(key)
	if len(p.messages) < keptFrom || p.size > keptBytes {
		return
	}
	r.size += p.size
	r.all.Add(key, p)
	for r.size > keptBytes {
		r.all.RemoveOldest()
	}
}
