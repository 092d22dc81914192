package executor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/libs/truncate"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
)

// httpLink reads the events of one answer.
type httpLink struct {
	spec   *spec
	body   io.ReadCloser
	events *sse.Reader // nil if the answer has a line for each event
	lines  *bufio.Scanner
	cancel context.CancelFunc
	once   sync.Once
}

// openHTTP posts the invocation and waits for the answer to begin.
func (h *Host) openHTTP(ctx context.Context, s *spec, in *executorv1.Invocation) (link, error) {
	body, err := Encode(first(in))
	if err != nil {
		return nil, err
	}
	live, cancel := context.WithCancel(context.WithoutCancel(ctx)) // recv may go on when ctx ends, until cut
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	req, err := http.NewRequestWithContext(live, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, failed("the executor's address is not valid")
	}
	for name, value := range s.headers {
		if req.Header.Set(name, value); strings.EqualFold(name, "Host") {
			req.Host = value
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/x-ndjson")
	req.Header.Set("Idempotency-Key", in.GetInvocationId())
	res, err := h.client.Do(req) //nolint:bodyclose // cut closes it
	if err != nil {
		cancel()
		return nil, unreached(s, err)
	}
	l := &httpLink{spec: s, body: res.Body, cancel: cancel}
	if err := l.begin(res); err != nil {
		l.cut()
		return nil, err
	}
	return l, nil
}

// unreached sorts an error of a call that got no answer.
func unreached(s *spec, err error) error {
	if errors.Is(err, egress.ErrDenied) || errors.Is(err, egress.ErrRedirect) {
		return failed("the executor cannot be reached: %s", s.redact(err.Error()))
	}
	return away("the executor cannot be reached: %s", s.redact(err.Error())).Cause(err)
}

// begin checks the head of the answer.
func (l *httpLink) begin(res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		return l.refused(res)
	}
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case err == nil && media == "text/event-stream":
		l.events = sse.NewReader(res.Body, sse.Config{MaxEvent: maxLine})
	case err == nil && (media == "application/x-ndjson" || media == "application/jsonl"):
		l.lines = bufio.NewScanner(res.Body)
		l.lines.Buffer(make([]byte, 0, 64<<10), maxLine+16)
	default:
		return failed("the executor answers with media type %q", truncate.Chars(res.Header.Get("Content-Type"), 80)).
			Hint("It must answer with text/event-stream, or with JSON lines as application/x-ndjson.")
	}
	return nil
}

// refused sorts an answer by its status.
func (l *httpLink) refused(res *http.Response) error {
	said, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	text := "the executor answers " + strconv.Itoa(res.StatusCode)
	if words := strings.Join(strings.Fields(strings.ToValidUTF8(string(said), "?")), " "); err == nil && words != "" {
		text += ": " + l.spec.redact(truncate.Chars(words, 300))
	}
	switch {
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusRequestTimeout,
		res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented:
		e := away("%s", text)
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
			e = e.RetryAfter(time.Duration(min(s, 3600)) * time.Second)
		}
		return e
	default:
		return failed("%s", text)
	}
}

func (l *httpLink) send(*executorv1.RunRequest) error {
	return failed("an executor over HTTP cannot stay: its round is over with its answer")
}

func (l *httpLink) recv() (*executorv1.RunResponse, error) {
	for {
		data, err := l.next()
		if err != nil {
			return nil, err
		}
		e, err := Decode(data)
		if err != nil {
			return nil, failed("the executor's answer is not understood: %s", l.spec.redact(err.Error()))
		}
		if e != nil {
			return e, nil
		}
	}
}

// next returns the data of the next event: a line, or what the data fields of a server-sent event hold.
func (l *httpLink) next() ([]byte, error) {
	if l.events != nil {
		e, err := l.events.Next()
		if errors.Is(err, sse.ErrTooLong) {
			return nil, failed("an event of the executor is longer than %d bytes", maxLine)
		}
		return e.Data, l.ended(err)
	}
	if l.lines.Scan() {
		return l.lines.Bytes(), nil
	}
	err := l.lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return nil, failed("a line of the executor's answer is longer than %d bytes", maxLine)
	}
	return nil, l.ended(cmp.Or(err, io.EOF))
}

// ended is the failure of an answer that ends with err before its end event. A stream that was cut by a proxy ends like one that is whole.
func (l *httpLink) ended(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return away("the executor's answer ended before its end event")
	default:
		return away("the executor's answer broke off: %s", l.spec.redact(err.Error())).Cause(err)
	}
}

func (l *httpLink) finish() { l.cut() }

func (l *httpLink) cut() {
	l.once.Do(func() {
		l.cancel()
		_ = l.body.Close() // unused from here on
	})
}
