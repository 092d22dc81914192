package login

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/authn/accesstoken"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// tokenEnv names the variable with an access token, for programs.
const tokenEnv = "WINDLASS_TOKEN" //nolint:gosec // the name of a variable

// early is how long before it expires a token is replaced.
const early = 30 * time.Second

// Source returns the access token to send to a server: that of the login there, else that of the data directory if the server is on this
// machine, else the empty one. Tokens that are about to expire are refreshed. The server is an address as client.Address returns it.
func Source(a *app.App) func(ctx context.Context, server string) (secret.Value, error) {
	store, fixed := Open(a), a.Getenv(tokenEnv)
	dir, _ := os.Getwd() // without one, there is no data directory to find
	return func(ctx context.Context, server string) (secret.Value, error) {
		if fixed != "" {
			return secret.New(fixed), safe(server)
		}
		l, ok, err := store.Get(server)
		if err != nil || ok && l.fresh() {
			return l.Access, err
		}
		if !ok {
			return accesstoken.Find(dir, server)
		}
		return refreshed(ctx, store, server)
	}
}

// fresh reports whether the access token can be used for a while. An issuer need not say when it expires.
func (l Login) fresh() bool { return l.Expires.IsZero() || time.Until(l.Expires) > early }

// refreshed refreshes the token for a server, unless another process has just done so: each refresh token can be used once.
func refreshed(ctx context.Context, store Store, server string) (secret.Value, error) {
	var token secret.Value
	err := store.Update(server, func(l *Login) (*Login, error) {
		if l == nil || l.fresh() {
			if l != nil {
				token = l.Access
			}
			return l, nil
		}
		if l.Refresh.IsZero() {
			return nil, over(*l, server, nil)
		}
		w, err := newWeb()
		if err != nil {
			return nil, err
		}
		defer w.close()
		ctx, cancel := context.WithTimeout(w.context(ctx), callTimeout)
		defer cancel()
		fresh, err := l.config().TokenSource(ctx, &oauth2.Token{RefreshToken: l.Refresh.Reveal()}).Token()
		if err != nil {
			return nil, failed(ctx, *l, server, err)
		}
		l = l.with(fresh)
		token = l.Access
		return l, nil
	})
	return token, err
}

// failed explains why a token could not be refreshed.
func failed(ctx context.Context, l Login, server string, err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && final(refused.Response.StatusCode) {
		return over(l, server, errors.New(refused.ErrorCode+" "+refused.ErrorDescription)) // without the body
	}
	return unreachable(ctx, l.Issuer, err)
}

// final reports whether an issuer that answers with a status would refuse the same refresh token again.
func final(status int) bool {
	return status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}

// over is the error of a login that has ended. The command does not go on without a token: that would be as another user.
func over(l Login, server string, cause error) error {
	return fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "your login at %s for %s has ended", l.Issuer, server).
		Cause(cause).Hint("Run 'windlass login', or 'windlass logout' to go on without.")
}
