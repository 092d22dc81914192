package gemini

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// maxMessage is the maximum length of Google's words in an error, in characters.
const maxMessage = 200

// scope is that of the tokens of Vertex AI.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// account is the key of a service account, as Google writes it.
type account struct {
	Type       string `json:"type"`
	Email      string `json:"client_email"`
	PrivateKey string `json:"private_key"`
	KeyID      string `json:"private_key_id"`
	TokenURL   string `json:"token_uri"`
}

// isAccount reports whether a key is that of a service account.
func isAccount(key secret.Value) bool { return strings.HasPrefix(strings.TrimSpace(key.Reveal()), "{") }

// accounts gets tokens for service accounts, and keeps those of the account that was used last.
type accounts struct {
	http *http.Client
	own  secret.Value // the provider's own key
	lost *losses

	mu     sync.Mutex
	key    secret.Value
	tokens oauth2.TokenSource
}

// googleHost is where tokens of service accounts come from.
const googleHost = "oauth2.googleapis.com"

// tokenTimeout bounds a request for a token.
const tokenTimeout = 15 * time.Second

func newAccounts(client *http.Client, own secret.Value) *accounts {
	if client == nil {
		return &accounts{} // refused later
	}
	bounded := *client
	lost := &losses{next: client.Transport}
	bounded.Timeout, bounded.Transport = tokenTimeout, lost
	return &accounts{http: &bounded, own: own, lost: lost}
}

// sign adds a token to a request.
func (a *accounts) sign(r *http.Request, key secret.Value) error {
	tokens, err := a.of(key)
	if err != nil {
		return err
	}
	token, err := fetch(r.Context(), tokens)
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		return tokenError(refused)
	}
	if lost := a.lost.last.Swap(nil); err != nil && lost != nil {
		return *lost
	}
	if err != nil {
		return err
	}
	token.SetAuthHeader(r)
	return nil
}

// keyErrors are what Google answers if the account does not exist, or the key is not its own.
var keyErrors = regexp.MustCompile(`invalid_grant|invalid_client|unauthorized_client|access_denied`)

// tokenError returns the error of a refused request for a token.
func tokenError(refused *oauth2.RetrieveError) error {
	f := provider.ReadFailure(refused.Body)
	f.Status, f.RetryAfter = refused.Response.StatusCode, provider.RetryAfter(refused.Response.Header, time.Now())
	if f.Status < http.StatusInternalServerError && keyErrors.Match(refused.Body) {
		return badKey("Google refused the service account: %s", truncate.Chars(f.Message, maxMessage)).
			Hint("Check its key, and that the account exists.")
	}
	f.Message = "no token for the service account: " + f.Message
	return &provider.RefusedError{Failure: f}
}

func badKey(format string, args ...any) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, format, args...).Cause(provider.ErrKey)
}

// losses is a transport that keeps its last error: the library that gets tokens does not.
type losses struct {
	next http.RoundTripper
	last atomic.Pointer[error]
}

// RoundTrip implements http.RoundTripper.
func (l *losses) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err != nil {
		l.last.Store(&err)
	}
	return resp, err
}

// fetch returns a token, or an error when the context ends: the source itself knows no context.
func fetch(ctx context.Context, tokens oauth2.TokenSource) (*oauth2.Token, error) {
	type result struct {
		token *oauth2.Token
		err   error
	}
	got := make(chan result, 1)
	go func() {
		token, err := tokens.Token()
		got <- result{token, err}
	}()
	select {
	case r := <-got:
		return r.token, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *accounts) of(key secret.Value) (oauth2.TokenSource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tokens != nil && a.key.Equal(key) {
		return a.tokens, nil
	}
	var read account
	if json.Unmarshal([]byte(key.Reveal()), &read) != nil || read.Type != "service_account" || read.Email == "" || read.PrivateKey == "" ||
		read.TokenURL == "" {
		return nil, badKey("the key is no key of a service account").
			Hint("Write a key of the Gemini API, or the JSON of a service account's key.")
	}
	// Callers must not choose which hosts the mesh calls.
	if u, err := url.Parse(read.TokenURL); !a.own.Equal(key) && (err != nil || u.Scheme != "https" || u.Host != googleHost) {
		return nil, badKey("the token_uri of the key is not at %s", googleHost).Hint("Send the key of a service account as Google writes it.")
	}
	if !isPrivate(read.PrivateKey) {
		return nil, badKey("the private key of the service account cannot be read").Hint("Write the JSON of its key as Google made it.")
	}
	cfg := jwt.Config{
		Email: read.Email, PrivateKey: []byte(read.PrivateKey), PrivateKeyID: read.KeyID, Scopes: []string{scope}, TokenURL: read.TokenURL,
	}
	a.key, a.tokens = key, cfg.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, a.http))
	return a.tokens, nil
}

// isPrivate reports whether a text is a private key: without one, the library fails as if Google could not be reached.
func isPrivate(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	_, pkcs8 := x509.ParsePKCS8PrivateKey(block.Bytes)
	_, pkcs1 := x509.ParsePKCS1PrivateKey(block.Bytes)
	return pkcs8 == nil || pkcs1 == nil
}
