package account_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/secret"
)

func TestPasswordsAreGeneratedOnceAndKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accounts.json")
	open := func(cfg account.Config) (*account.Directory, account.File) {
		t.Helper()
		d, err := account.Open(cfg, "http://127.0.0.1:1", file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := account.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		return d, f
	}
	_, first := open(config.Default[account.Config]())
	d, second := open(config.Default[account.Config]())
	if len(first.Users) != 4 || len(first.Clients) != 4 {
		t.Fatalf("accounts %+v", first)
	}
	seen := map[string]bool{}
	for i, u := range first.Users {
		if len(u.Password) < 19 || seen[u.Password] || u.Password != second.Users[i].Password {
			t.Errorf("password of %s: %q, then %q", u.Name, u.Password, second.Users[i].Password)
		}
		seen[u.Password] = true
		if got, ok := d.LogIn(u.Name, u.Password); !ok || got.Tenant == "" {
			t.Errorf("%s cannot log in", u.Name)
		}
		if _, ok := d.LogIn(u.Name, ""); ok {
			t.Errorf("%s logs in without a password", u.Name)
		}
	}
	for _, c := range first.Clients {
		if _, ok := d.Authenticate(c.ID, c.Secret); ok == c.Public {
			t.Errorf("%s authenticates: %t", c.ID, ok)
		}
		if _, ok := d.Authenticate(c.ID, ""); ok {
			t.Errorf("%s authenticates without a secret", c.ID)
		}
	}
	cfg := config.Default[account.Config]()
	cfg.Users = []account.User{{Name: "dave", Password: secret.New("hunter2-hunter2")}}
	d, third := open(cfg)
	if _, ok := d.LogIn(
		"dave",
		"hunter2-hunter2",
	); !ok || len(third.Users) != 1 || third.Users[0].Password != "" ||
		third.Users[0].Tenant != "default" {
		t.Errorf("a user of the configuration: %+v", third.Users)
	}
	raw, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(raw), "hunter2") {
		t.Errorf("a configured password is in the file: %s, %v", raw, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	client := func(c account.Client) account.Config {
		cfg := config.Default[account.Config]()
		cfg.Clients = []account.Client{c}
		return cfg
	}
	user := func(u ...account.User) account.Config {
		cfg := config.Default[account.Config]()
		cfg.Users = u
		return cfg
	}
	short := config.Default[account.Config]()
	short.AccessTokenTTL = time.Millisecond
	for name, cfg := range map[string]account.Config{
		"tokens that expire at once": short,
		"a user without a name":      user(account.User{}),
		"a name with a dot":          user(account.User{Name: "a.b"}),
		"two users with one name":    user(account.User{Name: "a"}, account.User{Name: "a"}),
		"a user named like a client": user(account.User{Name: "robot"}),
		"a claim of the issuer":      user(account.User{Name: "a", Claims: map[string]string{"roles": "admin"}}),
		"an unknown grant":           client(account.Client{ID: "x", Grants: []string{"password"}, Audiences: []string{"a"}}),
		"no audience":                client(account.Client{ID: "x"}),
		"an empty audience":          client(account.Client{ID: "x", Audiences: []string{"a"}, ExchangeAudiences: []string{""}}),
		"a public client that exchanges": client(account.Client{
			ID: "x", Public: true, Grants: []string{account.Exchange}, Audiences: []string{"a"},
		}),
		"a public client with a secret": client(account.Client{ID: "x", Public: true, Secret: secret.New("s"), Audiences: []string{"a"}}),
		"a relative redirect":           client(account.Client{ID: "x", Redirects: []string{"/cb"}, Audiences: []string{"a"}}),
	} {
		if _, err := account.Open(
			cfg,
			"http://127.0.0.1:1",
			filepath.Join(t.TempDir(), "f"),
		); err == nil ||
			!strings.Contains(err.Error(), "identity.issuer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
