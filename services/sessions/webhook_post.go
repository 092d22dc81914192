package sessions

import (
	"bytes"
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
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// maxAnswer and answerTime bound what is read of a receiver's answer beyond its status, in bytes and time. It is read only so that the connection
	// can be used again, and never kept.
	maxAnswer  = 64 << 10
	answerTime = time.Second
	// maxRetryAfter bounds what a receiver may ask for; a delivery is given up before that.
	maxRetryAfter = 366 * day
	// maxProblem bounds what is kept of why an attempt failed, in bytes.
	maxProblem = 500
)

// answer is what came of an attempt.
type answer struct {
	// code is the HTTP status, 0 without an answer.
	code int
	// problem is why it failed, "" if it did not.
	problem string
	// final: trying again is of no use. gone: the receiver wants nothing more, ever.
	final, gone bool
	// after is how long the receiver asked to be left alone, 0 = it did not.
	after time.Duration
	// aside: it says nothing about the receiver. interrupted: we are stopping, nothing is known.
	aside, interrupted bool
}

// post sends a delivery once.
func (h *hooks) post(ctx context.Context, w store.Webhook, d store.Delivery) answer {
	now := h.store.Now()
	signature, err := h.signature(w, d.ID, now.Unix(), now.UnixMicro(), d.Body)
	if err != nil {
		return answer{problem: err.Error()}
	}
	target := d.URL
	or(&target, w.URL)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(d.Body))
	if err != nil {
		return answer{problem: "the url is not valid", final: true}
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "windlass-webhooks",
		"Webhook-Id": d.ID, "Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10), "Webhook-Signature": signature,
	} {
		req.Header.Set(name, value)
	}
	res, err := h.client.Do(req)
	if err != nil {
		return answer{code: statusOfAnswer(res), problem: h.why(err)}
	}
	late := time.AfterFunc(answerTime, cancel)
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	late.Stop()
	_ = res.Body.Close()
	out := judge(res.StatusCode)
	if out.problem != "" {
		out.after = retryAfter(res.Header.Get("Retry-After"), h.store.Now())
	}
	return out
}

// retryAfter reads the header of that name: seconds, or an HTTP date. What it cannot read, or is past, is 0.
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

func statusOfAnswer(res *http.Response) int {
	if res == nil {
		return 0
	}
	return res.StatusCode
}

// judge says what a status means.
func judge(code int) answer {
	switch {
	case code >= 200 && code < 300:
		return answer{code: code}
	case code == http.StatusGone:
		return answer{code: code, problem: "answered 410 Gone: it wants nothing more", final: true, gone: true}
	case code >= 300 && code < 400:
		return answer{code: code, problem: fmt.Sprintf("answered %d, a redirect, which is not followed: change the url", code)}
	}
	return answer{code: code, problem: strings.TrimSpace(fmt.Sprintf("answered %d %s", code, http.StatusText(code)))}
}

// why says why there was no answer, without the URL, which may be long.
func (h *hooks) why(err error) string {
	var redirect *egress.RedirectError
	var call *url.Error
	switch {
	case errors.As(err, &redirect):
		return "answered with a redirect, which is not followed: change the url"
	case errors.As(err, &call) && call.Timeout():
		return "did not answer within " + h.cfg.Timeout.String()
	case errors.As(err, &call):
		err = call.Err
	}
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), "")
	if len(text) > maxProblem {
		text = strings.ToValidUTF8(text[:maxProblem], "") + "…"
	}
	return text
}
