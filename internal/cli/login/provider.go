package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Limits of calls to an issuer.
const (
	callTimeout = 20 * time.Second
	maxAnswer   = 1 << 20
)

// metadata is what discovery tells about an issuer.
type metadata struct {
	Issuer   string `json:"issuer"`
	Token    string `json:"token_endpoint"`
	Device   string `json:"device_authorization_endpoint"`
	Revoke   string `json:"revocation_endpoint"`
	document string
}

// web calls issuers. Close it. Calls are bounded by their contexts: the oauth2 library leaves the body of a device authorization open, and
// with it the timer of a client that has a timeout.
type web struct {
	egress *egress.Egress
	http   *http.Client
}

func newWeb() (*web, error) {
	e, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		return nil, fmt.Errorf("calls to the issuer: %w", err)
	}
	return &web{egress: e, http: e.Client(egress.Options{MaxResponseBytes: maxAnswer})}, nil
}

// close closes idle connections.
func (w *web) close() { w.egress.CloseIdle() }

// context makes the oauth2 library use our client.
func (w *web) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, w.http)
}

// discover reads the metadata of an issuer, which must be the issuer's own and name safe endpoints.
func (w *web) discover(ctx context.Context, issuer string) (metadata, error) {
	m := metadata{document: strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"}
	if err := safe(issuer); err != nil {
		return m, fmt.Errorf("issuer: %w", err)
	}
	if err := w.get(ctx, m.document, &m); err != nil {
		return m, err
	}
	if m.Issuer != issuer {
		return m, fmt.Errorf("%s is of issuer %q, not %q: use the issuer's exact name in --issuer", m.document, m.Issuer, issuer)
	}
	if m.Device == "" || m.Token == "" {
		return m, fmt.Errorf("the issuer %s has no device flow (RFC 8628): enable it there", issuer)
	}
	for _, endpoint := range []string{m.Token, m.Device, m.Revoke} {
		if err := safe(endpoint); endpoint != "" && err != nil {
			return m, fmt.Errorf("%s: %w", m.document, err)
		}
	}
	return m, nil
}

// issuerOf asks a server which issuer it trusts (RFC 9728).
func (w *web) issuerOf(ctx context.Context, server string) (string, error) {
	var doc struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := w.get(ctx, server+"/.well-known/oauth-protected-resource", &doc); err != nil {
		if e := fault.As(err); e != nil && e.Code == codes.NotFound {
			return "", fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_UNSPECIFIED, "%s accepts no logins, or does not say whose", server).
				Hint("Name the issuer with --issuer. A server accepts those in identity.issuers; 'windlass up' runs one, unless that is off.")
		}
		return "", err
	}
	switch len(doc.Servers) {
	case 0:
		return "", fmt.Errorf("%s names no issuer: use --issuer", server)
	case 1:
		return doc.Servers[0], nil
	}
	return "", fmt.Errorf("%s accepts several issuers; choose one with --issuer: %s", server, strings.Join(doc.Servers, ", "))
}

// get reads a JSON document.
func (w *web) get(ctx context.Context, address string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return unreachable(ctx, address, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return unreachable(ctx, address, err)
	case resp.StatusCode == http.StatusNotFound:
		return fault.NotFound("%s does not exist", address)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %s", address, resp.Status)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s is not the JSON document that it should be: %w", address, err)
	}
	return nil
}

func unreachable(ctx context.Context, address string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "no answer from %s", address).Cause(err).
		Hint("Check that it runs, and the address.")
}

// safe reports an error for a URL over which a token would travel in clear.
func safe(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return fmt.Errorf("%q is no URL", address)
	case u.Scheme == "https" || u.Scheme == "http" && onThisMachine(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%q is not encrypted: a token sent there could be read on the way; use https", address)
}

func onThisMachine(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// revoke tells the issuer that a login is over.
func (w *web) revoke(ctx context.Context, l Login) error {
	if l.RevokeURL == "" {
		return nil
	}
	token, hint := l.Refresh, "refresh_token"
	if token.IsZero() {
		token, hint = l.Access, "access_token"
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	form := url.Values{"token": {token.Reveal()}, "token_type_hint": {hint}, "client_id": {l.Client}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("%s: %w", l.RevokeURL, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := w.http.Do(req)
	if err != nil {
		return unreachable(ctx, l.RevokeURL, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", l.RevokeURL, resp.Status)
	}
	return nil
}
