// Package grant keeps the logins of the built-in issuer: who logged in through which client, and which refresh token is the current one. It
// is one file in the data directory, so that logins outlive a restart.
package grant

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/libs/secret"
)

// Errors of refresh tokens.
var (
	// ErrInvalid means that a refresh token is not one of ours, or that its login has ended.
	ErrInvalid = errors.New("refresh token is not valid")
	// ErrReused means that a refresh token was used again after it had been replaced. Its login has been ended: one of the two users of the
	// token has stolen it.
	ErrReused = errors.New("refresh token was used twice")
)

// prefix makes refresh tokens recognizable to scanners.
const prefix = "wlr_"

// maxGrants bounds the file; the oldest login ends first.
const maxGrants = 2000

// Grant is one login of a user through a client.
type Grant struct {
	ID       string    `json:"id"`
	Client   string    `json:"client"`
	Subject  string    `json:"subject"`
	Scopes   []string  `json:"scopes,omitempty"`
	Audience []string  `json:"audience"`
	AuthTime time.Time `json:"auth_time"`
	Expires  time.Time `json:"expires"`
	// Parent is the login on which this one depends: a client that acts for the user of that one. Empty for a login of a user.
	Parent string `json:"parent,omitempty"`
	// Serial numbers the refresh tokens of the login; only the last one is valid. 0: none was given out.
	Serial int `json:"serial,omitempty"`
}

// state is the content of the file. It holds no token: those are derived from the key.
type state struct {
	Grants map[string]*Grant `json:"grants"`
	// Revoked maps ids of revoked access tokens to when they expire.
	Revoked map[string]time.Time `json:"revoked,omitempty"`
}

// Store keeps grants. It is safe for concurrent use.
type Store struct {
	file string
	key  secret.Value
	now  func() time.Time

	mu sync.Mutex
	state
}

// Open reads the store from a file, which need not exist. The key signs refresh tokens.
func Open(file string, key secret.Value, now func() time.Time) (*Store, error) {
	s := &Store{file: file, key: key, now: now}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &s.state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the logins in %s (remove the file, and all users log in again): %w", file, err)
	}
	if s.Grants == nil {
		s.Grants = map[string]*Grant{}
	}
	if s.Revoked == nil {
		s.Revoked = map[string]time.Time{}
	}
	return s, nil
}

// Begin records a login, and returns its first refresh token if one is wanted.
func (s *Store) Begin(g Grant, refresh bool) (Grant, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.ID = "grt_" + strings.ToLower(rand.Text())
	if refresh {
		g.Serial = 1
	}
	if len(s.Grants) >= maxGrants {
		oldest := slices.MinFunc(slices.Collect(maps.Values(s.Grants)), func(a, b *Grant) int {
			return cmp.Or(cmp.Compare(len(b.Parent), len(a.Parent)), a.AuthTime.Compare(b.AuthTime)) // dependent ones first
		})
		delete(s.Grants, oldest.ID)
	}
	s.Grants[g.ID] = &g
	if err := s.save(); err != nil {
		return Grant{}, "", err
	}
	if !refresh {
		return g, "", nil
	}
	return g, s.token(g), nil
}

// Rotate replaces a refresh token of a client. It returns ErrInvalid, or ErrReused after it has ended the login.
func (s *Store) Rotate(token, client string) (Grant, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, serial, err := s.find(token, client)
	if err != nil {
		return Grant{}, "", err
	}
	if serial != g.Serial {
		delete(s.Grants, g.ID)
		return Grant{}, "", errors.Join(ErrReused, s.save())
	}
	g.Serial++
	if err := s.save(); err != nil {
		g.Serial-- // the caller keeps the old one
		return Grant{}, "", err
	}
	return *g, s.token(*g), nil
}

// Owner returns the login of a refresh token, current or replaced, or ErrInvalid.
func (s *Store) Owner(token, client string) (Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, _, err := s.find(token, client)
	if err != nil {
		return Grant{}, err
	}
	return *g, nil
}

// Live reports whether a login has neither ended nor expired.
func (s *Store) Live(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.get(id)
	return ok
}

// Get returns a login that has neither ended nor expired.
func (s *Store) Get(id string) (Grant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.get(id)
	if !ok {
		return Grant{}, false
	}
	return *g, true
}

// get finds a login that has not ended, nor the one on which it depends. s.mu is held.
func (s *Store) get(id string) (*Grant, bool) {
	g, ok := s.Grants[id]
	if !ok || !s.now().Before(g.Expires) {
		return nil, false
	}
	if g.Parent != "" {
		if _, ok := s.Grants[g.Parent]; !ok {
			return nil, false
		}
	}
	return g, true
}

// HasLogin reports whether a client has a login that has neither ended nor expired.
func (s *Store) HasLogin(client string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, g := range s.Grants {
		if g.Client == client && now.Before(g.Expires) {
			return true
		}
	}
	return false
}

// End ends a login; ending it again is no error.
func (s *Store) End(id string) error {
	return s.EndAll(func(g Grant) bool { return g.ID == id })
}

// EndAll ends the logins that match.
func (s *Store) EndAll(match func(Grant) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.Grants)
	maps.DeleteFunc(s.Grants, func(_ string, g *Grant) bool { return match(*g) })
	if len(s.Grants) == before {
		return nil
	}
	return s.save()
}

// Revoke revokes one access token.
func (s *Store) Revoke(id string, expires time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Revoked[id] = expires
	return s.save()
}

// IsRevoked reports whether an access token has been revoked by itself.
func (s *Store) IsRevoked(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.state.Revoked[id]
	return ok
}

// find returns the grant and the serial number of a token that was signed here for a client.
func (s *Store) find(token, client string) (*Grant, int, error) {
	rest, ok := strings.CutPrefix(token, prefix)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 {
		return nil, 0, ErrInvalid
	}
	serial, err := strconv.Atoi(parts[1])
	if err != nil || !hmac.Equal([]byte(s.mac(parts[0], serial)), []byte(parts[2])) {
		return nil, 0, ErrInvalid
	}
	g, ok := s.get(parts[0])
	if !ok || g.Client != client || serial < 1 || serial > g.Serial {
		return nil, 0, ErrInvalid
	}
	return g, serial, nil
}

func (s *Store) token(g Grant) string {
	return prefix + g.ID + "." + strconv.Itoa(g.Serial) + "." + s.mac(g.ID, g.Serial)
}

func (s *Store) mac(id string, serial int) string {
	h := hmac.New(sha256.New, []byte(s.key.Reveal()))
	fmt.Fprintf(h, "refresh token %s.%d", id, serial) // a hash does not fail
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// save writes the file, without what has expired.
func (s *Store) save() error {
	now := s.now()
	maps.DeleteFunc(s.Grants, func(_ string, g *Grant) bool { return !now.Before(g.Expires) })
	maps.DeleteFunc(s.state.Revoked, func(_ string, expires time.Time) bool { return !now.Before(expires) })
	raw, err := json.Marshal(s.state)
	if err != nil {
		return fmt.Errorf("write the logins: %w", err)
	}
	if err := datadir.Write(s.file, raw); err != nil {
		return fmt.Errorf("keep the logins: %w", err)
	}
	return nil
}
