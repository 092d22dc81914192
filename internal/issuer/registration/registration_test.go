package registration

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testwant"
)

func TestIDsThatAreDocuments(t *testing.T) {
	for id, want := range map[string]bool{
		"https://app.example.com/client.json":      true,
		"https://app.example.com:8443/a/b":         true,
		"https://app.example.com/client?v=1":       true,
		"http://app.example.com/client.json":       false,
		"https://app.example.com":                  false,
		"https://app.example.com/":                 false,
		"https://app.example.com/a/../b":           false,
		"https://app.example.com/./b":              false,
		"https://app.example.com/a#b":              false,
		"https://eve@app.example.com/client.json":  false,
		"HTTPS://app.example.com/client.json":      false, // another id of the same document
		"https:///client.json":                     false,
		"dyn.abc":                                  false,
		"":                                         false,
		"https://a/" + strings.Repeat("x", maxID):  false,
		"https://app.example.com/%zz":              false,
		"https://app.example.com/cl ient":          false,
		"https://app.example.com/%2e%2e/client.js": false,
	} {
		testwant.Equal(t, id, IsDocument(id), want)
	}
}

func TestHowLongADocumentIsGood(t *testing.T) {
	for control, want := range map[string]time.Duration{
		"":                            defaultAge,
		"public":                      defaultAge,
		"max-age=1800":                30 * time.Minute,
		"public, Max-Age=1800":        30 * time.Minute,
		`max-age="1800"`:              30 * time.Minute,
		"max-age=1":                   minAge,
		"max-age=-5":                  minAge,
		"max-age=99999999":            maxAge,
		"max-age=9999999999999":       maxAge, // more than a duration can hold
		"max-age=soon":                defaultAge,
		"no-store":                    minAge,
		"no-cache, max-age=1800":      minAge,
		"max-age=1800, no-cache":      minAge,
		"max-age=1800,no-store":       minAge,
		"s-maxage=1800, min-fresh=10": defaultAge,
	} {
		testwant.Equal(t, control, ageOf(control), want)
	}
}

func TestRedirectsOfThisMachine(t *testing.T) {
	for uri, want := range map[string]string{
		"http://127.0.0.1/cb":              "http://127.0.0.1/cb",
		"http://127.0.0.1:4711/cb":         "http://127.0.0.1/cb",
		"http://127.8.8.8/cb?x=1":          "http://127.8.8.8/cb?x=1",
		"http://localhost:1/":              "http://localhost/",
		"http://[::1]:4711/cb":             "http://[::1]/cb",
		"https://127.0.0.1/cb":             "",
		"http://127.0.0.1.example.com/cb":  "",
		"http://localhost.example.com/cb":  "",
		"http://10.0.0.1/cb":               "",
		"http://[::ffff:127.0.0.1]/cb":     "",
		"http://0.0.0.0/cb":                "",
		"http://a@127.0.0.1/cb":            "",
		"http://127.0.0.1/cb#x":            "",
		"custom:/cb":                       "",
		"http:opaque":                      "",
		"http://127.0.0.1/%zz":             "",
		"http://127.0.0.1/" + long("x"):    "",
		"http://LOCALHOST/cb":              "",
		"javascript://127.0.0.1/%0aalert1": "",
	} {
		got, ok := loopback(uri)
		testwant.Equal(t, uri, got, want)
		testwant.Equal(t, uri+" is one", ok, want != "")
	}
}

func long(s string) string { return strings.Repeat(s, maxRedirect) }

const local = "http://127.0.0.1/cb"

func TestMetadata(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    Metadata
		code string
	}{
		{name: "only a redirect", m: Metadata{Redirects: []string{local}}},
		{name: "one of several redirects", m: Metadata{Redirects: []string{"https://app.example.com/cb", local}}},
		{name: "no redirect", code: "invalid_redirect_uri"},
		{name: "only those of others", m: Metadata{Redirects: []string{"https://app.example.com/cb"}}, code: "invalid_redirect_uri"},
		{name: "too many redirects", m: Metadata{Redirects: slices.Repeat([]string{local}, maxRedirects+1)}, code: "invalid_redirect_uri"},
		{name: "the longest name", m: Metadata{Name: strings.Repeat("ü", maxName), Redirects: []string{local}}},
		{name: "a longer name", m: Metadata{Name: strings.Repeat("ü", maxName+1)}, code: "invalid_client_metadata"},
		{name: "a name with a control", m: Metadata{Name: "a\nb"}, code: "invalid_client_metadata"},
		{name: "a name that turns text", m: Metadata{Name: "a\u202eb"}, code: "invalid_client_metadata"},
		{name: "a name in spaces", m: Metadata{Name: " a"}, code: "invalid_client_metadata"},
		{name: "a name that is no text", m: Metadata{Name: "\xff"}, code: "invalid_client_metadata"},
		{name: "without the code grant", m: Metadata{GrantTypes: []string{"refresh_token"}}, code: "invalid_client_metadata"},
		{name: "another response", m: Metadata{ResponseTypes: []string{"token"}}, code: "invalid_client_metadata"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := tc.m.accept()
			wrong, _ := errors.AsType[*Error](err)
			if (err == nil) != (tc.code == "") || wrong != nil && wrong.Code != tc.code {
				t.Errorf("the error is %v, want %s", err, tc.code)
			}
		})
	}
	c, kept, err := Metadata{
		Name: "App", GrantTypes: []string{"authorization_code", "refresh_token"},
		Redirects: []string{"http://127.0.0.1:2/cb", "http://127.0.0.1:1/cb", "http://localhost/cb", "https://app.example.com/cb"},
	}.accept()
	testwant.Equal(t, "the error", err, nil)
	testwant.Equal(t, "the client", c, Client{Name: "App", Refresh: true, Redirects: []string{local, "http://localhost/cb"}})
	testwant.Equal(t, "the redirects as they were given", kept,
		[]string{"http://127.0.0.1:2/cb", "http://127.0.0.1:1/cb", "http://localhost/cb"})
}

func TestWhoVouchesForAName(t *testing.T) {
	for id, want := range map[string]string{"https://app.example.com/c": "app.example.com", "dyn.abc": "", "%zz": ""} {
		testwant.Equal(t, id, Client{ID: id}.Host(), want)
	}
}

// world is a store on a file, with a clock that the test moves.
type world struct {
	*Store
	file  string
	at    time.Time
	inUse map[string]bool
}

func newWorld(t *testing.T, documents *http.Client) *world {
	t.Helper()
	w := &world{file: filepath.Join(t.TempDir(), "clients.json"), at: time.Unix(1_800_000_000, 0), inUse: map[string]bool{}}
	w.open(t, documents)
	return w
}

func (w *world) open(t *testing.T, documents *http.Client) {
	t.Helper()
	s, err := Open(w.file, Deps{
		Client: documents, InUse: func(id string) bool { return w.inUse[id] }, Now: func() time.Time { return w.at },
	})
	testwant.Equal(t, "the error of Open", err, nil)
	w.Store = s
}

func (w *world) register(t *testing.T) Client {
	t.Helper()
	w.at = w.at.Add(every)
	c, _, err := w.Register(Metadata{Name: "App", Redirects: []string{local}})
	testwant.Equal(t, "the error of Register", err, nil)
	return c
}

func TestRegistrationsAreKept(t *testing.T) {
	w := newWorld(t, nil)
	c := w.register(t)
	if !strings.HasPrefix(c.ID, prefix) || w.register(t).ID == c.ID {
		t.Errorf("the id is %q", c.ID)
	}
	w.open(t, nil)
	again, ok := w.Client(c.ID)
	testwant.Equal(t, "it is known after a restart", ok, true)
	testwant.Equal(t, "its time", again.Since.Equal(c.Since), true)
	testwant.Equal(t, "the mode of the file", testwant.Must(os.Stat(w.file)).Mode().Perm(), 0o600)
	if err := os.WriteFile(w.file, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(w.file, Deps{}); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestRegistrationsHaveAPace(t *testing.T) {
	w := newWorld(t, nil)
	m := Metadata{Redirects: []string{local}}
	for range burst {
		if _, _, err := w.Register(m); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := w.Register(m)
	testwant.Equal(t, "one more", err, ErrBusy)
	w.register(t)
}

func TestTheOldestUnusedClientGivesWay(t *testing.T) {
	w := newWorld(t, nil)
	first, second := w.register(t), w.register(t)
	w.inUse[first.ID] = true
	for i := range maxClients - 2 { // in memory: each registration writes the file
		id := fmt.Sprint("dyn.", i)
		w.clients[id] = Client{ID: id, Since: w.at.Add(time.Hour)}
	}
	w.register(t)
	_, ok := w.Client(first.ID)
	testwant.Equal(t, "the oldest, which is used", ok, true)
	_, ok = w.Client(second.ID)
	testwant.Equal(t, "the next one", ok, false)
	for id := range w.clients {
		w.inUse[id] = true
	}
	w.at = w.at.Add(every)
	_, _, err := w.Register(Metadata{Redirects: []string{local}})
	testwant.Equal(t, "one more where all are used", err, ErrFull)
}

func TestAClientThatCannotBeKeptIsNone(t *testing.T) {
	w := newWorld(t, nil)
	old := w.register(t)
	if err := os.RemoveAll(filepath.Dir(w.file)); err != nil {
		t.Fatal(err)
	}
	w.at = w.at.Add(every)
	_, _, err := w.Register(Metadata{Redirects: []string{local}})
	if err == nil || !strings.Contains(err.Error(), "keep the registered clients") {
		t.Errorf("the error is %v", err)
	}
	testwant.Equal(t, "clients", len(w.clients), 1)
	_, ok := w.Client(old.ID)
	testwant.Equal(t, "the one of before", ok, true)
}

// documents serves one document at /app, and counts how often.
type documents struct {
	*httptest.Server
	id, body, control, media string
	status, served           int
}

func newDocuments(t *testing.T) *documents {
	t.Helper()
	d := &documents{media: "application/json", status: http.StatusOK}
	d.Server = httptest.NewTLSServer(d)
	t.Cleanup(d.Close)
	d.id = d.URL + "/app"
	d.body = `{"client_id":"` + d.id + `","client_name":"App","redirect_uris":["` + local + `"]}`
	return d
}

func (d *documents) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	d.served++
	w.Header().Set("Content-Type", d.media)
	w.Header().Set("Cache-Control", d.control)
	w.WriteHeader(d.status)
	_, _ = w.Write([]byte(d.body))
}

func TestADocumentIsFetchedWhenItIsOld(t *testing.T) {
	d := newDocuments(t)
	d.control = "max-age=1800"
	w := newWorld(t, d.Client())
	resolve := func(after time.Duration, served int) {
		t.Helper()
		w.at = w.at.Add(after)
		c, err := w.Resolve(t.Context(), d.id)
		testwant.Equal(t, "the error", err, nil)
		testwant.Equal(t, "the name", c.Name, "App")
		testwant.Equal(t, "documents that were fetched", d.served, served)
	}
	resolve(0, 1)
	resolve(30*time.Minute-time.Second, 1)
	resolve(time.Second, 2)
	d.status = http.StatusNotFound
	resolve(time.Minute, 2)
	w.at = w.at.Add(time.Hour)
	_, err := w.Resolve(t.Context(), d.id)
	testwant.Equal(t, "one that is gone is unknown", errors.Is(err, ErrUnknown), true)
}

func TestDocumentsThatAreRefused(t *testing.T) {
	for name, change := range map[string]func(*documents){
		"an error":          func(d *documents) { d.status = http.StatusInternalServerError },
		"a page":            func(d *documents) { d.media = "text/html" },
		"no JSON":           func(d *documents) { d.body = "{" },
		"the id of another": func(d *documents) { d.body = strings.Replace(d.body, "/app", "/other", 1) },
		"no name":           func(d *documents) { d.body = strings.Replace(d.body, `"App"`, `""`, 1) },
		"a secret":          func(d *documents) { d.body = strings.Replace(d.body, "{", `{"client_secret":"x",`, 1) },
		"a client that signs": func(d *documents) {
			d.body = strings.Replace(d.body, "{", `{"token_endpoint_auth_method":"private_key_jwt",`, 1)
		},
		"other redirects": func(d *documents) { d.body = strings.Replace(d.body, local, "https://app.example.com/cb", 1) },
		"too large":       func(d *documents) { d.body += strings.Repeat(" ", MaxDocument) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDocuments(t)
			change(d)
			w := newWorld(t, d.Client())
			c, err := w.Resolve(t.Context(), d.id)
			if !errors.Is(err, ErrUnknown) || c.ID != "" {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	d := newDocuments(t)
	d.media = "application/client+json; charset=utf-8"
	if _, err := newWorld(t, d.Client()).Resolve(t.Context(), d.id); err != nil {
		t.Errorf("a type of JSON: %v", err)
	}
}
