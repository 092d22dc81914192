package bff

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

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

// one returns the value of a cookie. Two of one name are refused: one of them is not ours.
func one(r *http.Request, name string) (value string, present bool) {
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

// owner binds what is encrypted to its use.
const attemptOwner = "attempt"

func (b *BFF) keepAttempt(w http.ResponseWriter, a attempt) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err //nolint:wrapcheck // strings always encode
	}
	sealed := b.box.Seal(secret.New(string(text)), attemptOwner)
	b.names.set(w, b.names.attempt, base64.RawURLEncoding.EncodeToString(sealed), attemptTime)
	return nil
}

var errNoAttempt = errors.New("no login is under way in this browser")

// takeAttempt returns the login under way, and removes it: it is good for one try.
func (b *BFF) takeAttempt(w http.ResponseWriter, r *http.Request) (attempt, error) {
	var a attempt
	value, present := one(r, b.names.attempt)
	if !present {
		return a, errNoAttempt
	}
	b.names.set(w, b.names.attempt, "", 0)
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return a, errNoAttempt
	}
	text, err := b.box.Open(sealed, attemptOwner)
	if err != nil || json.Unmarshal([]byte(text.Reveal()), &a) != nil || time.Now().After(a.Expires) {
		return attempt{}, errNoAttempt
	}
	return a, nil
}
