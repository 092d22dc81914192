package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/libs/secret"
)

// Directory knows users and clients. It does not change.
type Directory struct {
	users   map[string]User
	clients map[string]Client
	absent  secret.Value
}

// File is what the data directory keeps about accounts, for windlass user list. Passwords and secrets from the configuration are not in
// it.
type File struct {
	Issuer  string       `json:"issuer"`
	Users   []FileUser   `json:"users"`
	Clients []FileClient `json:"clients"`
}

// FileUser is a user with the generated password.
type FileUser struct {
	User
	Password string `json:"password,omitempty"`
}

// FileClient is a client with the generated secret.
type FileClient struct {
	Client
	Secret string `json:"secret,omitempty"`
}

// Open reads the accounts of a configuration, generates the passwords and secrets that it leaves out, and keeps those in a file that only
// the user of this process can read. Generated ones stay the same as long as the file exists.
func Open(c Config, issuer, file string) (*Directory, error) {
	c = c.complete()
	if err := c.check(); err != nil {
		return nil, err
	}
	old, err := Read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	d := &Directory{users: map[string]User{}, clients: map[string]Client{}, absent: secret.New(rand.Text())}
	kept := File{Issuer: issuer}
	for _, u := range c.Users {
		f := FileUser{User: u}
		if u.Password.IsZero() {
			f.Password = old.password(u.Name)
			u.Password = secret.New(f.Password)
		}
		d.users[u.Name] = u
		kept.Users = append(kept.Users, f)
	}
	for _, cl := range c.Clients {
		f := FileClient{Client: cl}
		if cl.Secret.IsZero() && !cl.Public {
			f.Secret = old.secret(cl.ID)
			cl.Secret = secret.New(f.Secret)
		}
		d.clients[cl.ID] = cl
		kept.Clients = append(kept.Clients, f)
	}
	raw, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the accounts: %w", err)
	}
	if err := datadir.Write(file, raw); err != nil {
		return nil, fmt.Errorf("keep the accounts: %w", err)
	}
	return d, nil
}

// Read reads the file that Open keeps.
func Read(file string) (File, error) {
	var f File
	raw, err := os.ReadFile(file)
	if err != nil {
		return f, fmt.Errorf("read the accounts: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("%s is damaged; remove it, and new passwords are generated: %w", file, err)
	}
	return f, nil
}

func (f File) password(user string) string {
	for _, u := range f.Users {
		if u.Name == user && u.Password != "" {
			return u.Password
		}
	}
	return newPassword()
}

func (f File) secret(client string) string {
	for _, c := range f.Clients {
		if c.ID == client && c.Secret != "" {
			return c.Secret
		}
	}
	return rand.Text()
}

// newPassword returns 80 random bits in groups that can be typed.
func newPassword() string {
	t := strings.ToLower(rand.Text())
	return t[:4] + "-" + t[4:8] + "-" + t[8:12] + "-" + t[12:16]
}

// User returns a user by name.
func (d *Directory) User(name string) (User, bool) {
	u, ok := d.users[name]
	return u, ok
}

// Client returns a client by id.
func (d *Directory) Client(id string) (Client, bool) {
	c, ok := d.clients[id]
	return c, ok
}

// LogIn reports whether the password is the user's. It takes as long for a user who does not exist.
func (d *Directory) LogIn(name, password string) (User, bool) {
	u, ok := d.users[name]
	want := u.Password
	if !ok || want.IsZero() {
		ok, want = false, d.absent
	}
	same := equal(want, password)
	return u, same && ok
}

// Authenticate reports whether the secret is that of a confidential client.
func (d *Directory) Authenticate(id, given string) (Client, bool) {
	c, ok := d.clients[id]
	want := c.Secret
	if !ok || c.Public || want.IsZero() {
		ok, want = false, d.absent
	}
	same := equal(want, given)
	return c, same && ok
}

// equal compares hashes, so that the time does not depend on lengths.
func equal(want secret.Value, given string) bool {
	a, b := sha256.Sum256([]byte(want.Reveal())), sha256.Sum256([]byte(given))
	return secret.New(string(a[:])).Equal(secret.New(string(b[:])))
}
