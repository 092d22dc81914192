package bff

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// browser keeps cookies.
type browser struct {
	t   *testing.T
	b   *BFF
	jar http.CookieJar
}

func newBrowser(t *testing.T, b *BFF) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, b, jar}
}

func (w *browser) get(path string) *http.Response {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "https://mesh.example"+path, nil)
	for _, c := range w.jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	out := httptest.NewRecorder()
	if r.URL.Path == CallbackPath {
		w.b.Callback(out, r)
	} else {
		w.b.Login(out, r)
	}
	w.jar.SetCookies(r.URL, out.Result().Cookies())
	return out.Result()
}

// begin opens a tab that is not logged in, and returns the state with which the issuer sends it back.
func (w *browser) begin(returnTo string) string {
	w.t.Helper()
	to, err := w.get("/login?return_to=" + url.QueryEscape(returnTo)).Location()
	if err != nil {
		w.t.Fatal(err)
	}
	return to.Query().Get("state")
}

// back returns whether the browser may come back with a state. No code was given, so the login ends as "You did not log in" at the best.
func (w *browser) back(state string) bool {
	w.t.Helper()
	resp := w.get("/login/callback?error=access_denied&state=" + url.QueryEscape(state))
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode == http.StatusForbidden && strings.Contains(string(text), "You did not log in")
}

func TestTabsLogInInAnyOrder(t *testing.T) {
	for name, order := range map[string][]int{
		"as they began": {0, 1, 2, 3}, "the last first": {3, 2, 1, 0}, "mixed": {2, 0, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newBrowser(t, newGateways(t).all[0])
			var states []string
			for range 4 {
				states = append(states, w.begin("/tab"))
			}
			other := newBrowser(t, w.b)
			for _, n := range order {
				if w.back("made up") || w.back("") || other.back(states[n]) {
					t.Error("a callback of another login is accepted")
				}
				if !w.back(states[n]) {
					t.Errorf("tab %d cannot log in", n)
				}
				if w.back(states[n]) {
					t.Errorf("the attempt of tab %d is good for two tries", n)
				}
			}
		})
	}
}

func TestABrowserKeepsSoManyAttempts(t *testing.T) {
	w := newBrowser(t, newGateways(t).all[0])
	var states []string
	for range maxAttempts + 5 {
		states = append(states, w.begin("/"))
	}
	u := &url.URL{Scheme: "https", Host: "mesh.example", Path: "/"}
	if n := len(w.jar.Cookies(u)); n != maxAttempts {
		t.Errorf("the browser has %d cookies", n)
	}
	for n, state := range slices.Backward(states) {
		if got, want := w.back(state), n >= 5; got != want {
			t.Errorf("attempt %d can log in: %t", n, got)
		}
	}
}
