package gateway

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// loginRecheck is how often the logins of browsers with open streams are looked up, and so how long a stream may outlive a logout.
const loginRecheck = 10 * time.Second

// authenticate returns the principal of a request. If the request may not be served, it has been answered, and the principal is nil: it
// comes from a web page of another origin, or its credentials are missing or refused.
func (g *Gateway) authenticate(w http.ResponseWriter, r *http.Request) *policyv1.Principal {
	p, err := g.identify(r)
	if err != nil {
		if c := g.resources.Challenge(r, err); c != "" {
			w.Header().Set(problem.Challenge, c)
		}
		problem.Write(w, r, err)
		return nil
	}
	return p
}

// identify returns the principal of a request, or why it has none.
func (g *Gateway) identify(r *http.Request) (*policyv1.Principal, error) {
	if err := g.foreign(r); err != nil {
		return nil, err
	}
	return g.known(r)
}

// foreign refuses requests that web pages of other origins make.
func (g *Gateway) foreign(r *http.Request) error {
	if err := sameOrigin(g.cross, r); err != nil {
		return foreign(err)
	}
	return nil
}

// known returns the principal of a request, whatever page it is from. The request's context then has how streams verify it again.
func (g *Gateway) known(r *http.Request) (*policyv1.Principal, error) {
	credentials := authn.Credentials{Authorization: r.Header.Values("Authorization"), Resource: g.resources.URL(r), Peer: authn.PeerOf(r)}
	if g.cfg.MCPLogin && isMCP(r.URL.Path) {
		credentials.Peer = authn.Peer{}
	}
	var login *authn.Check
	if g.deps.Login != nil && len(credentials.Authorization) == 0 {
		token, present, err := g.deps.Login.Token(r)
		if err != nil {
			return nil, err
		}
		if present { // and then the connection does not count, whatever is wrong with the token
			login = g.loginCheck(r.Clone(r.Context()), credentials) // serveAs takes the cookie out of r
			r.Header.Set("Authorization", "Bearer "+token)          // serveAs takes it out again
			credentials.Authorization = r.Header.Values("Authorization")
		}
	}
	p, err := g.deps.Authenticator.Authenticate(r.Context(), credentials)
	if err != nil {
		g.deps.Log.DebugContext(r.Context(), "call not authenticated", "error", err)
		return nil, err
	}
	check, ok := g.deps.Authenticator.Check(credentials)
	if login != nil {
		check = *login
	}
	if ok {
		if g.cfg.Recheck > 0 {
			check.Every = g.cfg.Recheck
		}
		*r = *r.WithContext(authn.WithCheck(r.Context(), check))
	}
	return p, nil
}

// loginCheck verifies the login of a browser again: it may have ended. Its tokens are renewed as by any other request.
func (g *Gateway) loginCheck(r *http.Request, c authn.Credentials) *authn.Check {
	return &authn.Check{Every: loginRecheck, Verify: func(ctx context.Context) error {
		token, _, err := g.deps.Login.Token(r.WithContext(ctx))
		if err != nil {
			return err
		}
		c.Authorization = []string{"Bearer " + token}
		_, err = g.deps.Authenticator.Authenticate(ctx, c)
		return err
	}}
}

// sameOrigin refuses requests of pages of other origins. Reads are refused too, since some of them are streams; a link that a person
// follows is not a request of the page that has it.
func sameOrigin(check *http.CrossOriginProtection, r *http.Request) error {
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return nil
	}
	asPost := *r
	asPost.Method = http.MethodPost
	return check.Check(&asPost)
}

func foreign(err error) error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
		"web pages of other origins may not call this API").
		Hint("Add the page's origin to gateway.cors_origins.").Cause(err)
}

// count counts a request towards quotas, or returns why it is refused. If policy cannot be asked, the request is let through: the role that
// is called asks policy too, and refuses it.
func (g *Gateway) count(r *http.Request, caller *policyv1.Principal) error {
	if g.deps.Requests == nil {
		return nil
	}
	verdict, err := g.deps.Authorizer.Decide(r.Context(), caller, "")
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	return g.deps.Requests.Take(r.Context(), caller, verdict.Quota)
}

// serveAs passes a request on in the name of the caller, unless that goes beyond a quota.
func (g *Gateway) serveAs(w http.ResponseWriter, r *http.Request, caller *policyv1.Principal, next http.Handler) {
	if err := g.count(r, caller); err != nil {
		problem.Write(w, r, err)
		return
	}
	// The mesh carries the principal. The token goes along sealed, for roles that act as the user.
	token := authn.Token(r.Header.Values("Authorization"))
	r.Header.Del("Authorization")
	r.Header.Del("Cookie")
	ctx := callertoken.With(authn.With(r.Context(), caller), g.deps.Tokens.Seal(token, caller))
	ctx, err := g.deps.ProviderData.Receive(ctx, r.Header)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}
