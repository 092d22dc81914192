package upload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// TestUploadsThatStallEnd: an upload ends when nothing comes for pieceTime, or when it takes longer than uploadTime in all.
func TestUploadsThatStallEnd(t *testing.T) {
	for name, row := range map[string]struct {
		every time.Duration // between two pieces
		want  time.Duration // when it ends
	}{
		"nothing comes":     {time.Hour, pieceTime},
		"pieces, too slow":  {pieceTime - time.Second, uploadTime},
		"pieces, too often": {time.Minute / 8, uploadTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				next := inTime(ctx, func() ([]byte, error) {
					select {
					case <-time.After(row.every):
						return []byte("x"), nil
					case <-ctx.Done(): // as the end of the call does
						return nil, ctx.Err()
					}
				})
				began := time.Now()
				var err error
				for err == nil {
					_, err = next()
				}
				if took := time.Since(began); !fault.Is(err, faultv1.Reason_REASON_DEADLINE_EXCEEDED) || took != row.want {
					t.Errorf("it ended after %s with %v, want %s", took, err, row.want)
				}
			})
		})
	}
}

// TestOneUserDoesNotTakeAllUploads: a user has so many uploads at most, in a process that takes more, and others wait for their turn.
func TestOneUserDoesNotTakeAllUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(maxOwn + 1)
		as := func(name string) context.Context { return authn.With(t.Context(), authn.User(name)) }
		var ends []func()
		for range maxOwn {
			end, err := g.begin(as("ann"))
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, end)
		}
		if _, err := g.begin(as("ann")); !fault.Is(err, faultv1.Reason_REASON_RATE_LIMITED) {
			t.Errorf("one more got %v", err)
		}
		if _, err := g.begin(as("bob")); err != nil {
			t.Errorf("another user got %v", err)
		}
		gone, leave := context.WithTimeout(as("eve"), time.Second)
		defer leave()
		if _, err := g.begin(gone); err == nil {
			t.Error("more uploads than the process takes")
		}
		for _, end := range ends {
			end()
		}
		for _, who := range []string{"ann", "eve"} {
			if _, err := g.begin(as(who)); err != nil {
				t.Errorf("%s got %v after the others ended", who, err)
			}
		}
	})
}
