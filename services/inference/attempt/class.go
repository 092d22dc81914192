package attempt

import (
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// errFiltered is the cause of the error of an answer that a content filter ended and that another target shall give.
var errFiltered = errors.New("filtered")

// Classes, for short.
const (
	answered   = turnv1.AttemptClass_ATTEMPT_CLASS_ANSWERED
	rateLimit  = turnv1.AttemptClass_ATTEMPT_CLASS_RATE_LIMIT
	server     = turnv1.AttemptClass_ATTEMPT_CLASS_SERVER
	firstToken = turnv1.AttemptClass_ATTEMPT_CLASS_FIRST_TOKEN
	slow       = turnv1.AttemptClass_ATTEMPT_CLASS_SLOW
	broken     = turnv1.AttemptClass_ATTEMPT_CLASS_BROKEN_STREAM
	tooLong    = turnv1.AttemptClass_ATTEMPT_CLASS_CONTEXT
	refusedKey = turnv1.AttemptClass_ATTEMPT_CLASS_KEY
	rejected   = turnv1.AttemptClass_ATTEMPT_CLASS_REJECTED
	filtered   = turnv1.AttemptClass_ATTEMPT_CLASS_FILTERED
	denied     = turnv1.AttemptClass_ATTEMPT_CLASS_DENIED
	excessive  = turnv1.AttemptClass_ATTEMPT_CLASS_EXCESSIVE
)

// classify returns the class of an error of a call. begun says whether the answer had begun.
func classify(err error, begun bool) turnv1.AttemptClass {
	if errors.Is(err, errFiltered) {
		return filtered
	}
	f := fault.From(err)
	switch f.Reason {
	case faultv1.Reason_REASON_RATE_LIMITED:
		return rateLimit
	case faultv1.Reason_REASON_CONTEXT_TOO_LONG:
		return tooLong
	case faultv1.Reason_REASON_MODEL_STREAM_BROKEN:
		if f.Code == codes.DataLoss {
			return broken
		}
		return excessive
	case faultv1.Reason_REASON_DEADLINE_EXCEEDED:
		if begun {
			return slow
		}
		return firstToken
	case faultv1.Reason_REASON_MODEL_REJECTED, faultv1.Reason_REASON_EGRESS_DENIED, faultv1.Reason_REASON_MODEL_UNKNOWN:
		if errors.Is(err, provider.ErrKey) || errors.Is(err, provider.ErrQuota) || errors.Is(err, provider.ErrPermission) {
			return refusedKey
		}
		return rejected
	}
	if !fault.Retryable(err) {
		return rejected
	}
	return server
}

// unread returns the class of a key that cannot be read: what reads it may be away.
func unread(err error) turnv1.AttemptClass {
	if fault.Retryable(err) {
		return server
	}
	return refusedKey
}

// lasting reports whether the same request would fail again: its target is not tried a second time.
func lasting(class turnv1.AttemptClass) bool {
	switch class {
	case refusedKey, rejected, filtered, denied:
		return true
	}
	return false
}

// keys reports whether a class is about the key, so that another key may be accepted.
func keys(class turnv1.AttemptClass) bool { return class == rateLimit || class == refusedKey }

// ends reports whether the class ends the call, whatever targets remain.
func ends(class turnv1.AttemptClass) bool { return class == tooLong || class == excessive }

// maxMessage limits why an attempt failed, in characters.
const maxMessage = 200

// fail completes an attempt that failed.
func fail(a *turnv1.ModelAttempt, class turnv1.AttemptClass, err error) {
	f := fault.From(err)
	a.Class, a.Message = class, truncate.Chars(f.Message, maxMessage)
	a.RetryAfterMs = f.Retry.Milliseconds()
}

// usage converts what a call used, nil for nothing.
func usage(u *provider.Usage) *turnv1.Usage {
	if u == nil {
		return nil
	}
	return &turnv1.Usage{
		InputTokens: int32(u.Input), OutputTokens: int32(u.Output), CachedInputTokens: int32(u.CachedInput),
		ReasoningTokens: int32(u.Reasoning), CacheWriteInputTokens: int32(u.CacheWrite), ModelCalls: 1,
	}
}

func millis(d time.Duration) int32 { return int32(max(1, d.Milliseconds())) }
