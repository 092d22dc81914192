package registration

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/windlass-dev/windlass/internal/datadir"
)

// prefix begins the ids of registered clients. No configured client has an id with a dot.
const prefix = "dyn."

// maxClients bounds the file. A client without a login gives way to a new one, the oldest first.
const maxClients = 200

// How often programs may register, and documents be fetched.
const (
	every = 2 * time.Second
	burst = 20
)

// Errors of registrations.
var (
	// ErrFull means that all registered clients have logins.
	ErrFull = errors.New("too many clients are registered")
	// ErrBusy means that clients register faster than programs do that people start.
	ErrBusy = errors.New("too many registrations")
	// ErrUnknown means that there is no such client, or that its document cannot be read.
	ErrUnknown = errors.New("the client is not known")
)

// Deps are what a store needs. All are required.
type Deps struct {
	// Client fetches documents; it must bound time and size of responses, and the addresses it reaches.
	Client *http.Client
	// InUse reports whether a client has a login.
	InUse func(client string) bool
	Now   func() time.Time
}

// Store keeps registered clients. It is safe for concurrent use.
type Store struct {
	file string
	deps Deps
	pace *rate.Limiter

	mu      sync.Mutex
	clients map[string]Client
}

// Open reads the store from a file, which need not exist.
func Open(file string, deps Deps) (*Store, error) {
	s := &Store{file: file, deps: deps, pace: rate.NewLimiter(rate.Every(every), burst), clients: map[string]Client{}}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &s.clients)
	}
	if err != nil {
		return nil, fmt.Errorf("read the registered clients in %s (remove the file, and programs register again): %w", file, err)
	}
	return s, nil
}

// Client returns a client that is known, without fetching anything.
func (s *Store) Client(id string) (Client, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.clients[id]
	return c, ok
}

// Register keeps a new client. It returns it, and the redirect URIs as they were given; or an *Error, ErrBusy or ErrFull.
func (s *Store) Register(m Metadata) (Client, []string, error) {
	if !s.pace.AllowN(s.deps.Now(), 1) {
		return Client{}, nil, ErrBusy
	}
	c, redirects, err := m.accept()
	if err != nil {
		return Client{}, nil, err
	}
	c.ID, c.Since = prefix+strings.ToLower(rand.Text()), s.deps.Now()
	if err := s.keep(c); err != nil {
		return Client{}, nil, err
	}
	return c, redirects, nil
}

// keep adds a client, or replaces the one with its id, and writes the file.
func (s *Store) keep(c Client) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.clients[c.ID]; !known && len(s.clients) >= maxClients && !s.makeRoom() {
		return ErrFull
	}
	old, known := s.clients[c.ID]
	s.clients[c.ID] = c
	raw, err := json.Marshal(s.clients)
	if err == nil {
		err = datadir.Write(s.file, raw)
	}
	if err == nil {
		return nil
	}
	if delete(s.clients, c.ID); known {
		s.clients[c.ID] = old
	}
	return fmt.Errorf("keep the registered clients: %w", err)
}

// makeRoom removes the oldest client without a login, and reports whether there is one.
func (s *Store) makeRoom() bool {
	oldest := Client{}
	for id, c := range s.clients {
		if (oldest.ID == "" || c.Since.Before(oldest.Since)) && !s.deps.InUse(id) {
			oldest = c
		}
	}
	delete(s.clients, oldest.ID)
	return oldest.ID != ""
}
