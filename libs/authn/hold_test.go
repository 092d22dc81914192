package authn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

func TestStreamsEndWithTheirCredentials(t *testing.T) {
	refused := fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "no more")
	narrow := fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "scope")
	away := fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the issuer is away")
	for _, row := range []struct {
		name string
		// answers are those of the verifications, the last one again and again.
		answers []error
		until   time.Duration
		want    time.Duration
		text    string
	}{
		{"the token expires between two verifications", []error{nil}, 90 * time.Second, 90 * time.Second, "the token has expired"},
		{"the token expires while nobody can verify it", []error{away}, 90 * time.Second, 90 * time.Second, "the token has expired"},
		{"the token is refused later", []error{nil, nil, refused}, 0, 3 * time.Minute, "no more"},
		{"after an outage", []error{away, errors.New("?"), refused}, 0, 3 * time.Minute, "no more"},
		{"the scope is gone", []error{narrow}, 0, time.Minute, "scope"},
		{"a token that has already expired", []error{refused}, -time.Second, 0, "no more"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				c := authn.Check{Every: time.Minute, Verify: func(context.Context) error {
					n++
					return row.answers[min(n, len(row.answers))-1]
				}}
				begin := time.Now()
				if row.until != 0 {
					c.Until = begin.Add(row.until)
				}
				ctx, release := authn.Hold(authn.WithCheck(t.Context(), c))
				defer release()
				<-ctx.Done()
				cause := fault.As(context.Cause(ctx))
				if cause == nil || cause.Message != row.text || time.Since(begin) != row.want {
					t.Errorf("it ended after %v with %v", time.Since(begin), context.Cause(ctx))
				}
			})
		})
	}
}

func TestStreamsOfOthersAreNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		valid := authn.WithCheck(t.Context(), authn.Check{Every: time.Minute, Verify: func(context.Context) error { return nil }})
		for _, parent := range []context.Context{t.Context(), valid} {
			ctx, release := authn.Hold(parent)
			time.Sleep(24 * time.Hour)
			if ctx.Err() != nil {
				t.Error(context.Cause(ctx))
			}
			release()
			synctest.Wait() // its goroutine ends
		}
	})
}
