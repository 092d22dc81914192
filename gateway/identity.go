package gateway

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/protected"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// loginRecheck is how often the logins of browsers with open streams are looked up, and so how long a stream may outlive a logout.
const loginRecheck = 10 * time.Second

// identity finds out who makes requests, and from which web page, and lets through what their route takes.
type identity struct {
	cfg  Config
	deps Deps
	// cross knows the origins whose web pages may call the API.
	cross     *http.CrossOriginProtection
	resources *protected.Resources
}

// caller is who makes a request, and with what.
type caller struct {
	principal *policyv1.Principal
	// authorization holds the values of the header Authorization, or the one that stands for the login of a browser.
	authorization []string
	// check verifies the credentials again while a stream is open; nil: they do not lose their validity.
	check *authn.Check
}

// admit returns the caller of a request. If ok is false the request has been refused: a web page of another origin makes it, or its
// credentials are missing or not accepted.
func (i *identity) admit(w http.ResponseWriter, r *http.Request, peer authn.Peer) (c caller, ok bool) {
	err := i.refuseForeign(r)
	if err == nil {
		c, err = i.authenticate(r, peer)
	}
	if err == nil {
		return c, true
	}
	if challenge := i.resources.Challenge(r, c.authorization, err); challenge != "" {
		w.Header().Set(problem.Challenge, challenge)
	}
	problem.Write(w, r, err)
	return c, false
}

// admitReader is admit for what can be read without credentials: who shows none is anonymous.
func (i *identity) admitReader(w http.ResponseWriter, r *http.Request) (caller, bool) {
	anonymous := len(r.Header.Values("Authorization")) == 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	if anonymous && i.refuseForeign(r) == nil {
		c, err := i.authenticate(r, authn.PeerOf(r))
		switch {
		case err == nil:
			return c, true
		case fault.From(err).Code == codes.Unauthenticated:
			return caller{principal: authn.Anonymous()}, true
		}
		problem.Write(w, r, err) // a user who is logged in is not to read that there is nothing
		return caller{}, false
	}
	return i.admit(w, r, authn.PeerOf(r))
}

// ownPrincipal returns the principal of a request that no web page of another origin makes, or why it has none.
func (i *identity) ownPrincipal(r *http.Request) (*policyv1.Principal, error) {
	if err := i.refuseForeign(r); err != nil {
		return nil, err
	}
	return i.principal(r)
}

// principal returns the principal of a request, whatever page makes it, or why it has none.
func (i *identity) principal(r *http.Request) (*policyv1.Principal, error) {
	c, err := i.authenticate(r, authn.PeerOf(r))
	return c.principal, err
}

// authenticate returns the caller of a request, whatever page makes it. Without a token, peer says who it is. With an error, the caller has
// the credentials that are not accepted.
func (i *identity) authenticate(r *http.Request, peer authn.Peer) (caller, error) {
	credentials := authn.Credentials{Authorization: r.Header.Values("Authorization"), Resource: i.resources.URL(r), Peer: peer}
	var login *authn.Check
	if i.deps.Login != nil && len(credentials.Authorization) == 0 {
		token, present, err := i.deps.Login.Token(r)
		if err != nil {
			return caller{}, err
		}
		if present { // and then the connection does not count, whatever is wrong with the token
			login = i.loginCheck(r, credentials)
			credentials.Authorization = []string{"Bearer " + token}
		}
	}
	c := caller{authorization: credentials.Authorization}
	var err error
	if c.principal, err = i.deps.Authenticator.Authenticate(r.Context(), credentials); err != nil {
		i.deps.Log.DebugContext(r.Context(), "call not authenticated", "error", err)
		return c, err
	}
	check, ok := i.deps.Authenticator.Check(credentials)
	if login != nil {
		check = *login
	}
	if i.cfg.Recheck > 0 {
		check.Every = i.cfg.Recheck
	}
	if ok {
		c.check = &check
	}
	return c, nil
}

// loginCheck verifies the login of a browser again: it may have ended. Its tokens are renewed as by any other request.
func (i *identity) loginCheck(r *http.Request, c authn.Credentials) *authn.Check {
	return &authn.Check{Every: loginRecheck, Verify: func(ctx context.Context) error {
		token, _, err := i.deps.Login.Token(r.WithContext(ctx))
		if err != nil {
			return err
		}
		c.Authorization = []string{"Bearer " + token}
		_, err = i.deps.Authenticator.Authenticate(ctx, c)
		return err
	}}
}

// refuseForeign returns an error for requests that web pages of other origins make, except those that may call the API.
func (i *identity) refuseForeign(r *http.Request) error {
	err := authn.SameOrigin(i.cross, r)
	if err == nil {
		return nil
	}
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
		"web pages of other origins may not call this API").
		Hint("Add the page's origin to gateway.cors_origins.").Cause(err)
}

// count counts a request towards quotas, or returns why it is refused. If policy cannot be asked, the request is let through: the role that
// is called asks policy too, and refuses it.
func (i *identity) count(r *http.Request, p *policyv1.Principal) error {
	if i.deps.Requests == nil {
		return nil
	}
	verdict, err := i.deps.Authorizer.Decide(r.Context(), p, "")
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	return i.deps.Requests.Take(r.Context(), p, verdict.Quota)
}

// serveAs passes a request on in the name of its caller, unless that goes beyond a quota.
func (i *identity) serveAs(w http.ResponseWriter, r *http.Request, c caller, next http.Handler) {
	if err := i.count(r, c.principal); err != nil {
		problem.Write(w, r, err)
		return
	}
	// The mesh carries the principal. The token goes along sealed, for roles that act as the user.
	ctx := callertoken.With(authn.With(r.Context(), c.principal), i.deps.Tokens.Seal(authn.Token(c.authorization), c.principal))
	if c.check != nil {
		ctx = authn.WithCheck(ctx, *c.check)
	}
	header := r.Header.Clone()
	header.Del("Authorization")
	header.Del("Cookie")
	ctx, err := i.deps.ProviderData.Receive(ctx, header)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	r = r.WithContext(ctx)
	r.Header = header
	next.ServeHTTP(w, r)
}
