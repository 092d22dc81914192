package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/sony/gobreaker/v2"

	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/truncate"
)

// Words of RFC 6749 and RFC 8693.
const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	accessType    = "urn:ietf:params:oauth:token-type:access_token"
	refreshType   = "urn:ietf:params:oauth:token-type:refresh_token"
	discovery     = "/.well-known/openid-configuration"
)

// delegation asks for a refresh token of the mesh.
func delegation(user secret.Value) url.Values {
	return url.Values{
		"grant_type": {grantExchange}, "subject_token": {user.Reveal()}, "subject_token_type": {accessType},
		"requested_token_type": {refreshType},
	}
}

// refreshing asks for an access token of the mesh.
func refreshing(refresh secret.Value) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh.Reveal()}}
}

// exchanging asks for a token for a target.
func exchanging(subject secret.Value, t Target) url.Values {
	v := url.Values{
		"grant_type": {grantExchange}, "subject_token": {subject.Reveal()}, "subject_token_type": {accessType},
		"requested_token_type": {accessType},
	}
	for name, value := range map[string]string{"audience": t.Audience, "resource": t.Resource, "scope": strings.Join(t.Scopes, " ")} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// issuer is the token endpoint of an issuer.
type issuer struct {
	cfg     bearer.Issuer
	client  *http.Client
	breaker *gobreaker.CircuitBreaker[*answer]

	mu       sync.Mutex
	endpoint string // once known
}

func newIssuer(cfg bearer.Issuer, deps Deps) *issuer {
	return &issuer{
		cfg: cfg, client: deps.Dialer.Client(egress.Options{Timeout: timeout, MaxResponseBytes: maxAnswer, Once: true}),
		breaker: newBreaker(cfg.Name, deps.Log), endpoint: cfg.Exchange.TokenURL,
	}
}

// ask sends a request to the token endpoint, unless it has failed too often lately. Errors are of *Error.
func (i *issuer) ask(ctx context.Context, form url.Values) (*answer, error) {
	a, err := i.breaker.Execute(func() (*answer, error) { return i.send(ctx, form) })
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return nil, i.resting()
	}
	return a, err
}

// resting is the error while the breaker is open.
func (i *issuer) resting() error {
	return failed(Unreachable, "issuer %q has failed %d times in a row, and is asked again in a few seconds", i.cfg.Name, failures)
}

func (i *issuer) send(ctx context.Context, form url.Values) (*answer, error) {
	endpoint, err := i.tokenURL(ctx)
	if err != nil {
		return nil, err
	}
	req, err := i.request(ctx, endpoint, form)
	if err != nil {
		return nil, err
	}
	status, body, err := i.do(req)
	switch {
	case err != nil:
		return nil, err
	case status >= http.StatusInternalServerError:
		return nil, failed(Unreachable, "issuer %q answered with status %d", i.cfg.Name, status)
	case status != http.StatusOK:
		return nil, i.refusal(status, body)
	}
	a := &answer{issuer: i.cfg.Name}
	if err := json.Unmarshal(body, a); err != nil || a.AccessToken.IsZero() {
		return nil, failed(Wrong, "issuer %q answered without a token", i.cfg.Name) // the body is not quoted: it may hold one
	}
	return a, nil
}

// request returns a request of the mesh's client.
func (i *issuer) request(ctx context.Context, endpoint string, form url.Values) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, failed(Unreachable, "issuer %q: the URL of its endpoint is not valid", i.cfg.Name)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(i.cfg.Exchange.ClientID), url.QueryEscape(i.cfg.Exchange.ClientSecret.Reveal()))
	return req, nil
}

func (i *issuer) do(req *http.Request) (status int, body []byte, err error) {
	resp, err := i.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return 0, nil, failed(Unreachable, "issuer %q cannot be reached: %s", i.cfg.Name, err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil, failed(Unreachable, "issuer %q: its answer broke off", i.cfg.Name)
	}
	return resp.StatusCode, body, nil
}

// ended are the errors that say that what was presented for the user is not accepted, or not any longer.
var ended = []string{"invalid_grant", "invalid_request", "invalid_token"}

// refusal is the error of an answer that says no (RFC 6749, section 5.2; RFC 8693, section 2.2.2).
func (i *issuer) refusal(status int, body []byte) *Error {
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Error == "" {
		said.Error = fmt.Sprintf("status %d", status)
	}
	kind := Refused
	if slices.Contains(ended, said.Error) {
		kind = Ended
	}
	text := fmt.Sprintf("issuer %q refuses: %s", i.cfg.Name, printable(said.Error))
	if said.Description != "" {
		text += " (" + printable(said.Description) + ")"
	}
	return &Error{Kind: kind, Text: text}
}

// printable is a text of an issuer as it may be in messages.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	return truncate.Bytes(text, 200)
}

// tokenURL returns the configured token endpoint, or that of the issuer's metadata.
func (i *issuer) tokenURL(ctx context.Context) (string, error) {
	i.mu.Lock()
	known := i.endpoint
	i.mu.Unlock()
	if known != "" {
		return known, nil
	}
	doc, err := i.metadata(ctx)
	if err != nil {
		return "", err
	}
	if i.cfg.CheckURL(doc.Token) != nil {
		return "", failed(Unreachable, "issuer %q does not say in its metadata where its token endpoint is: "+
			"set identity.issuers[].exchange.token_url", i.cfg.Name)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.endpoint = doc.Token
	return doc.Token, nil
}

// metadata is what an issuer says of its endpoints.
type metadata struct {
	Issuer string `json:"issuer"`
	Token  string `json:"token_endpoint"`
	Revoke string `json:"revocation_endpoint"`
}

// metadata reads the issuer's metadata; it is empty if the issuer has none, or that of another one.
func (i *issuer) metadata(ctx context.Context) (metadata, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(i.cfg.Issuer, "/")+discovery, nil)
	if err != nil {
		return metadata{}, failed(Unreachable, "issuer %q: its URL is not valid", i.cfg.Name)
	}
	status, body, err := i.do(req)
	if err != nil {
		return metadata{}, err
	}
	var doc metadata
	if err := json.Unmarshal(body, &doc); err != nil || status != http.StatusOK || doc.Issuer != i.cfg.Issuer {
		return metadata{}, nil //nolint:nilerr // see above
	}
	return doc, nil
}
