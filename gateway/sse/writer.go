package sse

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
)

// keepBytes is the largest buffer that an idle stream keeps.
const keepBytes = 4 << 10

// sendBytes is how much is collected before who adds more sends it.
const sendBytes = 64 << 10

// writer collects frames and sends them under a deadline: in a moment, together with those that follow at once. A goroutine runs only
// while there is something to send, and a timer sends heartbeats, so that an idle stream costs little.
type writer struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	cfg *Config
	// cut ends the stream when its reader is gone or too slow. open counts the open streams.
	cut  context.CancelCauseFunc
	open func(change int64)

	mu  sync.Mutex // guards what follows, and w
	buf []byte
	// started: the headers are sent. sending: a goroutine will send. closed: the response is complete, or not ours.
	started, sending, closed bool
	beat                     *time.Timer
	err                      error
}

// start sends the headers and the reconnect delay, once.
func (o *writer) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.startLocked()
}

func (o *writer) startLocked() {
	if o.started || o.closed {
		return
	}
	o.started = true
	o.open(1)
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
	o.retry(o.cfg.Retry)
	o.beat = time.AfterFunc(o.cfg.Heartbeat, o.heartbeat)
	o.flushLocked()
}

// instead responds with something else than a stream, unless that has started.
func (o *writer) instead(respond func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.started {
		return false
	}
	o.closed = true
	respond()
	return true
}

// add adds a frame. It waits while a reader is slow.
func (o *writer) add(f frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.startLocked()
	o.frame(f)
	switch {
	case len(o.buf) >= sendBytes:
		o.flushLocked()
	case len(o.buf) > 0 && !o.sending:
		o.sending = true
		go o.send()
	}
}

func (o *writer) send() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sending = false
	if len(o.buf) > 0 {
		o.flushLocked()
	}
}

func (o *writer) heartbeat() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, ":\n\n"...)
	o.flushLocked()
}

// last adds the last frame and sends all. The error says that the reader has not received something.
func (o *writer) last(add func()) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if add != nil {
		add()
	}
	o.flushLocked() // it also extends the deadline for the end of the response
	return o.err
}

// close ends the use of the response.
func (o *writer) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.started {
		o.beat.Stop()
		o.open(-1)
	}
}

// frame is what a reader is sent for one message of a stream.
type frame struct {
	// id is the cursor, name the name of the event; "" leaves out the line.
	id, name string
	// data is the event; nil moves the reader's last id only.
	data []byte
	// hidden means that the reader does not want to see the event. One that resumes is sent the events from the last one that it saw, and
	// these are left out again.
	hidden bool
}

// frame adds a frame. Without an id the reader's last one stays valid.
func (o *writer) frame(f frame) {
	if f.hidden {
		return
	}
	if f.id != "" {
		o.line("id: ", []byte(f.id))
	}
	if f.data != nil {
		if f.name != "" {
			o.line("event: ", []byte(f.name))
		}
		o.line("data: ", f.data)
	}
	o.buf = append(o.buf, '\n')
}

func (o *writer) retry(d time.Duration) {
	o.line("retry: ", strconv.AppendInt(nil, d.Milliseconds(), 10))
	o.buf = append(o.buf, '\n')
}

// end tells a reader that the stream is complete.
func (o *writer) end(data []byte) {
	o.line("event: ", []byte("end"))
	o.line("data: ", data)
	o.buf = append(o.buf, '\n')
}

// problem reports an error to the reader. The event is not called "error", which EventSource uses itself.
func (o *writer) problem(p fault.Problem) {
	data, _ := json.Marshal(p) // strings and numbers always encode
	o.line("event: ", []byte("error-status"))
	o.line("data: ", data)
	o.buf = append(o.buf, '\n')
}

func (o *writer) line(name string, value []byte) {
	o.buf = append(append(append(o.buf, name...), value...), '\n')
}

// flushLocked sends the collected frames. It fails if the reader is gone or takes longer than the deadline, and then ends the stream.
func (o *writer) flushLocked() {
	if o.closed || o.err != nil {
		return
	}
	if o.err = o.flush(); o.err != nil {
		o.cut(o.err)
		return
	}
	if o.buf = o.buf[:0]; cap(o.buf) > keepBytes {
		o.buf = nil
	}
	o.beat.Reset(o.cfg.Heartbeat)
}

func (o *writer) flush() error {
	if err := o.rc.SetWriteDeadline(time.Now().Add(o.cfg.WriteTimeout)); err != nil {
		return fmt.Errorf("set write deadline: %w", err)
	}
	if _, err := o.w.Write(o.buf); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	if err := o.rc.Flush(); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	return nil
}
