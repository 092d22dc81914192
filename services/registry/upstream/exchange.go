package upstream

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/usertoken"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/registry/login"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Grants gets tokens of users from their issuer; the client of policy's GrantService does.
type Grants interface {
	RedeemGrant(context.Context, *policyv1.RedeemGrantRequest, ...grpc.CallOption) (*policyv1.RedeemGrantResponse, error)
}

// user is for whom a source with the auth kind exchange is called.
type user struct {
	principal *policyv1.Principal
	// turn is the turn that calls; empty for a direct call, which has the sealed token of its caller.
	turn  string
	token []byte
}

// callerOf is the user of a direct call.
func callerOf(ctx context.Context) user {
	return user{principal: authn.From(ctx), token: callertoken.From(ctx)}
}

// exchanged makes a request with a token of its user for the source's audience, and again with a new one if the source refuses it. Without
// a token the request is not made: nothing else takes its place.
func (l logins) exchanged(ctx context.Context, s store.Source, u user, do func(source.User) error) error {
	if l.grants == nil {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"source %q is called as its user, and this mesh cannot exchange tokens", s.Name)
	}
	a := s.Spec.Auth
	for again := false; ; again = true {
		resp, err := l.grants.RedeemGrant(ctx, &policyv1.RedeemGrantRequest{
			Principal: u.principal, TurnId: u.turn, Token: u.token, Source: s.Name, Issuer: a.Issuer, Audience: a.Audience, Resource: a.Resource,
			Scopes: a.Scopes, Fresh: again,
		})
		if err != nil {
			return notRedeemed(err)
		}
		err = do(source.User{Subject: u.principal.GetSubject(), Token: usertoken.Token{Value: secret.New(resp.GetAccessToken())}})
		if scopes, short := errors.AsType[*source.ScopesError](err); short {
			return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
				"source %q wants other scopes than the token of the user has: %s", s.Name, strings.Join(scopes.Wanted, " ")).
				Hint("An operator adds them to the scopes of the source's auth.")
		}
		if !errors.Is(err, source.ErrRefused) {
			return err
		}
		if again {
			return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "source %q refuses the token of the user", s.Name).
				Hint("An operator compares the source's audience and scopes with what it accepts.")
		}
	}
}

// notRedeemed classifies the error of a request for a token. One that may pass soon is tried again.
func notRedeemed(err error) error {
	f := fault.From(err)
	if f.Code == codes.Unavailable {
		return &source.Error{Outcome: source.Away, Fault: f}
	}
	return source.Unsent(f)
}

// refused notes that a source refused the token of a user in an answer to a call that is not made again.
func (l logins) refused(r *source.Request) {
	if r.Source.Spec.UserLogin() {
		l.tokens.Refused(login.Want(r.Source, r.As.Subject), r.As.Token)
	}
}
