package bearer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
}

// Verifier verifies the tokens of all configured issuers. It is safe for concurrent use.
type Verifier struct {
	issuers map[string]*issuer // by the value of iss
	seen    *lru.Cache[[sha256.Size]byte, verified]
	now     func() time.Time
}

var _ authn.TokenVerifier = (*Verifier)(nil)

type verified struct {
	principal *policyv1.Principal
	until     time.Time
}

// issuer is one issuer and what it takes to verify its tokens.
type issuer struct {
	parser *jwt.Parser
	keys   *keySet
	mapper mapper
}

// New returns a verifier. It fetches nothing yet.
func New(issuers []Issuer, deps Deps) (*Verifier, error) {
	if deps.Client == nil || deps.Log == nil {
		return nil, errors.New("bearer verifier needs Client and Log")
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	v := &Verifier{issuers: map[string]*issuer{}, now: deps.Now}
	names := map[string]bool{}
	for i, c := range issuers {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("issuer %d: %w", i+1, err)
		}
		if names[c.Name] || v.issuers[c.Issuer] != nil {
			return nil, fmt.Errorf("issuer %d: its name or its URL is there twice", i+1)
		}
		names[c.Name] = true
		m, err := newMapper(c)
		if err != nil {
			return nil, fmt.Errorf("issuer %d: %w", i+1, err)
		}
		v.issuers[c.Issuer] = &issuer{parser: newParser(c, deps.Now), keys: newKeySet(c, deps), mapper: m}
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
	return jwt.NewParser(jwt.WithValidMethods(methods), jwt.WithIssuer(c.Issuer), jwt.WithAudience(c.Audiences...),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(now), jwt.WithStrictDecoding())
}

// Recognizes implements authn.TokenVerifier: a signed JWT has three parts.
func (v *Verifier) Recognizes(token string) bool { return strings.Count(token, ".") == 2 }

// Verify implements authn.TokenVerifier.
func (v *Verifier) Verify(ctx context.Context, token string) (*policyv1.Principal, error) {
	id, now := sha256.Sum256([]byte(token)), v.now()
	if c, ok := v.seen.Get(id); ok && now.Before(c.until) {
		return c.principal, nil
	}
	from, err := v.issuerOf(token)
	if err != nil {
		return nil, err
	}
	claims := jwt.MapClaims{}
	_, err = from.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) { return from.keyOf(ctx, t) })
	if errors.Is(err, errNoKeys) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", authn.ErrToken, err)
	}
	p, err := from.mapper.principal(claims)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", authn.ErrToken, err)
	}
	until := now.Add(cached)
	if exp, err := claims.GetExpirationTime(); err == nil && exp.Before(until) {
		until = exp.Time
	}
	v.seen.Add(id, verified{p, until})
	return p, nil
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
