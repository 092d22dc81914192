// Package credential adds credentials to the requests to APIs and tool servers. Definitions hold references; the values are read from the
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
)

// Kinds of credentials.
const (
	APIKey            = "api_key"
	Basic             = "basic"
	Bearer            = "bearer"
	ClientCredentials = "oauth2_client_credentials" //nolint:gosec // the name of a kind
	// AuthorizationCode is a token of each user, see Owner.UserToken.
	AuthorizationCode = "oauth2_authorization_code"
	// Exchange is a token of each user that the user's issuer exchanged, see Owner.UserToken.
	Exchange = "exchange"
)

// Auth is a credential. All values are references or no secrets.
type Auth struct {
	// Kind is one of the kinds above.
	Kind string `json:"kind,omitempty"`
	// In is "header" or "query" for an API key, and "header" or "body" for a client's credentials. Name is that of an API key's header or
	// parameter.
	In   string `json:"in,omitempty"`
	Name string `json:"name,omitempty"`
	// Secret is the key, the token, the password or the client's secret, as a reference.
	Secret string `json:"secret,omitempty"`
	// Username is that of basic authentication.
	Username string `json:"username,omitempty"`
	// TokenURL, ClientID, Scopes and Audience are those of OAuth 2 client credentials.
	TokenURL string   `json:"token_url,omitempty"`
	ClientID string   `json:"client_id,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Audience string   `json:"audience,omitempty"`
	// AuthorizationURL, RevocationURL, Issuer and Resource are those of OAuth 2 authorization codes.
	AuthorizationURL string `json:"authorization_url,omitempty"`
	RevocationURL    string `json:"revocation_url,omitempty"`
	Issuer           string `json:"issuer,omitempty"`
	Resource         string `json:"resource,omitempty"`
}

// perUser reports whether each user has a token.
func (a Auth) perUser() bool { return a.Kind == AuthorizationCode || a.Kind == Exchange }

// Owner is what credentials belong to.
type Owner struct {
	// Tenant has the stored secrets that it refers to.
	Tenant string
	// ID identifies it in the process, Version its definition: an access token is used for one version only.
	ID, Version string
	// Title begins messages: `source "pets"`; empty if the caller adds it.
	Title string
	// Path is where the definition is in a request, for messages: "source".
	Path string
	// Headers are sent with each request; values may hold references.
	Headers map[string]string
	// Auth is its credential; nil = none.
	Auth *Auth
	// UserToken is the token of the user for whom the request is made, with an Auth of kind AuthorizationCode or
	// Exchange; empty = none is sent.
	UserToken string
}

// Config configures credentials.
type Config struct {
	// Env says which variables may be referenced.
	Env envref.Config
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
	tokens sync.Map // *tokens by key of a client
}

// New returns a Keeper.
func New(cfg Config, dialer Dialer) *Keeper { return &Keeper{cfg: cfg, dialer: dialer} }

// maxToken is the largest answer of a token endpoint, in bytes.
const maxToken = 1 << 20

// Set is the credentials of one owner. It is safe for concurrent use.
type Set struct {
	keeper  *Keeper
	title   string
	headers map[string]string
	auth    *Auth  // with the secret itself
	key     string // of the cached token
	hide    func() func(string) string
}

// For resolves the credentials of an owner. The error is a fault that names the references which cannot be resolved.
func (k *Keeper) For(o Owner) (*Set, error) {
	r := envref.New(k.cfg.Env, o.Tenant)
	set := k.Resolve(r, o)
	if r.Err != nil {
		return nil, r.Err
	}
	if len(r.Wrong) > 0 {
		f := fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION, "%s%s: %s", set.title, r.Wrong[0].Path,
			r.Wrong[0].Message)
		f.Fields = r.Wrong
		return nil, f
	}
	return set, nil
}

// Resolve is For with a resolver of the caller, which has the mistakes and the secrets.
func (k *Keeper) Resolve(r *envref.Resolver, o Owner) *Set {
	set := &Set{keeper: k, headers: map[string]string{}}
	if o.Title != "" {
		set.title = o.Title + ": "
	}
	for name, value := range o.Headers {
		value = r.Resolve(o.Path+".headers."+name, value)
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			r.Refuse(o.Path+".headers."+name, "not a valid HTTP header")
			continue
		}
		set.headers[name] = value
	}
	if o.Auth != nil {
		auth := *o.Auth
		if auth.Kind == AuthorizationCode { // its own secret is for the authorization server only
			auth.Secret = ""
		}
		auth.Secret = r.Resolve(o.Path+".auth.secret", auth.Secret)
		if !httpguts.ValidHeaderFieldValue(auth.Secret) {
			r.Refuse(o.Path+".auth.secret", "its value has characters that a header cannot hold")
		}
		if auth.Kind == Basic {
			encoded := base64.StdEncoding.EncodeToString([]byte(auth.Username + ":" + auth.Secret))
			r.Values, r.Secrets = append(r.Values, encoded), append(r.Secrets, encoded)
		}
		if auth.perUser() && o.UserToken != "" {
			auth.Secret = o.UserToken
			r.Values, r.Secrets = append(r.Values, o.UserToken), append(r.Secrets, o.UserToken)
		}
		set.auth, set.key = &auth, keyOf(o, auth)
	}
	set.hide = sync.OnceValue(func() func(string) string { return envref.Redactor(r.Values) })
	return set
}

// keyOf identifies a client and what it asks for, without revealing its secret.
func keyOf(o Owner, a Auth) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{a.Secret, a.ClientID, a.TokenURL, a.In, a.Audience, strings.Join(a.Scopes, " ")}))
	return fmt.Sprintf("%s/%s/%x", o.ID, o.Version, sum)
}

// Hide removes the secrets from a text, also access tokens.
func (s *Set) Hide(text string) string {
	return s.hide()(s.keeper.issued(s.key).hide(text))
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
	case APIKey:
		if s.auth.In == "query" {
			add := url.QueryEscape(s.auth.Name) + "=" + url.QueryEscape(s.auth.Secret)
			r.URL.RawQuery = strings.Trim(r.URL.RawQuery+"&"+add, "&")
		} else {
			r.Header.Set(s.auth.Name, s.auth.Secret)
		}
	case Basic:
		r.SetBasicAuth(s.auth.Username, s.auth.Secret)
	case Bearer:
		r.Header.Set("Authorization", "Bearer "+s.auth.Secret)
	case AuthorizationCode, Exchange:
		if s.auth.Secret != "" {
			r.Header.Set("Authorization", "Bearer "+s.auth.Secret)
		}
	case ClientCredentials:
		token, err := s.token(r.Context())
		if err != nil {
			return err
		}
		token.SetAuthHeader(r)
	}
	return nil
}

// Refused drops the access token of a request that was refused, unless it was replaced meanwhile. It reports whether another attempt would
// use a new one.
func (s *Set) Refused(r *http.Request) bool {
	if s.auth == nil || s.auth.Kind != ClientCredentials {
		return false
	}
	s.keeper.issued(s.key).drop(r.Header.Get("Authorization"))
	return true
}

// token returns the cached token or requests one; concurrent callers share the request, which continues if one of them gives up.
func (s *Set) token(ctx context.Context) (*oauth2.Token, error) {
	if t := s.keeper.issued(s.key).valid(); t != nil {
		return t, nil
	}
	answer := s.keeper.flight.DoChan(s.key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.keeper.cfg.Timeout)
		defer cancel()
		t, err := s.request(ctx)
		if err == nil {
			s.keeper.keep(s.key, t)
		}
		return t, err
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
	return cfg.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
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
		return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_EGRESS_DENIED, "%stoken endpoint: %s", s.title, text)
	}
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "%sthe token endpoint gave no token: %s", s.title, text)
}

// issued returns the tokens of a client; nil if it has none yet.
func (k *Keeper) issued(key string) *tokens {
	have, _ := k.tokens.Load(key)
	t, _ := have.(*tokens)
	return t
}

func (k *Keeper) keep(key string, token *oauth2.Token) {
	have, _ := k.tokens.LoadOrStore(key, &tokens{})
	if t, ok := have.(*tokens); ok {
		t.add(token)
	}
}

// Forget drops the tokens of an owner.
func (k *Keeper) Forget(ownerID string) {
	k.tokens.Range(func(key, _ any) bool {
		if text, ok := key.(string); ok && strings.HasPrefix(text, ownerID+"/") {
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
