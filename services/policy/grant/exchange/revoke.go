package exchange

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/windlass-dev/windlass/libs/secret"
)

// Revoke has an issuer revoke a refresh token of the mesh (RFC 7009). It does nothing if the issuer's metadata names no revocation
// endpoint.
func (c *Client) Revoke(ctx context.Context, issuer string, refresh secret.Value) error {
	i, err := c.issuer(issuer)
	if err != nil {
		return err
	}
	_, err = i.breaker.Execute(func() (*answer, error) { return nil, i.revoke(ctx, refresh) })
	return err //nolint:wrapcheck // it is of this package, or of the breaker, and only logged
}

func (i *issuer) revoke(ctx context.Context, refresh secret.Value) error {
	endpoint, err := i.revocationURL(ctx)
	if err != nil || endpoint == "" {
		return err
	}
	form := url.Values{"token": {refresh.Reveal()}, "token_type_hint": {"refresh_token"}}
	req, err := i.request(ctx, endpoint, form)
	if err != nil {
		return err
	}
	status, _, err := i.do(req)
	if err == nil && status != http.StatusOK {
		err = failed(Refused, "issuer %q answered the revocation of a token with status %d", i.cfg.Name, status)
	}
	return err
}

// revocationURL returns the revocation endpoint of the issuer's metadata; empty if it names none.
func (i *issuer) revocationURL(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(i.cfg.Issuer, "/")+discovery, nil)
	if err != nil {
		return "", failed(Unreachable, "issuer %q: its URL is not valid", i.cfg.Name)
	}
	status, body, err := i.do(req)
	if err != nil {
		return "", err
	}
	var doc struct {
		Issuer string `json:"issuer"`
		Revoke string `json:"revocation_endpoint"`
	}
	if err := json.Unmarshal(body, &doc); err != nil || status != http.StatusOK || doc.Issuer != i.cfg.Issuer {
		return "", failed(Wrong, "issuer %q has no metadata that names a revocation endpoint", i.cfg.Name)
	}
	if i.cfg.CheckURL(doc.Revoke) != nil {
		doc.Revoke = ""
	}
	return doc.Revoke, nil
}
