// Package notice delivers what a server says during a call, progress and log messages, to the call's caller.
package notice

import (
	"context"
	"slices"
	"sync"
)

// Progress is the progress of a call.
type Progress struct {
	Done, Total float64
	Message     string
}

// Log is a log message of a server.
type Log struct {
	Level, Logger string
	Data          []byte // JSON
}

// Notice is what a server says about a running call; one of the fields is set.
type Notice struct {
	Progress *Progress
	Log      *Log
}

// Rank orders the levels of log messages; it is -1 for an unknown one.
func Rank(level string) int {
	return slices.Index([]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, level)
}

// Routes delivers notices to their calls: progress by token, since servers send it on any of a session's streams. Log messages have no
// token, so they are delivered only while a single call runs: those of several cannot be told apart, and may not be for each other's eyes.
// The zero value is ready for use.
type Routes struct {
	mu sync.Mutex
	to map[string]*inbox
}

// buffer is how many notices wait for a slow caller; the oldest is dropped first.
const buffer = 256

// inbox passes the notices of a call on to its caller, in order, from a goroutine that runs only while there are some: most calls have
// none.
type inbox struct {
	tell func([]Notice) error
	stop context.CancelFunc // ends the call of a caller that takes no more notices

	mu      sync.Mutex
	notices []Notice
	running bool
	all     sync.WaitGroup
	stopped bool // of pass
}

// put never blocks.
func (i *inbox) put(n Notice) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.notices) == buffer {
		i.notices = append(i.notices[:0], i.notices[1:]...)
	}
	i.notices = append(i.notices, n)
	if !i.running {
		i.running = true
		i.all.Go(i.pass)
	}
}

// pass passes on what waits.
func (i *inbox) pass() {
	for {
		i.mu.Lock()
		waiting := i.notices
		i.notices = nil
		if i.running = len(waiting) > 0; !i.running {
			i.mu.Unlock()
			return
		}
		i.mu.Unlock()
		if !i.stopped && i.tell(waiting) != nil {
			i.stopped = true
			i.stop()
		}
	}
}

// Add routes the notices with a token to tell, whose error ends the call with stop. The caller ends it with remove, which returns when tell
// has had all that came before.
func (r *Routes) Add(token string, tell func([]Notice) error, stop context.CancelFunc) (remove func()) {
	in := &inbox{tell: tell, stop: stop}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil {
		r.to = map[string]*inbox{}
	}
	r.to[token] = in
	return func() {
		r.mu.Lock()
		delete(r.to, token)
		r.mu.Unlock()
		in.all.Wait()
	}
}

// Progress delivers the progress of the call with a token.
func (r *Routes) Progress(token string, p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in, ok := r.to[token]; ok {
		in.put(Notice{Progress: &p})
	}
}

// Log delivers a log message if it can be told whose it is.
func (r *Routes) Log(m Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.to) != 1 {
		return
	}
	for _, in := range r.to {
		in.put(Notice{Log: &m})
	}
}
