package gateway

import (
	"io"
	"net/http"
	"time"
)

// bodyTime is how long a caller may take to send a body, whether a handler reads it or not: net/http reads what a handler has left, and
// keeps the connection as long as that takes.
const bodyTime = 30 * time.Second

// timedBody is a body with a deadline, which ends when it has been read.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

// inTime bounds the time of a request's body. Writers without deadlines occur in tests.
func inTime(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.Body == nil {
		return
	}
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTime)) == nil {
		r.Body = &timedBody{r.Body, rc}
	}
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.rc.SetReadDeadline(time.Time{}) // the server reads on while the handler works, to notice that the caller leaves
	}
	return n, err
}
