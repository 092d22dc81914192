// Package credential adds the credentials of a source to its requests. Definitions hold references; the values are read from the
// environment of this process when a request is made.
package credential

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Config configures credentials.
type Config struct {
	// EnvAllow lists the variables that sources may refer to; * matches as in file names.
	EnvAllow []string
	// Timeout bounds a request for a token.
	Timeout time.Duration
}

// Dialer returns HTTP clients; *egress.Egress is one.
type Dialer interface {
	Client(opts egress.Options) *http.Client
}

// Keeper resolves credentials, and caches access tokens. It is safe for concurrent use.
type Keeper struct {
	cfg    Config
	dialer Dialer
	flight singleflight.Group
	tokens sync.Map // *oauth2.Token by key of a client
}

// New returns a Keeper.
func New(cfg Config, dialer Dialer) *Keeper { return &Keeper{cfg: cfg, dialer: dialer} }

// maxToken is the largest answer of a token endpoint, in bytes.
const maxToken = 1 << 20

// Set is the credentials of one source.
type Set struct {
	keeper  *Keeper
	source  string
	headers map[string]string
	auth    *store.Auth // with the secret itself
	key     string      // of the cached token
	hide    func(string) string
	issued  string // access token of this request
}

// For resolves the credentials of a source, for one request at a time. The error is a fault that names the references which cannot be
// resolved.
func (k *Keeper) For(s store.Source) (*Set, error) {
	r := envref.New(envref.Config{Allow: k.cfg.EnvAllow, Owner: "registry", Setting: "registry.env_allow"})
	set := &Set{keeper: k, source: s.Name, headers: map[string]string{}}
	for name, value := range s.Spec.Headers {
		value = r.Resolve("source.headers."+name, value)
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			r.Refuse("source.headers."+name, "not a valid HTTP header")
			continue
		}
		set.headers[name] = value
	}
	if s.Spec.Auth != nil {
		auth := *s.Spec.Auth
		auth.Secret = r.Resolve("source.auth.secret", auth.Secret)
		if !httpguts.ValidHeaderFieldValue(auth.Secret) {
			r.Refuse("source.auth.secret", "its value has characters that a header cannot hold")
		}
		set.auth = &auth
		sum := sha256.Sum256([]byte(auth.Secret))
		set.key = fmt.Sprintf("%s/%s/%d/%x", s.Tenant, s.ID, s.Revision, sum)
	}
	if len(r.Wrong) > 0 {
		f := fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION, "source %q: %s: %s", s.Name, r.Wrong[0].Path,
			r.Wrong[0].Message)
		f.Fields = r.Wrong
		return nil, f
	}
	if set.auth != nil && set.auth.Kind == store.Basic {
		r.Values = append(r.Values, base64.StdEncoding.EncodeToString([]byte(set.auth.Username+":"+set.auth.Secret)))
	}
	set.hide = envref.Redactor(r.Values)
	return set, nil
}

// Hide removes the secrets from a text.
func (s *Set) Hide(text string) string {
	if s.issued != "" {
		text = strings.ReplaceAll(text, s.issued, "***")
	}
	return s.hide(text)
}

// Authorize adds the credentials to a request. The error says why there are none, and that nothing was sent.
func (s *Set) Authorize(r *http.Request) error {
	for name, value := range s.headers {
		if r.Header.Set(name, value); http.CanonicalHeaderKey(name) == "Host" {
			r.Host = value
		}
	}
	if s.auth == nil {
		return nil
	}
	switch s.auth.Kind {
	case store.APIKey:
		if s.auth.In == "query" {
			add := url.QueryEscape(s.auth.Name) + "=" + url.QueryEscape(s.auth.Secret)
			r.URL.RawQuery = strings.Trim(r.URL.RawQuery+"&"+add, "&")
		} else {
			r.Header.Set(s.auth.Name, s.auth.Secret)
		}
	case store.Basic:
		r.SetBasicAuth(s.auth.Username, s.auth.Secret)
	case store.Bearer:
		r.Header.Set("Authorization", "Bearer "+s.auth.Secret)
	case store.ClientCredentials:
		token, err := s.token(r.Context())
		if err != nil {
			return err
		}
		s.issued = token.AccessToken
		token.SetAuthHeader(r)
	}
	return nil
}

// Refused drops the cached token, since the API refused it. It reports whether another attempt would use a new one.
func (s *Set) Refused() bool {
	if s.auth == nil || s.auth.Kind != store.ClientCredentials {
		return false
	}
	s.keeper.tokens.Delete(s.key)
	return true
}

// early is how long before its expiry a token is replaced: the clocks of both sides differ.
const early = 30 * time.Second

// token returns the cached token or requests one; concurrent callers share the request, which continues if one of them gives up.
func (s *Set) token(ctx context.Context) (*oauth2.Token, error) {
	if t, ok := s.keeper.tokens.Load(s.key); ok {
		if token, ok := t.(*oauth2.Token); ok && (token.Expiry.IsZero() || time.Until(token.Expiry) > early) {
			return token, nil
		}
	}
	answer := s.keeper.flight.DoChan(s.key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.keeper.cfg.Timeout)
		defer cancel()
		return s.request(ctx)
	})
	select {
	case <-ctx.Done():
		return nil, s.unavailable(ctx.Err())
	case a := <-answer:
		token, ok := a.Val.(*oauth2.Token)
		if a.Err != nil || !ok {
			return nil, s.unavailable(a.Err)
		}
		return token, nil
	}
}

func (s *Set) request(ctx context.Context) (*oauth2.Token, error) {
	cfg := clientcredentials.Config{
		ClientID: s.auth.ClientID, ClientSecret: s.auth.Secret, TokenURL: s.auth.TokenURL, Scopes: s.auth.Scopes,
		AuthStyle: oauth2.AuthStyleInHeader, // said, since the library otherwise tries both
	}
	if s.auth.In == "body" {
		cfg.AuthStyle = oauth2.AuthStyleInParams
	}
	if s.auth.Audience != "" {
		cfg.EndpointParams = url.Values{"audience": {s.auth.Audience}}
	}
	client := s.keeper.dialer.Client(egress.Options{MaxResponseBytes: maxToken})
	token, err := cfg.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err != nil {
		return nil, err
	}
	s.keeper.tokens.Store(s.key, token)
	return token, nil
}

// unavailable is the fault of a token that could not be had.
func (s *Set) unavailable(err error) error {
	text := "no token came in time"
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		text = fmt.Sprintf("status %d %s %s", refused.Response.StatusCode, refused.ErrorCode, refused.ErrorDescription)
	} else if u, ok := errors.AsType[*url.Error](err); ok {
		text = u.Err.Error()
	} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		text = err.Error()
	}
	text = strings.TrimSpace(truncate.Bytes(strings.ToValidUTF8(s.Hide(text), "\uFFFD"), 300))
	if errors.Is(err, egress.ErrDenied) {
		return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_EGRESS_DENIED, "source %q: token endpoint: %s", s.source, text)
	}
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: the token endpoint gave no token: %s", s.source, text)
}

// Forget drops the tokens of a source.
func (k *Keeper) Forget(s store.Source) {
	prefix := s.Tenant + "/" + s.ID + "/"
	k.tokens.Range(func(key, _ any) bool {
		if text, ok := key.(string); ok && strings.HasPrefix(text, prefix) {
			k.tokens.Delete(key)
		}
		return true
	})
}

// Origin returns scheme, host and port of a URL; empty if it is not absolute.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + host + ":" + port
}

// Home is the origin that credentials of a source are for: that of its base URL, else that of its URL.
func Home(s store.Spec) string {
	if s.BaseURL != "" {
		return Origin(s.BaseURL)
	}
	return Origin(s.URL)
}
