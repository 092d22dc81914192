// Package exchange gets tokens from the issuers of users: access tokens for other services that name the user as their subject and the
// mesh as the actor (RFC 8693), and what is needed to get them after the user's own token has expired.
package exchange

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/singleflight"

	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/secret"
)

const (
	// early is how long before its expiry a token is replaced: the clocks of all sides differ, and a call takes time.
	early = 60 * time.Second
	// cached is how many tokens are kept in memory.
	cached = 10_000
	// timeout bounds a request to an issuer, and maxAnswer its answer in bytes.
	timeout   = 10 * time.Second
	maxAnswer = 256 << 10
	// An issuer that fails so often in a row is left alone for a pause.
	failures = 5
	pause    = 10 * time.Second
)

// Kind says why there is no token.
type Kind int

// Kinds.
const (
	// Unreachable: the issuer cannot be reached, or fails. Another attempt may succeed.
	Unreachable Kind = iota + 1
	// Refused: the issuer does not give the mesh such a token, whatever the user does.
	Refused
	// Ended: the issuer no longer accepts what was presented for the user, who has to log in again.
	Ended
	// Wrong: the issuer gave a token that is not what was asked for. It is not used.
	Wrong
)

// Error says why there is no token. Its text has no secrets.
type Error struct {
	Kind Kind
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// KindOf returns the kind of an error; 0 if it is none of this package.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

func failed(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Token is an access token.
type Token struct {
	Value secret.Value
	// Subject is that of the issuer, without its name.
	Subject string
	Expires time.Time
}

// Fresh reports whether a token can be used at a time.
func (t Token) Fresh(now time.Time) bool { return !t.Value.IsZero() && t.Expires.Sub(now) > early }

// Tokens are what an issuer gave for a login.
type Tokens struct {
	// Access is a token for the mesh itself; zero if there is none.
	Access Token
	// Refresh gets the next ones; zero if the issuer gave none, or none that replaces the one that was used.
	Refresh secret.Value
}

// Target is what a token is for.
type Target struct {
	// Audience, Resource and Scopes are those of RFC 8693. One of the first two is required.
	Audience, Resource string
	Scopes             []string
}

// audience is the only audience that the token may have.
func (t Target) audience() string {
	if t.Audience != "" {
		return t.Audience
	}
	return t.Resource
}

// Dialer returns HTTP clients; *egress.Egress is one.
type Dialer interface {
	Client(opts egress.Options) *http.Client
}

// Deps are what a Client needs; all are required.
type Deps struct {
	Dialer Dialer
	// Now is the time to which expiries are compared.
	Now func() time.Time
	Log *slog.Logger
}

// Client gets tokens from issuers. It is safe for concurrent use. Tokens are kept in memory only.
type Client struct {
	issuers map[string]*issuer
	now     func() time.Time
	log     *slog.Logger
	cache   *lru.Cache[[sha256.Size]byte, Token]
	flight  singleflight.Group
}

// New returns a client for those of the issuers that have a client of the mesh.
func New(issuers []bearer.Issuer, deps Deps) (*Client, error) {
	cache, err := lru.New[[sha256.Size]byte, Token](cached)
	if err != nil {
		return nil, fmt.Errorf("build the cache of tokens: %w", err)
	}
	c := &Client{issuers: map[string]*issuer{}, now: deps.Now, log: deps.Log, cache: cache}
	for _, cfg := range issuers {
		if cfg.Exchange.Enabled() {
			c.issuers[cfg.Name] = newIssuer(cfg, deps)
		}
	}
	return c, nil
}

// Knows reports whether tokens of an issuer can be exchanged.
func (c *Client) Knows(issuer string) bool { return c != nil && c.issuers[issuer] != nil }

// Login exchanges the access token of a user for tokens with which the mesh can act for the user later. If the issuer gives no refresh
// token, the user's token is all there is.
func (c *Client) Login(ctx context.Context, issuer string, user secret.Value) (Tokens, error) {
	i, err := c.issuer(issuer)
	if err != nil {
		return Tokens{}, err
	}
	own, err := claimsOf(user)
	if err != nil {
		return Tokens{}, err
	}
	have := Tokens{Access: Token{Value: user, Subject: own.Subject, Expires: own.expires()}}
	answer, err := i.ask(ctx, delegation(user))
	if err != nil {
		c.log.InfoContext(ctx, "the issuer gave no refresh token by exchange: turns can act for their user until the user's token expires",
			"issuer", issuer, "error", err)
		return have, nil
	}
	have.Refresh = answer.refresh()
	return have, nil
}

// Refresh returns a new access token for the mesh. A refresh token in the result replaces the one that was used.
func (c *Client) Refresh(ctx context.Context, issuer string, refresh secret.Value, subject string) (Tokens, error) {
	i, err := c.issuer(issuer)
	if err != nil {
		return Tokens{}, err
	}
	answer, err := i.ask(ctx, refreshing(refresh))
	if err != nil {
		return Tokens{}, err
	}
	access, err := answer.access(c.now())
	if err != nil {
		return Tokens{}, err
	}
	if access.Subject != subject {
		return Tokens{}, failed(Wrong, "issuer %q gave a token of another user", issuer)
	}
	return Tokens{Access: access, Refresh: answer.RefreshToken.value()}, nil
}

// Exchange returns a token for a target, from the cache unless fresh. subject is a token for the mesh; identity says whose it is, and is
// the same for all tokens of one login. The token is for exactly the target's audience, of the same subject, and has no further scopes.
func (c *Client) Exchange(ctx context.Context, issuer string, subject Token, identity string, t Target, fresh bool) (Token, error) {
	i, err := c.issuer(issuer)
	if err != nil {
		return Token{}, err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		issuer, i.cfg.Exchange.ClientID, identity, t.Audience, t.Resource, strings.Join(t.Scopes, " "),
	}))
	if fresh {
		c.cache.Remove(key)
	} else if token, ok := c.cache.Get(key); ok && token.Fresh(c.now()) {
		return token, nil
	}
	answer := c.flight.DoChan(string(key[:]), func() (any, error) {
		return c.exchange(context.WithoutCancel(ctx), i, subject, t, key)
	})
	select {
	case <-ctx.Done():
		return Token{}, failed(Unreachable, "issuer %q did not answer in time", issuer)
	case a := <-answer:
		token, ok := a.Val.(Token)
		if a.Err != nil || !ok {
			return Token{}, a.Err
		}
		return token, nil
	}
}

func (c *Client) exchange(ctx context.Context, i *issuer, subject Token, t Target, key [sha256.Size]byte) (Token, error) {
	answer, err := i.ask(ctx, exchanging(subject.Value, t))
	if err != nil {
		return Token{}, err
	}
	token, err := answer.exchanged(c.now(), subject.Subject, t)
	if err != nil {
		c.log.WarnContext(ctx, "the issuer gave a token that is not used", "issuer", i.cfg.Name, "audience", t.audience(), "error", err)
		return Token{}, err
	}
	if token.Fresh(c.now()) {
		c.cache.Add(key, token)
	}
	return token, nil
}

// Direct returns what a token is that a user presented.
func Direct(user secret.Value) (Token, string, error) {
	own, err := claimsOf(user)
	if err != nil {
		return Token{}, "", err
	}
	sum := sha256.Sum256([]byte(user.Reveal()))
	return Token{Value: user, Subject: own.Subject, Expires: own.expires()}, fmt.Sprintf("token %x", sum), nil
}

func (c *Client) issuer(name string) (*issuer, error) {
	if !c.Knows(name) {
		return nil, failed(Refused, "tokens of issuer %q cannot be exchanged: the mesh has no client there (identity.issuers[].exchange)", name)
	}
	return c.issuers[name], nil
}

// newBreaker returns the breaker of an issuer. An answer that refuses something is a sign of life: one user's token must not lock others
// out.
func newBreaker(name string, log *slog.Logger) *gobreaker.CircuitBreaker[*answer] {
	return gobreaker.NewCircuitBreaker[*answer](gobreaker.Settings{
		Name: name, Timeout: pause, ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		IsSuccessful: func(err error) bool { return err == nil || KindOf(err) != Unreachable },
		OnStateChange: func(name string, _, to gobreaker.State) {
			log.Warn("the breaker of an issuer's token endpoint changed", "issuer", name, "state", to.String())
		},
	})
}
