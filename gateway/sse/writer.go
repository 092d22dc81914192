package sse

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
)

// keepBytes is the largest buffer that an idle stream keeps.
const keepBytes = 4 << 10

// writer collects frames and sends them under a deadline.
type writer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	buf     []byte
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

func (o *writer) heartbeat() { o.buf = append(o.buf, ":\n\n"...) }

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

// flush sends the collected frames. It fails if the reader is gone or takes longer than the deadline.
func (o *writer) flush() error {
	if err := o.rc.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
		return fmt.Errorf("set write deadline: %w", err)
	}
	if _, err := o.w.Write(o.buf); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	o.buf = o.buf[:0]
	if cap(o.buf) > keepBytes {
		o.buf = nil
	}
	if err := o.rc.Flush(); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	return nil
}
