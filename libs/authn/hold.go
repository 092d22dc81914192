package authn

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Check says how the credentials of a call are verified again while a stream that they opened is open.
type Check struct {
	// Verify reports whether the credentials are still accepted. Errors with the codes UNAUTHENTICATED and PERMISSION_DENIED mean that they
	// are not; after others they are verified later.
	Verify func(ctx context.Context) error
	// Every is the time between verifications.
	Every time.Duration
	// Until is when the credentials expire, whatever Verify says; zero = it is not known.
	Until time.Time
}

type checkKey struct{}

// WithCheck returns a context that carries how the caller's credentials are verified again.
func WithCheck(ctx context.Context, c Check) context.Context {
	return context.WithValue(ctx, checkKey{}, c)
}

// Hold returns a context that ends when the credentials with which the call was made are not accepted any more; its cause is the error for
// the caller. Streams without an end of their own hold it. Callers of roles and on this machine have no such credentials.
func Hold(ctx context.Context) (context.Context, context.CancelFunc) {
	c, ok := ctx.Value(checkKey{}).(Check)
	if !ok {
		return context.WithCancel(ctx)
	}
	held, cancel := context.WithCancelCause(ctx)
	go c.watch(held, cancel)
	return held, func() { cancel(context.Canceled) }
}

func (c Check) watch(ctx context.Context, end context.CancelCauseFunc) {
	for {
		wait := c.Every
		if !c.Until.IsZero() {
			wait = min(wait, max(0, time.Until(c.Until)))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		err := c.Verify(ctx)
		if ctx.Err() != nil {
			return
		}
		if final(err) {
			end(err)
			return
		}
		if !c.Until.IsZero() && !time.Now().Before(c.Until) {
			end(expired())
			return
		}
	}
}

func final(err error) bool {
	if err == nil {
		return false
	}
	code := fault.From(err).Code
	return code == codes.Unauthenticated || code == codes.PermissionDenied
}

func expired() error {
	return fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "the token has expired").
		Hint("Connect again with a new token; a cursor continues where the stream ended.")
}

// Expirer is a TokenVerifier that knows when tokens end.
type Expirer interface {
	// Expiry returns the time from which on a token that it has verified is refused, leeway included; zero = it is not known.
	Expiry(token string) time.Time
}

// Rechecker is a TokenVerifier that knows tokens that can be revoked.
type Rechecker interface {
	// Recheck returns how soon a token that it has verified may be refused though it has not expired; 0 = there is nothing special.
	Recheck(token string) time.Duration
}

// Recheck is how often the tokens of open streams are verified again.
const Recheck = time.Minute

// Check returns how credentials that Authenticate has accepted are verified again; false if they cannot lose their validity.
func (a *Authenticator) Check(c Credentials) (Check, bool) {
	if a == nil || len(c.Authorization) == 0 {
		return Check{}, false
	}
	out := Check{Every: Recheck, Verify: func(ctx context.Context) error {
		_, err := a.Authenticate(ctx, c)
		return err
	}}
	token := Token(c.Authorization).Reveal()
	for _, v := range a.tokens {
		if v.Recognizes(token) {
			if e, ok := v.(Expirer); ok {
				out.Until = e.Expiry(token)
			}
			if r, ok := v.(Rechecker); ok {
				out.Every = min(out.Every, cmp.Or(r.Recheck(token), out.Every))
			}
			break
		}
	}
	return out, true
}
