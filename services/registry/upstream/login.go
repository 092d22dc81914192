package upstream

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/login"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// logins has the tokens of users.
type logins struct {
	tokens login.Tokens // nil refuses sources that want a login of each user
	grants Grants       // nil refuses sources with the auth kind exchange
}

// with makes a request with the login of a user, if its source wants one, and again with a new token if the source refuses it. The
// token is got before breakers are asked: one user's bad login says nothing about the source.
func (l logins) with(ctx context.Context, s store.Source, subject string, do func(source.User) error) error {
	if s.Spec.Exchange() {
		return l.exchanged(ctx, s, callerOf(ctx), do)
	}
	if !s.Spec.UserLogin() {
		return do(source.User{})
	}
	if l.tokens == nil {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"source %q wants a login of each user, and this mesh cannot connect users", s.Name)
	}
	want := login.Want(s, subject)
	for again := false; ; again = true {
		t, err := l.tokens.Token(ctx, want)
		if err != nil {
			return fault.From(err)
		}
		err = do(source.User{Subject: subject, Token: t})
		scopes, short := errors.AsType[*source.ScopesError](err)
		switch {
		case short:
			if err := l.tokens.Insufficient(ctx, want, t, scopes.Wanted); err != nil {
				return fault.From(err)
			}
		case errors.Is(err, source.ErrRefused):
			l.tokens.Refused(want, t)
		default:
			return err
		}
		if again {
			return login.Useless(s)
		}
	}
}

// call makes a call with the login of its user.
func (l logins) call(ctx context.Context, r *source.Request, call func(*source.Request) (source.Reply, error),
) (reply source.Reply, err error) {
	do := func(as source.User) (err error) {
		r.As = as
		reply, err = call(r)
		return err
	}
	switch {
	case r.Source.Spec.Exchange():
		err = l.exchanged(ctx, r.Source, user{r.By.Principal, r.Meta["windlass/turn_id"], r.Token}, do)
	case r.Source.Spec.UserLogin():
		err = l.with(ctx, r.Source, r.By.Principal.GetSubject(), do)
	default:
		return call(r)
	}
	if _, ok := errors.AsType[*source.Error](err); err != nil && !ok {
		return source.Reply{}, source.Unsent(err)
	}
	return reply, err
}

// discover lists a source's tools with the login of the user who created, changed or synced it last, if it wants a login and is not open.
func (l logins) discover(ctx context.Context, s store.Source, open bool, discover func(source.User) (store.Inventory, error),
) (inv store.Inventory, err error) {
	switch {
	case open || !s.Spec.UserLogin() || s.Spec.SyncAuth != nil:
		return discover(source.User{})
	case s.LoginSubject == "":
		return inv, login.Nobody(s)
	}
	err = l.with(ctx, s, s.LoginSubject, func(as source.User) (err error) {
		inv, err = discover(as)
		return err
	})
	return inv, err
}
