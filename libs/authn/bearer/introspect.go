package bearer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/singleflight"

	"github.com/windlass-dev/windlass/libs/canon"
)

const (
	// introspectionAge is how long an answer holds by default, maxIntrospectionAge how long at most.
	introspectionAge    = 30 * time.Second
	maxIntrospectionAge = 10 * time.Minute
	// introspectionTimeout bounds one question, introspections how many are asked at a time, maxIntrospection an answer in bytes.
	introspectionTimeout = 5 * time.Second
	introspections       = 32
	maxIntrospection     = 64 << 10
	// introspectionFailures in a row open the breaker, which then lets nothing through for introspectionPause.
	introspectionFailures = 5
	introspectionPause    = 5 * time.Second
)

// errNotIntrospected means that the issuer has not said whether a token is active, so that nothing can be said about it.
var errNotIntrospected = errors.New("the issuer does not say whether the token is active")

// introspector asks an issuer about tokens (RFC 7662). Answers are kept in memory, by the hash of the token. It is safe for concurrent use.
type introspector struct {
	cfg      Issuer
	client   *http.Client
	log      *slog.Logger
	now      func() time.Time
	describe func(context.Context) (description, error)

	slots   chan struct{}
	asking  singleflight.Group
	breaker *gobreaker.CircuitBreaker[jwt.MapClaims]
	known   *lru.Cache[[sha256.Size]byte, introspected]

	mu       sync.Mutex
	endpoint string // once known
}

// introspected is what an issuer has said about a token, and until when that holds. The claims are nil if the token is not active.
type introspected struct {
	claims jwt.MapClaims
	until  time.Time
}

func newIntrospector(cfg Issuer, describe func(context.Context) (description, error), deps Deps) (*introspector, error) {
	known, err := lru.New[[sha256.Size]byte, introspected](cacheSize)
	if err != nil {
		return nil, fmt.Errorf("make cache of answers about tokens: %w", err)
	}
	return &introspector{
		cfg: cfg, client: deps.Client, log: deps.Log, now: deps.Now, describe: describe, slots: make(chan struct{}, introspections),
		known: known, endpoint: cfg.Introspection.URL,
		breaker: gobreaker.NewCircuitBreaker[jwt.MapClaims](gobreaker.Settings{
			Name: cfg.Name, Timeout: introspectionPause,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= introspectionFailures },
			OnStateChange: func(name string, _, to gobreaker.State) {
				deps.Log.Warn("the breaker of an issuer's introspection endpoint changed", "issuer", name, "state", to.String())
			},
		}),
	}, nil
}

// ask returns what the issuer says about a token. Callers with the same token share one question, which does not end with one of them.
func (i *introspector) ask(ctx context.Context, token string) (introspected, error) {
	id := sha256.Sum256([]byte(token))
	if known, ok := i.known.Get(id); ok && i.now().Before(known.until) {
		return known, nil
	}
	answer := i.asking.DoChan(string(id[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), introspectionTimeout)
		defer cancel()
		asked := i.now()
		claims, err := i.limited(ctx, token)
		if err != nil {
			i.log.WarnContext(ctx, "an issuer does not say whether a token is active", "issuer", i.cfg.Name, "error", err)
			return introspected{}, err
		}
		said := introspected{claims: claims, until: asked.Add(i.cfg.Introspection.age())}
		i.known.Add(id, said)
		return said, nil
	})
	select {
	case r := <-answer:
		if r.Err != nil {
			return introspected{}, fmt.Errorf("%w: %w", errNotIntrospected, r.Err)
		}
		said, _ := r.Val.(introspected)
		return said, nil
	case <-ctx.Done():
		return introspected{}, errors.Join(errNotIntrospected, ctx.Err())
	}
}

// limited asks when fewer than introspections questions are open, unless the issuer has failed too often lately.
func (i *introspector) limited(ctx context.Context, token string) (jwt.MapClaims, error) {
	select {
	case i.slots <- struct{}{}:
		defer func() { <-i.slots }()
	case <-ctx.Done():
		return nil, errors.New("too many tokens are being introspected")
	}
	return i.breaker.Execute(func() (jwt.MapClaims, error) { return i.send(ctx, token) })
}

// send asks, and returns what the issuer says of an active token, nil of another one. Errors do not quote the answer.
func (i *introspector) send(ctx context.Context, token string) (jwt.MapClaims, error) {
	endpoint, err := i.address(ctx)
	if err != nil {
		return nil, err
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	client := i.cfg.Introspection
	req.SetBasicAuth(url.QueryEscape(client.ClientID), url.QueryEscape(client.ClientSecret.Reveal()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	resp, err := i.client.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxIntrospection+1))
	switch err := errors.Join(err, resp.Body.Close()); {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	case len(body) > maxIntrospection:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxIntrospection)
	}
	object, err := canon.Parse(body)
	if err != nil {
		return nil, errors.New("the answer is no JSON object")
	}
	claims := jwt.MapClaims(object)
	for _, name := range []string{"exp", "nbf", "iat"} { // doubles, of which 0 stands for none
		if number, ok := claims[name].(json.Number); ok {
			if claims[name], err = number.Float64(); err != nil {
				return nil, fmt.Errorf("%s of the answer is out of range", name)
			}
		}
	}
	switch active, ok := claims["active"].(bool); {
	case !ok:
		return nil, errors.New("the answer does not say whether the token is active")
	case !active:
		return nil, nil
	}
	return claims, nil
}

// address returns the configured endpoint, or that of the issuer's description of itself.
func (i *introspector) address(ctx context.Context) (string, error) {
	i.mu.Lock()
	known := i.endpoint
	i.mu.Unlock()
	if known != "" {
		return known, nil
	}
	doc, err := i.describe(ctx)
	if err != nil {
		return "", fmt.Errorf("read its configuration: %w", err)
	}
	if err := i.cfg.checkURL(doc.Introspection); err != nil {
		return "", fmt.Errorf("introspection_endpoint: %w; set introspection.url", err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.endpoint = doc.Introspection
	return doc.Introspection, nil
}
