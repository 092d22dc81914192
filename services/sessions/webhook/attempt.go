package webhook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/truncate"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

const (
	// maxAnswer and answerTimeout bound what is read of an answer after its headers, in bytes and time. It is read only so that the
	// connection can be used again, and never kept.
	maxAnswer     = 64 << 10
	answerTimeout = time.Second
	// maxRetryAfter bounds what a receiver may ask for; a delivery is given up before that.
	maxRetryAfter = 366 * 24 * time.Hour
	// maxProblem bounds what is stored of why an attempt failed, in bytes.
	maxProblem = 500
)

// outcome is the result of an attempt.
type outcome struct {
	// code is the HTTP status, 0 without an answer.
	code int
	// problem is why the attempt failed, "" if it succeeded.
	problem string
	// final: a retry would be pointless. gone: the receiver never wants another delivery.
	final, gone bool
	// retryAfter is the backoff that the receiver asked for, 0 if none.
	retryAfter time.Duration
	// unrelated: the outcome says nothing about the receiver. interrupted: the process stops, the outcome is unknown.
	unrelated, interrupted bool
}

// post sends a delivery once.
func (s *sender) post(ctx context.Context, w webhookdb.Webhook, d webhookdb.Delivery) outcome {
	now := s.store.Now()
	signature, err := s.keys.signature(w, d.ID, now, d.Body)
	if err != nil {
		return outcome{problem: err.Error()}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, cmp.Or(d.URL, w.URL), bytes.NewReader(d.Body))
	if err != nil {
		return outcome{problem: "the url is not valid", final: true}
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "windlass-webhooks",
		"Webhook-Id": d.ID, "Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10), "Webhook-Signature": signature,
	} {
		req.Header.Set(name, value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return outcome{code: statusCode(res), problem: s.describe(err)}
	}
	late := time.AfterFunc(answerTimeout, cancel)
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	late.Stop()
	_ = res.Body.Close()
	out := outcomeOf(res.StatusCode)
	if out.problem != "" {
		out.retryAfter = retryAfter(res.Header.Get("Retry-After"), s.store.Now())
	}
	return out
}

// retryAfter parses the header of that name: seconds, or an HTTP date. A value that is malformed or in the past counts as 0.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if header == "" {
		return 0
	}
	if digits := strings.Trim(header, "0123456789"); digits == "" {
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) { // too many digits
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func statusCode(res *http.Response) int {
	if res == nil {
		return 0
	}
	return res.StatusCode
}

// outcomeOf interprets a status.
func outcomeOf(code int) outcome {
	switch {
	case code >= 200 && code < 300:
		return outcome{code: code}
	case code == http.StatusGone:
		return outcome{code: code, problem: "answered 410 Gone: it wants nothing more", final: true, gone: true}
	case code >= 300 && code < 400:
		return outcome{code: code, problem: fmt.Sprintf("answered %d, a redirect, which is not followed: change the url", code)}
	}
	return outcome{code: code, problem: strings.TrimSpace(fmt.Sprintf("answered %d %s", code, http.StatusText(code)))}
}

// describe says why there was no answer, without the URL, which may be long.
func (s *sender) describe(err error) string {
	var redirect *egress.RedirectError
	var call *url.Error
	switch {
	case errors.As(err, &redirect):
		return "answered with a redirect, which is not followed: change the url"
	case errors.As(err, &call) && call.Timeout():
		return "did not answer within " + s.cfg.Timeout.String()
	case errors.As(err, &call):
		err = call.Err
	}
	return truncate.Bytes(strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), ""), maxProblem)
}
