package bearer

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	// fresh is the age at which known keys are fetched again, so that a withdrawn key stops working.
	fresh = 5 * time.Minute
	// stale is the age at which known keys stop working if the issuer has not been reachable since.
	stale = 24 * time.Hour
	// pause is the time between two fetches, whatever the tokens: a new key is accepted that late at most.
	pause = 30 * time.Second
	// firstPause is the time between fetches until the first one succeeds.
	firstPause = 5 * time.Second
)

var (
	// errNoKeys means that the issuer's keys are not known, so that nothing can be said about its tokens.
	errNoKeys = errors.New("the issuer's keys are not known")
	// errUnknownKey means that the issuer does not publish the key, as far as is known.
	errUnknownKey = errors.New("the issuer has no such key")
)

// keySet holds the keys of an issuer. It fetches them when a token needs that, one fetch at a time and at most one in each pause.
type keySet struct {
	cfg    Issuer
	client *http.Client
	log    *slog.Logger
	now    func() time.Time

	mu sync.Mutex
	// keys are replaced, never modified.
	keys []publicKey
	// address of the JWKS document, once known.
	address string
	// loaded is the time of the last fetch that succeeded, tried that of the last one.
	loaded, tried time.Time
	// fetching is closed when the fetch in progress ends; nil if there is none.
	fetching chan struct{}
}

func newKeySet(c Issuer, deps Deps) *keySet {
	return &keySet{cfg: c, client: deps.Client, log: deps.Log, now: deps.Now, address: c.JWKSURL}
}

// find returns the key with an ID that suits an algorithm. An empty ID finds the only key that suits. A known key is returned at once, even
// if the keys have to be fetched again; an unknown key waits for the fetch, if it is time for one.
func (s *keySet) find(ctx context.Context, kid, alg string) (any, error) {
	s.mu.Lock()
	key, age := choose(s.keys, kid, alg), s.now().Sub(s.loaded)
	known := key != nil && age < stale
	if known && age < fresh {
		s.mu.Unlock()
		return key, nil
	}
	done := s.refresh()
	s.mu.Unlock()
	if known {
		return key, nil
	}
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, errors.Join(errNoKeys, ctx.Err())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded.IsZero() || s.now().Sub(s.loaded) >= stale {
		return nil, errNoKeys
	}
	if key = choose(s.keys, kid, alg); key == nil {
		return nil, errUnknownKey
	}
	return key, nil
}

// refresh starts a fetch if none is in progress and the last one is long enough ago. It returns a channel that is closed when the fetch in
// progress ends, or nil. The caller holds mu.
func (s *keySet) refresh() <-chan struct{} {
	if s.fetching != nil {
		return s.fetching
	}
	wait := pause
	if s.loaded.IsZero() {
		wait = firstPause
	}
	now := s.now()
	if !s.tried.IsZero() && now.Sub(s.tried) < wait {
		return nil
	}
	s.tried = now
	done := make(chan struct{})
	s.fetching = done
	go s.fetch(s.address, done)
	return done
}

// fetch replaces the keys by those that the issuer publishes now. It belongs to no call: others may wait for it too.
func (s *keySet) fetch(address string, done chan struct{}) {
	ctx := context.Background() // the client has a timeout
	keys, found, err := s.download(ctx, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(done)
	s.fetching = nil
	if err != nil {
		s.log.WarnContext(ctx, "keys of an issuer cannot be fetched", "issuer", s.cfg.Name, "error", err)
		s.address = s.cfg.JWKSURL // it may have moved
		return
	}
	s.keys, s.address, s.loaded = keys, found, s.now()
}
