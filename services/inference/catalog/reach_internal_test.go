package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// lister lists models, or does not.
type lister struct {
	provider.Provider
	err   error
	asked int
}

func (l *lister) Models(context.Context) ([]string, error) {
	l.asked++
	return nil, l.err
}

// TestHowLongAnAnswerCounts: a provider is asked at most every 15 seconds, after a failure every five seconds, and calls tell as well.
func TestHowLongAnAnswerCounts(t *testing.T) {
	away := fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "away")
	synctest.Test(t, func(t *testing.T) {
		var r reach
		l := &lister{}
		check := func(wantErr bool, asked int) {
			t.Helper()
			if err := r.check(t.Context(), l); (err != nil) != wantErr || l.asked != asked {
				t.Errorf("check = %v after %d questions, want error = %v after %d", err, l.asked, wantErr, asked)
			}
		}
		check(false, 1)
		check(false, 1)
		r.note(away) // a call of a turn
		check(true, 1)
		l.err = away
		time.Sleep(6 * time.Second)
		check(true, 2)
		r.note(nil)
		check(false, 2)
		time.Sleep(time.Minute)
		check(true, 3)
		r.note(fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_CONTEXT_TOO_LONG, "too long")) // concerns one call
		check(false, 3)
		r.note(errors.New("what is no fault is ours"))
		check(false, 3)
	})
}
