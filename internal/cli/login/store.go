// Package login logs the user of the command line in at an OIDC issuer, keeps the tokens, and hands them to the client that calls the
// server they are for.
package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/oauth2"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/libs/secret"
)

// Login is a login at an issuer, for one server.
type Login struct {
	Issuer   string   `json:"issuer"`
	Client   string   `json:"client"`
	Scopes   []string `json:"scopes,omitempty"`
	TokenURL string   `json:"token_url"`
	// RevokeURL is empty if the issuer cannot revoke tokens.
	RevokeURL string       `json:"revoke_url,omitempty"`
	Access    secret.Value `json:"-"`
	Refresh   secret.Value `json:"-"`
	Expires   time.Time    `json:"expires"`
}

// stored is a login in the file.
type stored struct {
	Login
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token,omitempty"`
}

// file is the content of the file: logins by the address of the server.
type file struct {
	Servers map[string]stored `json:"servers"`
}

// Store is a file in the user's configuration directory that only they can read.
type Store struct{ path string }

// Open returns the store of the user: $XDG_CONFIG_HOME/windlass/credentials.json, else ~/.config/windlass/credentials.json.
func Open(a *app.App) Store {
	dir := a.Getenv("XDG_CONFIG_HOME")
	if home := a.Getenv("HOME"); !filepath.IsAbs(dir) && home != "" { // the XDG specification: relative paths are ignored
		dir = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(dir) {
		return Store{}
	}
	return Store{path: filepath.Join(dir, "windlass", "credentials.json")}
}

// Get returns the login for a server; ok is false if there is none.
func (s Store) Get(server string) (l Login, ok bool, err error) {
	if s.path == "" {
		return Login{}, false, nil
	}
	f, err := s.read()
	if err != nil {
		return Login{}, false, err
	}
	e, ok := f.Servers[server]
	e.Access, e.Refresh = secret.New(e.AccessToken), secret.New(e.RefreshToken)
	return e.Login, ok, nil
}

// Update changes the login for a server, alone among all processes. change gets nil if there is none, and returns nil to remove it.
func (s Store) Update(server string, change func(*Login) (*Login, error)) error {
	if s.path == "" {
		return errors.New("there is no directory for tokens: set HOME or XDG_CONFIG_HOME")
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("directory for tokens: %w", err)
	}
	lock, err := os.OpenFile(s.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the tokens: %w", err)
	}
	defer func() { _ = lock.Close() }() // releases the lock
	if err := take(lock); err != nil {
		return fmt.Errorf("lock the tokens: %w", err)
	}
	f, err := s.read()
	if err != nil {
		return err
	}
	var old *Login
	if e, ok := f.Servers[server]; ok {
		e.Access, e.Refresh = secret.New(e.AccessToken), secret.New(e.RefreshToken)
		old = &e.Login
	}
	l, err := change(old)
	if err != nil {
		return err
	}
	if delete(f.Servers, server); l != nil {
		f.Servers[server] = stored{Login: *l, AccessToken: l.Access.Reveal(), RefreshToken: l.Refresh.Reveal()}
	}
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	if err := datadir.Write(s.path, raw); err != nil {
		return fmt.Errorf("keep the tokens: %w", err)
	}
	return nil
}

func (s Store) read() (file, error) {
	f := file{Servers: map[string]stored{}}
	raw, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("read the tokens: %w", err)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return f, fmt.Errorf("read the tokens: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return f, fmt.Errorf("other users can read the tokens in %s: remove the file, or run chmod 600 on it, and log in again", s.path)
	}
	if err := json.Unmarshal(raw, &f); err != nil || f.Servers == nil {
		return f, fmt.Errorf("%s is damaged: remove it, and log in again", s.path)
	}
	return f, nil
}

// config returns what refreshing the tokens of a login needs.
func (l Login) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: l.Client, Scopes: l.Scopes, Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: oauth2.AuthStyleInParams},
	}
}

// with returns the login with new tokens. An issuer that sends no refresh token keeps the old one valid.
func (l Login) with(t *oauth2.Token) *Login {
	l.Access, l.Expires = secret.New(t.AccessToken), t.Expiry
	if t.RefreshToken != "" {
		l.Refresh = secret.New(t.RefreshToken)
	}
	return &l
}
