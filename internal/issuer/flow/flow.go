// Package flow holds logins of the built-in issuer that are under way: requests of clients, codes and device codes. They live for minutes,
// in memory.
package flow

import (
	"crypto/rand"
	"errors"
	"maps"
	"math/big"
	"strings"
	"sync"
	"time"
)

// Lifetimes.
const (
	requestTTL = 10 * time.Minute
	codeTTL    = time.Minute
	// DeviceTTL is how long a user has to enter a code.
	DeviceTTL = 10 * time.Minute
	// Interval is how often a device may ask.
	Interval = time.Second
	// tolerance is how much sooner it may ask, since clocks and networks jitter.
	tolerance = 500 * time.Millisecond
)

// maxPending bounds the memory that requests without a login take.
const maxPending = 1000

// Errors of flows.
var (
	// ErrFull means that too many logins are under way.
	ErrFull = errors.New("too many logins are under way")
	// ErrUnknown means that a request or code does not exist, or no longer.
	ErrUnknown = errors.New("the login has expired, or was completed")
	// ErrReplayed means that a code was used twice; Code.Grant is the login to end.
	ErrReplayed = errors.New("the code was used twice")
	// ErrPending means that the user has not decided.
	ErrPending = errors.New("the user has not decided yet")
	// ErrSlowDown means that a device asks too often.
	ErrSlowDown = errors.New("the device asks too often")
	// ErrDenied means that the user refused.
	ErrDenied = errors.New("the user refused")
)

// Request is what a client asks for.
type Request struct {
	ID        string
	Client    string
	Scopes    []string
	Audience  []string
	Redirect  string
	State     string
	Nonce     string
	Challenge string
	expires   time.Time
}

// Code is a request that a user has allowed.
type Code struct {
	Request
	Subject  string
	AuthTime time.Time
	// Grant is the login that was made with it.
	Grant    string
	used     bool
	replayed bool
	expires  time.Time
}

// Store holds flows. It is safe for concurrent use.
type Store struct {
	now func() time.Time

	mu       sync.Mutex
	requests map[string]Request
	codes    map[string]*Code
	devices  map[string]*device // by user code
}

// New returns an empty store.
func New(now func() time.Time) *Store {
	return &Store{now: now, requests: map[string]Request{}, codes: map[string]*Code{}, devices: map[string]*device{}}
}

// Begin stores a request and returns its id.
func (s *Store) Begin(r Request) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	if len(s.requests) >= maxPending {
		return "", ErrFull
	}
	r.ID, r.expires = rand.Text(), s.now().Add(requestTTL)
	s.requests[r.ID] = r
	return r.ID, nil
}

// Request returns a request that waits for the user, or ErrUnknown.
func (s *Store) Request(id string) (Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.requests[id]
	if !ok || !s.now().Before(r.expires) {
		return Request{}, ErrUnknown
	}
	return r, nil
}

// Cancel removes a request, and returns it.
func (s *Store) Cancel(id string) (Request, error) {
	r, err := s.Request(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, id)
	return r, err
}

// Allow turns a request into a code, which only the caller learns: the id of a request is no longer worth anything.
func (s *Store) Allow(id, subject string) (Request, string, error) {
	r, err := s.Request(id)
	if err != nil {
		return r, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.requests[id]; !ok {
		return r, "", ErrUnknown // another call was faster
	}
	delete(s.requests, id)
	now, code := s.now(), rand.Text()
	s.codes[code] = &Code{Request: r, Subject: subject, AuthTime: now, expires: now.Add(codeTTL)}
	return r, code, nil
}

// Redeem returns a code once, to the client that it was made for; ErrReplayed the second time.
func (s *Store) Redeem(code, client string) (Code, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.codes[code]
	if !ok || c.Client != client || !s.now().Before(c.expires) {
		return Code{}, ErrUnknown
	}
	if c.used {
		c.replayed = true
		return *c, ErrReplayed
	}
	c.used = true
	return *c, nil
}

// Redeemed records the login that was made with a code. It returns ErrReplayed, and the login has to be ended, if the code was used again
// meanwhile: the second use found no login to end.
func (s *Store) Redeemed(code, grant string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.codes[code]
	if !ok {
		return nil
	}
	c.Grant = grant
	if c.replayed {
		return ErrReplayed
	}
	return nil
}

// sweep removes what has expired.
func (s *Store) sweep() {
	now := s.now()
	maps.DeleteFunc(s.requests, func(_ string, r Request) bool { return !now.Before(r.expires) })
	maps.DeleteFunc(s.codes, func(_ string, c *Code) bool { return !now.Before(c.expires) })
	maps.DeleteFunc(s.devices, func(_ string, d *device) bool { return !now.Before(d.expires) })
}

// userCodeLetters contains neither vowels, which make words, nor letters that look alike.
const userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"

func newUserCode() (string, error) {
	var b strings.Builder
	for i := range 8 {
		if i == 4 {
			b.WriteByte('-')
		}
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(userCodeLetters))))
		if err != nil {
			return "", err
		}
		b.WriteByte(userCodeLetters[n.Int64()])
	}
	return b.String(), nil
}
