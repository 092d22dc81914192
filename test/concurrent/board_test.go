package concurrent

import (
	"math/rand/v2"
	"sync"

	"github.com/windlass-dev/windlass/test/harness"
)

const (
	// openRooms is how many sessions clients meet in at a time, sendsPerRoom after how many requests one is left for a new one: the checker's
	// work grows fast with the size of a history.
	openRooms    = 5
	sendsPerRoom = 14
)

// room is a session known to clients.
type room struct {
	id, agent string
	watcher   *harness.Watcher
	sends     int
	turns     []string
	// posted are the requests with keys made in it.
	posted []request
	// journal and ended are the room's result, once its turns are over.
	journal []harness.Event
	ended   []harness.JSON
}

// request is a request with a key.
type request struct{ key, mode, text string }

// board is what clients know from each other's answers.
type board struct {
	mu    sync.Mutex
	rooms []*room
	// meeting are the rooms in use.
	meeting []*room
	// approvals were seen at some time.
	approvals []harness.JSON
	seen      map[string]bool
	// watchers follow turns.
	watchers map[string]*harness.Watcher
	// budget is the id of the budget of the agent "poor".
	budget string
}

func newBoard() *board {
	return &board{seen: map[string]bool{}, watchers: map[string]*harness.Watcher{}}
}

// add makes a room known. A room outside meeting is only checked in the end.
func (b *board) add(r *room, meet bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rooms = append(b.rooms, r)
	if meet {
		b.meeting = append(b.meeting, r)
	}
}

// lacks reports whether a room should be opened.
func (b *board) lacks() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.meeting) < openRooms
}

// pick returns a room in use, nil when there is none.
func (b *board) pick(dice *rand.Rand) *room {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.meeting) == 0 {
		return nil
	}
	return b.meeting[dice.IntN(len(b.meeting))]
}

// post records a request that is about to be made, and retires its room after enough requests.
func (b *board) post(r *room, req request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.posted = append(r.posted, req)
	if r.sends++; r.sends == sendsPerRoom {
		for i, m := range b.meeting {
			if m == r {
				b.meeting = append(b.meeting[:i:i], b.meeting[i+1:]...)
			}
		}
	}
}

// again returns an earlier request of a room.
func (b *board) again(r *room, dice *rand.Rand) (request, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(r.posted) == 0 {
		return request{}, false
	}
	return r.posted[dice.IntN(len(r.posted))], true
}

// learn records a turn of a room.
func (b *board) learn(r *room, turn string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.seen[turn] {
		b.seen[turn] = true
		r.turns = append(r.turns, turn)
	}
}

// turn returns a turn of a room, most likely a late one; "" when none is known.
func (b *board) turn(r *room, dice *rand.Rand) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(r.turns)
	if n == 0 {
		return ""
	}
	return r.turns[max(n-1-dice.IntN(4), 0)]
}

// found records the approvals of a list.
func (b *board) found(list []harness.JSON) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range list {
		if id := a.Str("id"); !b.seen[id] {
			b.seen[id] = true
			b.approvals = append(b.approvals, a)
		}
	}
}

// approval returns an approval that was seen, most likely a late one.
func (b *board) approval(dice *rand.Rand) harness.JSON {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.approvals)
	if n == 0 {
		return nil
	}
	return b.approvals[max(n-1-dice.IntN(4), 0)]
}

// all returns the rooms there are.
func (b *board) all() []*room {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*room(nil), b.rooms...)
}
