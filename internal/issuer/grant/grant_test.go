package grant

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testwant"
)

// world is a store on a file, with a clock that the test moves.
type world struct {
	*Store
	t    *testing.T
	file string
	at   time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, file: filepath.Join(t.TempDir(), "logins.json"), at: time.Unix(1_800_000_000, 0)}
	w.open("key")
	return w
}

// open opens the store, again as after a restart.
func (w *world) open(key string) {
	w.t.Helper()
	s, err := Open(w.file, secret.New(key), func() time.Time { return w.at })
	testwant.Equal(w.t, "the error of Open", err, nil)
	w.Store = s
}

// login begins a login of alice through a client.
func (w *world) login(client string, change ...func(*Grant)) (Grant, string) {
	w.t.Helper()
	g := Grant{Client: client, Subject: "alice", AuthTime: w.at, Expires: w.at.Add(time.Hour)}
	for _, c := range change {
		c(&g)
	}
	g, refresh, err := w.Begin(g, true)
	testwant.Equal(w.t, "the error of Begin", err, nil)
	return g, refresh
}

func (w *world) rotate(token string) string {
	w.t.Helper()
	_, next, err := w.Rotate(token, "web")
	testwant.Equal(w.t, "the error of Rotate", err, nil)
	return next
}

func TestARefreshTokenIsUsedOnce(t *testing.T) {
	w := newWorld(t)
	g, first := w.login("web")
	second := w.rotate(first)
	testwant.Equal(t, "the owner of a replaced token", testwant.Must(w.Owner(first, "web")).ID, g.ID)
	third := w.rotate(second)
	if first == second || second == third || !strings.HasPrefix(third, prefix) {
		t.Errorf("the tokens are %q, %q and %q", first, second, third)
	}
	_, _, err := w.Rotate(first, "web")
	testwant.Equal(t, "the first one again is a reuse", errors.Is(err, ErrReused), true)
	testwant.Equal(t, "the login goes on", w.Live(g.ID), false)
	_, _, err = w.Rotate(third, "web")
	testwant.Equal(t, "the last one afterwards", errors.Is(err, ErrInvalid), true)
}

func TestRefreshTokensThatAreRefused(t *testing.T) {
	w := newWorld(t)
	g, token := w.login("web")
	mine := func(serial int) string { return prefix + g.ID + "." + strconv.Itoa(serial) + "." + w.mac(g.ID, serial) }
	without, none, err := w.Begin(Grant{Client: "web", Subject: "alice", Expires: w.at.Add(time.Hour)}, false)
	testwant.Equal(t, "the error of a login without one", err, nil)
	testwant.Equal(t, "its token", none, "")
	for name, wrong := range map[string]string{
		"nothing":                       "",
		"without the prefix":            strings.TrimPrefix(token, prefix),
		"without the signature":         token[:strings.LastIndexByte(token, '.')+1],
		"with another serial":           strings.Replace(token, ".1.", ".2.", 1),
		"with a serial that is none":    strings.Replace(token, ".1.", ".x.", 1),
		"with a part more":              token + ".x",
		"signed, but not given out yet": mine(2),
		"signed, of no serial":          mine(0),
		"of a login that has none":      prefix + without.ID + ".1." + w.mac(without.ID, 1),
		"of no login":                   prefix + "grt_x.1." + w.mac("grt_x", 1),
	} {
		if _, _, err := w.Rotate(wrong, "web"); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := w.Owner(wrong, "web"); !errors.Is(err, ErrInvalid) {
			t.Errorf("the owner of one %s: %v", name, err)
		}
	}
	_, _, err = w.Rotate(token, "cli")
	testwant.Equal(t, "by another client", errors.Is(err, ErrInvalid), true)
	testwant.Equal(t, "the right one, which the wrong ones did not end", w.rotate(token) != "", true)
}

func TestLoginsOutliveARestart(t *testing.T) {
	w := newWorld(t)
	g, first := w.login("web")
	second := w.rotate(first)
	testwant.Equal(t, "the error of Revoke", w.Revoke("jti_1", w.at.Add(time.Minute)), nil)
	w.open("key")
	testwant.Equal(t, "the login lives", w.Live(g.ID), true)
	testwant.Equal(t, "the token is revoked", w.IsRevoked("jti_1"), true)
	w.rotate(second)
	w.open("another key")
	_, err := w.Owner(second, "web")
	testwant.Equal(t, "a token with another key", errors.Is(err, ErrInvalid), true)
	raw := string(testwant.Must(os.ReadFile(w.file)))
	if strings.Contains(raw, prefix) {
		t.Errorf("the file holds a refresh token: %s", raw)
	}
}

func TestLoginsEnd(t *testing.T) {
	w := newWorld(t)
	web, token := w.login("web")
	cli, _ := w.login("cli")
	child, _ := w.login("mesh", func(g *Grant) { g.Parent = cli.ID })
	testwant.Equal(t, "the error of End", w.End(web.ID), nil)
	testwant.Equal(t, "the error of a second End", w.End(web.ID), nil)
	for _, tc := range []struct {
		name string
		id   string
		live bool
	}{{"the one that ended", web.ID, false}, {"another one", cli.ID, true}, {"one that depends on that", child.ID, true}} {
		testwant.Equal(t, tc.name, w.Live(tc.id), tc.live)
	}
	_, _, err := w.Rotate(token, "web")
	testwant.Equal(t, "its token", errors.Is(err, ErrInvalid), true)
	testwant.Equal(t, "the error of EndAll", w.EndAll(func(g Grant) bool { return g.Client == "cli" }), nil)
	testwant.Equal(t, "one that depended on another", w.Live(child.ID), false)
	_, ok := w.Get(child.ID)
	testwant.Equal(t, "it can be read", ok, false)
}

func TestLoginsExpire(t *testing.T) {
	w := newWorld(t)
	g, token := w.login("web")
	testwant.Equal(t, "the client has a login", w.HasLogin("web"), true)
	testwant.Equal(t, "another client has one", w.HasLogin("cli"), false)
	w.at = g.Expires.Add(-time.Second)
	token = w.rotate(token)
	w.at = g.Expires
	testwant.Equal(t, "it lives at its end", w.Live(g.ID), false)
	testwant.Equal(t, "the client has a login at its end", w.HasLogin("web"), false)
	_, _, err := w.Rotate(token, "web")
	testwant.Equal(t, "its token", errors.Is(err, ErrInvalid), true)
	w.login("cli")
	w.open("key")
	testwant.Equal(t, "logins in the file", len(w.Grants), 1)
}

func TestRevokedTokensAreForgottenOnceTheyExpired(t *testing.T) {
	w := newWorld(t)
	testwant.Equal(t, "the error", w.Revoke("old", w.at.Add(time.Minute)), nil)
	testwant.Equal(t, "another token", w.IsRevoked("new"), false)
	w.at = w.at.Add(time.Minute)
	testwant.Equal(t, "the error of another one", w.Revoke("new", w.at.Add(time.Minute)), nil)
	testwant.Equal(t, "what is kept", len(w.Revoked), 1)
	testwant.Equal(t, "the new one", w.IsRevoked("new"), true)
}

func TestTheOldestLoginGivesWay(t *testing.T) {
	w := newWorld(t)
	parent, _ := w.login("web")
	w.at = w.at.Add(time.Second)
	child, _ := w.login("mesh", func(g *Grant) { g.Parent = parent.ID })
	for i := range maxGrants - 2 { // in memory: each login writes the file
		id := strconv.Itoa(i)
		w.Grants[id] = &Grant{ID: id, AuthTime: w.at.Add(time.Duration(i+1) * time.Second), Expires: w.at.Add(time.Hour)}
	}
	w.login("web")
	testwant.Equal(t, "logins", len(w.Grants), maxGrants)
	testwant.Equal(t, "the one that depends on another", w.Live(child.ID), false)
	testwant.Equal(t, "the oldest, while one depended on it", w.Live(parent.ID), true)
	w.login("web")
	testwant.Equal(t, "the oldest", w.Live(parent.ID), false)
}

func TestAFileThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	g, token := w.login("web")
	if err := os.RemoveAll(filepath.Dir(w.file)); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.Rotate(token, "web")
	if err == nil || errors.Is(err, ErrInvalid) {
		t.Errorf("it is replaced: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(w.file), 0o700); err != nil {
		t.Fatal(err)
	}
	w.rotate(token) // the caller kept it
	testwant.Equal(t, "the login lives", w.Live(g.ID), true)
}

func TestAFileThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(w.file, secret.New("key"), time.Now)
	if err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("the error is %v", err)
	}
}
