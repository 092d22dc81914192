package bearer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	// leeway tolerates clocks that differ.
	leeway = 30 * time.Second
	// cached is how long a verified token is accepted without another verification.
	cached    = time.Minute
	cacheSize = 8192
)

// Deps holds the verifier's dependencies.
type Deps struct {
	// Client fetches keys. Required; it must bound time and size of responses.
	Client *http.Client
	// Log receives failures to fetch keys. Required.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Used is called with a token's SHA-256 when the token is verified: at its first use, and again now and then. It must not block. It may be
	// nil.
	Used func(ctx context.Context, p *policyv1.Principal, token [sha256.Size]byte)
}

// Verifier verifies the tokens of all configured issuers. It is safe for concurrent use.
type Verifier struct {
	issuers map[string]*issuer // by the value of iss
	seen    *lru.Cache[[sha256.Size]byte, verified]
	now     func() time.Time
	used    func(context.Context, *policyv1.Principal, [sha256.Size]byte)
	// opaque is the issuer of tokens that are no JWTs; nil if they are refused.
	opaque *issuer
}

var (
	_ authn.TokenVerifier = (*Verifier)(nil)
	_ authn.Expirer       = (*Verifier)(nil)
	_ authn.Rechecker     = (*Verifier)(nil)
)

// verified is what is known about a token whose signature and times are right.
type verified struct {
	issuer    *issuer
	principal *policyv1.Principal
	audience  []string
	scopes    []string
	until     time.Time
	// expires is when the token does, without the leeway; zero = the issuer does not say.
	expires time.Time
}

// issuer is one issuer and what it takes to verify its tokens.
type issuer struct {
	parser *jwt.Parser
	keys   *keySet
	mapper mapper
	cfg    Issuer
	// introspector asks the issuer about tokens; nil if it is not asked.
	introspector *introspector
	// local reports that the issuer is on this machine.
	local bool
}

// New returns a verifier. It fetches nothing yet.
func New(issuers []Issuer, deps Deps) (*Verifier, error) {
	if deps.Client == nil || deps.Log == nil {
		return nil, errors.New("bearer verifier needs Client and Log")
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	v := &Verifier{issuers: map[string]*issuer{}, now: deps.Now, used: deps.Used}
	names := map[string]bool{}
	for i, c := range issuers {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("issuer %d: %w", i+1, err)
		}
		if names[c.Name] || v.issuers[c.Issuer] != nil {
			return nil, fmt.Errorf("issuer %d: duplicate name or URL", i+1)
		}
		names[c.Name] = true
		m, err := newMapper(c)
		if err != nil {
			return nil, fmt.Errorf("issuer %d: %w", i+1, err)
		}
		from := &issuer{parser: newParser(c, deps.Now), keys: newKeySet(c, deps), mapper: m, cfg: c, local: onLoopback(c.Issuer)}
		if v.issuers[c.Issuer] = from; !c.Introspection.Enabled() {
			continue
		}
		if from.introspector, err = newIntrospector(c, from.keys.describe, deps); err != nil {
			return nil, fmt.Errorf("issuer %d: %w", i+1, err)
		}
		if c.Introspection.Opaque && v.opaque != nil {
			return nil, fmt.Errorf("issuer %d: introspection.opaque is set for an earlier one too", i+1)
		}
		if c.Introspection.Opaque {
			v.opaque = from
		}
	}
	var err error
	if v.seen, err = lru.New[[sha256.Size]byte, verified](cacheSize); err != nil {
		return nil, fmt.Errorf("make token cache: %w", err)
	}
	return v, nil
}

func newParser(c Issuer, now func() time.Time) *jwt.Parser {
	methods := c.Algorithms
	if len(methods) == 0 {
		methods = []string{"RS256", "ES256"}
	}
	return jwt.NewParser(jwt.WithValidMethods(methods), jwt.WithIssuer(c.Issuer), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(now), jwt.WithStrictDecoding(), jwt.WithJSONNumber())
}

// Recognizes implements authn.TokenVerifier: a signed JWT has three parts.
func (v *Verifier) Recognizes(token string) bool { return strings.Count(token, ".") == 2 }

// Verify implements authn.TokenVerifier.
func (v *Verifier) Verify(ctx context.Context, token, resource string) (*policyv1.Principal, error) {
	id, now := sha256.Sum256([]byte(token)), v.now()
	seen, ok := v.seen.Get(id)
	verified := !ok || !now.Before(seen.until)
	if verified {
		var err error
		if seen, err = v.verify(ctx, token, now); err != nil {
			return nil, err
		}
		v.seen.Add(id, seen)
	}
	if !seen.issuer.addressed(seen.audience, resource) {
		return nil, fmt.Errorf("%w: it is addressed to others", authn.ErrToken)
	}
	for _, scope := range seen.issuer.cfg.Scopes {
		if !slices.Contains(seen.scopes, scope) {
			return nil, &authn.ScopeError{Scopes: seen.issuer.cfg.Scopes}
		}
	}
	if verified && v.used != nil {
		v.used(ctx, seen.principal, id)
	}
	return seen.principal, nil
}

// verify returns what a token says, if its issuer has signed it and it is valid at this time.
func (v *Verifier) verify(ctx context.Context, token string, now time.Time) (verified, error) {
	if !v.Recognizes(token) {
		return v.verifyOpaque(ctx, token, now)
	}
	from, err := v.issuerOf(token)
	if err != nil {
		return verified{}, err
	}
	claims := jwt.MapClaims{}
	_, err = from.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) { return from.keyOf(ctx, t) })
	if errors.Is(err, errNoKeys) {
		return verified{}, err
	}
	if err != nil {
		return verified{}, fmt.Errorf("%w: %w", authn.ErrToken, err)
	}
	out := verified{issuer: from, scopes: scopesOf(claims), until: now.Add(cached)}
	if out.principal, err = from.mapper.principal(claims); err != nil {
		return verified{}, fmt.Errorf("%w: %w", authn.ErrToken, err)
	}
	if out.audience, err = claims.GetAudience(); err != nil {
		return verified{}, fmt.Errorf("%w: %w", authn.ErrToken, err)
	}
	exp, err := claims.GetExpirationTime()
	if err != nil {
		return verified{}, fmt.Errorf("%w: %w", authn.ErrToken, err)
	}
	out.expires = exp.Time
	if exp.Before(out.until) {
		out.until = exp.Time
	}
	if from.introspector != nil {
		err = out.confirm(ctx, token, claims)
	}
	return out, err
}

// Expiry implements authn.Expirer.
func (v *Verifier) Expiry(token string) time.Time {
	seen, ok := v.seen.Peek(sha256.Sum256([]byte(token)))
	if !ok || seen.expires.IsZero() {
		return time.Time{}
	}
	return seen.expires.Add(leeway)
}

// addressed reports whether tokens with this audience are for calls of a resource. On loopback, URLs name another resource on each machine:
// only an issuer on the same machine means this one.
func (i *issuer) addressed(audience []string, resource string) bool {
	if resource != "" && slices.Contains(audience, resource) && (i.local || !onLoopback(resource)) {
		return true
	}
	return slices.ContainsFunc(audience, func(a string) bool { return slices.Contains(i.cfg.Audiences, a) })
}

// issuerOf returns the issuer that a token names. The name is not verified yet: the issuer's own parser does that.
func (v *Verifier) issuerOf(token string) (*issuer, error) {
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser(jwt.WithStrictDecoding()).ParseUnverified(token, claims); err != nil {
		return nil, fmt.Errorf("%w: %w", authn.ErrToken, err)
	}
	iss, _ := claims["iss"].(string)
	from, ok := v.issuers[iss]
	if !ok {
		return nil, fmt.Errorf("%w: its issuer is not configured", authn.ErrToken)
	}
	return from, nil
}

// keyOf returns the key of a token. Of the header it uses the name of the key and the algorithm, which the parser has checked: keys and
// addresses of keys in a header are ignored.
func (i *issuer) keyOf(ctx context.Context, t *jwt.Token) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, errors.New("the token has critical header fields, which are not supported")
	}
	switch typ, _ := t.Header["typ"].(string); strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "", "jwt", "at+jwt":
	default:
		return nil, errors.New("the token's typ is not that of an access token")
	}
	kid, ok := t.Header["kid"].(string)
	if _, there := t.Header["kid"]; there && !ok {
		return nil, errors.New("the token's kid is not a string")
	}
	return i.keys.find(ctx, kid, t.Method.Alg())
}
