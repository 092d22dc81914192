package sse

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/gateway/eventjson"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// keepBytes is the largest buffer that an idle stream keeps.
const keepBytes = 4 << 10

// writer collects frames and sends them under a deadline.
type writer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	view    view
	buf     []byte
}

// event adds an event's frame. Without a cursor it has no id, so that the reader's last id stays valid.
func (o *writer) event(m *sessionsv1.WatchTurnResponse) error {
	if !o.view.shows(m.GetEvent().GetType()) {
		return nil // a reader that resumes is sent the events from the last one it saw, and these are left out again
	}
	data, err := eventjson.Encode(m.GetEvent())
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if c := m.GetCursor(); c != "" {
		o.line("id: ", []byte(c))
	}
	if !o.view.unnamed {
		o.line("event: ", []byte(m.GetEvent().GetType()))
	}
	o.line("data: ", data)
	o.buf = append(o.buf, '\n')
	return nil
}

func (o *writer) retry(d time.Duration) {
	o.line("retry: ", strconv.AppendInt(nil, d.Milliseconds(), 10))
	o.buf = append(o.buf, '\n')
}

func (o *writer) heartbeat() { o.buf = append(o.buf, ":\n\n"...) }

// end tells a reader that the stream is complete.
func (o *writer) end(turnID string) {
	data, _ := json.Marshal(map[string]string{"turn_id": turnID}) //nolint:errchkjson // strings always encode
	o.line("event: ", []byte("end"))
	o.line("data: ", data)
	o.buf = append(o.buf, '\n')
}

// problem reports an error to the reader. The event is not called "error", which EventSource uses itself.
func (o *writer) problem(p fault.Problem) {
	data, _ := json.Marshal(p) //nolint:errchkjson // strings and numbers always encode
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
