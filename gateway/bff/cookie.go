package bff

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/seal"
	"github.com/windlass-dev/windlass/libs/secret"
)

// attemptTime is how long a person may take to log in.
const attemptTime = 15 * time.Minute

// cookieNames are the names of our cookies. On https they have the prefix __Host-, with which browsers accept no cookie that another host,
// a subdomain or an unencrypted page has set. Browsers do not tell ports of a host apart, so on loopback the port is in the name.
type cookieNames struct {
	secure         bool
	login, attempt string
}

func namesFor(base *url.URL) cookieNames {
	if base.Scheme == "https" {
		return cookieNames{true, "__Host-windlass", "__Host-windlass-attempt"}
	}
	return cookieNames{false, "windlass-" + base.Port(), "windlass-attempt-" + base.Port()}
}

// set sets a cookie; an empty value removes it.
func (n cookieNames) set(w http.ResponseWriter, name, value string, age time.Duration) {
	seconds := int(age.Seconds())
	if value == "" {
		seconds = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the page is; http is for loopback only
		Name: name, Value: value, Path: "/", MaxAge: seconds, Secure: n.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// cookieValue returns the value of a cookie. Two of one name are refused: one of them is not ours.
func cookieValue(r *http.Request, name string) (value string, present bool) {
	all := r.CookiesNamed(name)
	switch len(all) {
	case 0:
		return "", false
	case 1:
		return all[0].Value, true
	}
	return "", true
}

// newSecret returns 256 random bits, as text.
func newSecret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// idOf returns the name of a login in the store.
func idOf(cookie string) []byte {
	id := sha256.Sum256([]byte(cookie))
	return id[:]
}

// attempt is a login under way, which the browser keeps, encrypted.
type attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	ReturnTo string    `json:"return_to"`
	Expires  time.Time `json:"expires"`
}

const (
	// attemptOwner binds what is encrypted to its use.
	attemptOwner = "attempt"
	// maxAttempts is the number of logins that one browser may have under way: each is a cookie that comes with every request.
	maxAttempts = 20
	// stateInName is the number of characters of a cookie's name that tell attempts apart.
	stateInName = 16
)

// attemptName returns the name of an attempt's cookie: each tab has its own.
func (n cookieNames) attemptName(state string) string {
	sum := sha256.Sum256([]byte(state))
	return n.attempt + "-" + base64.RawURLEncoding.EncodeToString(sum[:])[:stateInName]
}

func (b *BFF) keepAttempt(w http.ResponseWriter, r *http.Request, a attempt) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	b.dropAttempts(w, r)
	sealed := b.box.Seal(secret.New(string(text)), attemptOwner)
	b.names.set(w, b.names.attemptName(a.State), base64.RawURLEncoding.EncodeToString(sealed), attemptTime)
	return nil
}

// dropAttempts removes the attempts that have ended, and the oldest of those that are too many with another one.
func (b *BFF) dropAttempts(w http.ResponseWriter, r *http.Request) {
	type kept struct {
		name    string
		expires time.Time
	}
	var all []kept
	for _, c := range r.Cookies() {
		if !strings.HasPrefix(c.Name, b.names.attempt+"-") {
			continue
		}
		a, err := openAttempt(b.box, c.Value)
		if err != nil {
			b.names.set(w, c.Name, "", 0)
			continue
		}
		all = append(all, kept{c.Name, a.Expires})
	}
	slices.SortFunc(all, func(x, y kept) int { return x.expires.Compare(y.expires) })
	for _, old := range all[:max(0, len(all)-maxAttempts+1)] {
		b.names.set(w, old.name, "", 0)
	}
}

var errNoAttempt = errors.New("no such login is under way in this browser")

// openAttempt decrypts the cookie of an attempt.
func openAttempt(box *seal.Box, value string) (a attempt, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return a, errNoAttempt
	}
	text, err := box.Open(sealed, attemptOwner)
	if err != nil || json.Unmarshal([]byte(text.Reveal()), &a) != nil || time.Now().After(a.Expires) {
		return attempt{}, errNoAttempt
	}
	return a, nil
}

// takeAttempt returns the login under way to which a callback belongs, and removes it: it is good for one try. Other attempts stay.
func (b *BFF) takeAttempt(w http.ResponseWriter, r *http.Request) (attempt, error) {
	states := r.URL.Query()["state"]
	if len(states) != 1 {
		return attempt{}, errNoAttempt
	}
	name := b.names.attemptName(states[0])
	value, _ := cookieValue(r, name)
	a, err := openAttempt(b.box, value)
	if err != nil || subtle.ConstantTimeCompare([]byte(states[0]), []byte(a.State)) != 1 {
		return attempt{}, errNoAttempt
	}
	b.names.set(w, name, "", 0)
	return a, nil
}
