package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/usertoken"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/registry/login"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// as is the user whose login a request is made with; the zero value is nobody.
type as struct {
	subject string
	token   usertoken.Token
}

// errRefused means that a source refused the token of a user, and did nothing else.
var errRefused = errors.New("the source refused the user's token")

// scopesError means that a source refused the scopes of a user's token, and did nothing else.
type scopesError struct{ wanted []string }

// Error implements error.
func (e *scopesError) Error() string {
	return "the source wants other scopes of the user's token: " + strings.Join(e.wanted, " ")
}

// logins has the tokens of users.
type logins struct {
	tokens login.Tokens // nil refuses sources that want a login of each user
	sealer *providerdata.Sealer
	grants Grants // nil refuses sources with the auth kind exchange
}

// with makes a request with the login of a user, if its source wants one, and again with a new token if the source refuses it. The
// token is got before breakers are asked: one user's bad login says nothing about the source.
func (l logins) with(ctx context.Context, s store.Source, subject string, do func(as) error) error {
	if s.Spec.Exchange() {
		return l.exchanged(ctx, s, callerOf(ctx), do)
	}
	if !s.Spec.UserLogin() {
		return do(as{})
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
		err = do(as{subject, t})
		scopes, short := errors.AsType[*scopesError](err)
		switch {
		case short:
			if err := l.tokens.Insufficient(ctx, want, t, scopes.wanted); err != nil {
				return fault.From(err)
			}
		case errors.Is(err, errRefused):
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
func (l logins) call(ctx context.Context, r Request, call func(Request) (Reply, error)) (reply Reply, err error) {
	do := func(a as) (err error) {
		r.as = a
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
	if _, ok := errors.AsType[*Error](err); err != nil && !ok {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
	}
	return reply, err
}

// discover lists a source's tools with the login of the user who created, changed or synced it last, if it wants a login.
func (l logins) discover(ctx context.Context, s store.Source,
	discover func(context.Context, store.Source, as) (store.Inventory, error),
) (inv store.Inventory, err error) {
	open := s.Kind == store.OpenAPI && (s.Spec.URL == "" || s.LoginSubject == "" || credential.Origin(s.Spec.URL) != home(s.Spec))
	switch {
	case open || !s.Spec.UserLogin() || s.Spec.SyncAuth != nil: // a document elsewhere is not behind the login
		return discover(ctx, s, as{})
	case s.LoginSubject == "":
		return inv, login.Nobody(s)
	}
	err = l.with(ctx, s, s.LoginSubject, func(a as) (err error) {
		inv, err = discover(ctx, s, a)
		return err
	})
	return inv, err
}

// ownerAs says whose credentials a source has, with the token of a user.
func ownerAs(s store.Source, a as) credential.Owner {
	o := owner(s)
	o.UserToken = a.token.Value.Reveal()
	return o
}

// syncOwner says whose credentials a sync has: those of a user if it has a login, and otherwise none of a user. Only syncs may use it: a
// call for a user must not fall back to the mesh's own credential.
func syncOwner(s store.Source, a as) credential.Owner {
	o := ownerAs(s, a)
	if a.subject == "" && (s.Spec.UserLogin() || s.Spec.Exchange()) {
		o.Auth = s.Spec.SyncAuth
	}
	return o
}

// server adds the token of a user to a source for the bridge.
func (l logins) server(out *mcpbridgev1.Server, a as) (*mcpbridgev1.Server, error) {
	if a.subject == "" {
		return out, nil
	}
	text, err := json.Marshal(map[string]string{UserTokenKey: a.token.Value.Reveal()})
	if err != nil {
		return nil, errors.New("encode the token") // the cause would quote it
	}
	data, err := providerdata.Parse(string(text))
	if err != nil {
		return nil, errors.New("the access token of the user cannot be sent") // the same
	}
	out.User = out.GetTenant() + "/" + a.subject
	out.UserToken, err = l.sealer.Seal(data, providerdata.OfServer(out.GetId()))
	return out, err
}

// UserTokenKey is the key of a user's token in what the bridge gets.
const UserTokenKey = "user_token"

// refusedToken returns errRefused or a *scopesError if the bridge says that a server refused the user's token, and otherwise nil.
func refusedToken(s store.Source, err error) error {
	if err == nil || !s.Spec.UserLogin() && !s.Spec.Exchange() {
		return nil
	}
	details := fault.From(err).Details
	if wanted, ok := details[DetailScopes]; ok {
		return &scopesError{strings.Fields(wanted)}
	}
	if details[DetailRefused] != "" {
		return errRefused
	}
	return nil
}

// Details of the bridge's fault that the server refused the user's token before it did anything.
const (
	// DetailRefused says that it refused the token.
	DetailRefused = "token_refused"
	// DetailScopes has the scopes that it wants instead of those of the token.
	DetailScopes = "scopes_wanted"
)
