package provider

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Limits of what we use from a provider's error.
const (
	maxMessage    = 500 // characters of its error text
	maxRetryAfter = time.Hour
)

// Identity identifies a provider in its errors.
type Identity struct {
	// Name is the provider's name.
	Name string
	// KeyFrom names the setting of its key: "OPENAI_API_KEY", "inference.providers[0].api_key".
	KeyFrom string
	// Secrets are never repeated in an error.
	Secrets []secret.Value
}

var (
	// ErrKey is the cause of the error of a provider that refuses the key.
	ErrKey = errors.New("key refused")
	// ErrUnoffered is the cause of the error of a request whose model must call a tool that cannot be offered to it.
	ErrUnoffered = errors.New("tool not offered")
	// ErrQuota is the cause of the error of a provider whose account has no credit or quota left.
	ErrQuota = errors.New("no quota left")
	// ErrPermission is the cause of the error of a provider that does not let the key use the model.
	ErrPermission = errors.New("key may not use the model")
)

// Failure is an error of a provider, over HTTP or within a stream.
type Failure struct {
	// Status is the HTTP status; 0 in a stream.
	Status int
	// Kind is the provider's type or code of the error, several joined by spaces.
	Kind string
	// Message is its text.
	Message string
	// Param is the part of the request that it is about, in the provider's words; empty if it does not say.
	Param string
	// RetryAfter is the wait that it requests, 0 if none.
	RetryAfter time.Duration
}

// RefusedError is the error of a request that the server answered with an error status.
type RefusedError struct{ Failure }

func (r *RefusedError) Error() string { return "refused: " + r.Message }

// Fault returns the error for callers of the inference service.
func (id Identity) Fault(model string, f Failure) *fault.Error {
	text := id.text(f.Message)
	switch f.class() {
	case classContext:
		return fault.FailedPrecondition(faultv1.Reason_REASON_CONTEXT_TOO_LONG, "the conversation is longer than %s/%s can read%s", id.Name,
			model, text).
			Hint("Start a new session, or use a model with a larger context window.")
	case classKey:
		return rejected("%s refused the key", id.Name).Hint("Check %s.", id.KeyFrom).Cause(ErrKey)
	case classPermission:
		return rejected("%s does not let this key use %s%s", id.Name, model, text).
			Hint("Use another model, or a key that may use it: see %s.", id.KeyFrom).Cause(ErrPermission)
	case classQuota:
		return rejected("the account at %s has no credit or quota left%s", id.Name, text).
			Hint("Pay the account or use another key: see %s.", id.KeyFrom).Cause(ErrQuota)
	case classMissing:
		return rejected("%s has no model %q%s", id.Name, model, text).Hint("Check the model's name and the provider's base_url.")
	case classRate:
		return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "%s limits the rate of calls%s", id.Name, text).
			Hint("Try again later.").RetryAfter(f.RetryAfter)
	case classRequest:
		return rejected("%s refused the request for %s%s", id.Name, model, text).Hint("Check the model, its limits and the tools' schemas.")
	default:
		what := "failed"
		if f.Status != 0 {
			what += " with HTTP status " + strconv.Itoa(f.Status)
		}
		return fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "%s %s%s", id.Name, what, text).
			Hint("Try again.").RetryAfter(f.RetryAfter)
	}
}

// Transport returns the error of a call that got no valid HTTP response, or lost it halfway.
func (id Identity) Transport(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if denied, ok := errors.AsType[*egress.DeniedError](err); ok {
		return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_EGRESS_DENIED, "%s may not be reached: %s", id.Name, denied.Error()).
			Hint("Allow its address in the egress configuration.")
	}
	switch {
	case errors.Is(err, egress.ErrRedirect):
		return rejected("%s answered with a redirect", id.Name).Hint("Write the final address in base_url.").Cause(err)
	case errors.Is(err, egress.ErrTooLarge):
		return Excessive("%s answered more than is read", id.Name).Hint("Raise inference.max_response.").Cause(err)
	}
	return fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "%s cannot be reached or hung up", id.Name).
		Hint("Check that it runs at its base_url, and try again.").Cause(err)
}

// Broken returns the error for an answer that cannot be read.
func Broken(format string, args ...any) *fault.Error {
	return fault.New(codes.DataLoss, faultv1.Reason_REASON_MODEL_STREAM_BROKEN, format, args...).Hint("Try again.")
}

// Excessive returns the error for an answer that exceeds a limit. It is not retried: the next one would cost as much.
func Excessive(format string, args ...any) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_STREAM_BROKEN, format,
		args...).Hint("Ask for less, or check the model's server.")
}

// Malformed returns the error for an invalid event. A large one is not retried.
func (id Identity) Malformed(want string, event []byte, err error) *fault.Error {
	const large = 1 << 20
	say := Broken
	if len(event) > large {
		say = Excessive
	}
	cause := truncate.Bytes(err.Error(), maxCause) // may contain a number as long as the event
	return say("the answer of %s holds something that is no %s", id.Name, want).Cause(errors.New(cause))
}

// maxCause is the maximum length of a parser's error in bytes.
const maxCause = 500

func rejected(format string, args ...any) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, format, args...)
}

// text returns ": " and the provider's message on one line, short and without our secrets; "" if it is empty.
func (id Identity) text(message string) string {
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "\uFFFD")), " ")
	for _, s := range id.Secrets {
		if !s.IsZero() {
			message = strings.ReplaceAll(message, s.Reveal(), secret.Redacted)
		}
	}
	if message == "" {
		return ""
	}
	return ": " + truncate.Chars(message, maxMessage)
}

// Missing reports whether the server has no such model or endpoint.
func (f Failure) Missing() bool { return f.class() == classMissing }

type class int

const (
	classServer class = iota
	classContext
	classKey
	classPermission
	classQuota
	classMissing
	classRate
	classRequest
)

// class classifies a failure: by the HTTP status, within 4xx also by its kind and words. In a stream there is no status.
func (f Failure) class() class {
	kind := strings.ToLower(f.Kind)
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(kind, name) })
	}
	final := f.Status == 0 || f.Status >= 400 && f.Status < 500
	switch {
	case final && f.Status != http.StatusTooManyRequests && tooLong(f.Kind, f.Message):
		return classContext
	case final && has("insufficient_quota", "billing") || f.Status == http.StatusPaymentRequired:
		return classQuota
	case f.Status == http.StatusUnauthorized || final && has("authentication", "invalid_api_key", "unauthenticated",
		"unrecognizedclient", "expiredtoken", "invalidsignature"):
		return classKey
	case f.Status == http.StatusForbidden || final && has("permission"):
		return classPermission
	case f.Status == http.StatusTooManyRequests || final && has("rate_limit", "resource_exhausted"):
		return classRate
	case f.Status == http.StatusNotFound || final && has("not_found"):
		return classMissing
	case f.Status == http.StatusRequestTimeout || f.Status == http.StatusConflict || f.Status == http.StatusTooEarly ||
		f.Status == http.StatusFailedDependency: // of Bedrock's models
		return classServer
	case f.Status >= 400 && f.Status < 500 || f.Status == 0 && has("invalid_request", "invalid_argument", "badrequest", "bad_request",
		"request_too_large", "validation"):
		return classRequest
	default:
		return classServer
	}
}

// quotas are the headers of what remains of a quota, and of when it is filled again.
var quotas = [][2]string{
	{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
	{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
}

// QuotaRest returns how long it takes until a quota is filled again of which a response says that nothing remains; 0 for others. The time
// is a duration, seconds or a date.
func QuotaRest(h http.Header, now time.Time) time.Duration {
	var rest time.Duration
	for _, q := range quotas {
		if h.Get(q[0]) != "0" {
			continue
		}
		reset := h.Get(q[1])
		if d, err := time.ParseDuration(reset); err == nil {
			rest = max(rest, d)
		} else if s, err := strconv.ParseFloat(reset, 64); err == nil && s < maxRetryAfter.Seconds() {
			rest = max(rest, time.Duration(s*float64(time.Second)))
		} else if at, err := time.Parse(time.RFC3339, reset); err == nil {
			rest = max(rest, at.Sub(now))
		}
	}
	return min(rest, maxRetryAfter)
}

// RetryAfter returns how long a response asks to wait: milliseconds, seconds or a date. 0 if it does not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	var wait time.Duration
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		wait = time.Duration(min(ms, float64(maxRetryAfter.Milliseconds())) * float64(time.Millisecond))
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		wait = time.Duration(min(s, maxRetryAfter.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		wait = at.Sub(now)
	}
	return max(0, min(wait, maxRetryAfter))
}
