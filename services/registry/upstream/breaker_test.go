package upstream

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

func failing(kind source.Outcome, code codes.Code, reason faultv1.Reason) error {
	return &source.Error{Outcome: kind, Fault: fault.New(code, reason, "it failed")}
}

func TestBreaker(t *testing.T) {
	away := failing(source.NotSent, codes.Unavailable, faultv1.Reason_REASON_TOOL_UNAVAILABLE)
	synctest.Test(t, func(t *testing.T) {
		b := &breakers{failures: 3, pause: 10 * time.Second, log: slog.New(slog.DiscardHandler), bySource: map[string]breaker{}}
		src := store.Source{ID: "src_1", Name: "notes", Revision: 1}
		sent := 0
		call := func(err error) error {
			_, got := b.call(src, func() (source.Reply, error) { sent++; return source.Reply{}, err })
			return got
		}
		is := func(what, state string, sends int) {
			t.Helper()
			if got := b.state(src); got != state || sent != sends {
				t.Errorf("%s: %s after %d calls that left, want %s after %d", what, got, sent, state, sends)
			}
		}
		stopped := func(err error) bool {
			e, ok := errors.AsType[*source.Error](err)
			return ok && e.Outcome == source.Stopped && e.Fault.Reason == faultv1.Reason_REASON_TOOL_UNAVAILABLE
		}
		is("a source that nobody called", "closed", 0)
		_, _, _ = call(away), call(away), call(nil)
		_, _ = call(away), call(away)
		is("an answer in between", "closed", 5)
		_ = call(failing(source.Away, codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE))
		_ = call(failing(source.InDoubt, codes.Canceled, faultv1.Reason_REASON_CANCELLED))
		_ = call(failing(source.NotSent, codes.InvalidArgument, faultv1.Reason_REASON_INVALID_ARGUMENT))
		is("a bridge that is away, a caller who left, wrong arguments", "closed", 8)
		if err := call(away); stopped(err) {
			t.Error("the failure that opens it is told as it is")
		}
		is("the third in a row", "open", 9)
		if err := call(nil); !stopped(err) {
			t.Errorf("while it is open: %v", err)
		}
		is("a call that did not leave", "open", 9)

		time.Sleep(10*time.Second + 1)
		is("after the pause", "half_open", 9)
		_ = call(away)
		is("the trial fails", "open", 10)
		time.Sleep(10*time.Second + 1)
		_, err := b.call(src, func() (source.Reply, error) { return source.Reply{}, call(nil) }) // concurrent with the trial
		if !stopped(err) || sent != 10 {
			t.Errorf("beside the trial: %v", err)
		}
		_ = call(failing(source.InDoubt, codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN))
		is("the trial reaches it", "closed", 11)

		_, _, _ = call(away), call(away), call(away)
		is("away again", "open", 14)
		b.reached(src.ID)
		is("a sync reached it", "closed", 14)
		_, _, _ = call(away), call(away), call(away)
		src.Revision = 2
		is("its definition is another one", "closed", 17)
		if call(nil) != nil {
			t.Error("the new definition is not called")
		}

		b.patience = 5 * time.Second
		_, _, _, _ = call(away), call(away), call(away), call(away)
		is("many failures within the time of a restart", "closed", 22)
		_ = call(nil)
		time.Sleep(6 * time.Second)
		_, _, _ = call(away), call(away), call(away)
		is("a restart, long after the one before", "closed", 26)
		time.Sleep(5 * time.Second)
		_ = call(away)
		is("longer than a restart", "open", 27)
	})
}
