package exchange

import (
	"context"
	"net/http"
	"net/url"

	"github.com/sony/gobreaker/v2"

	"github.com/windlass-dev/windlass/libs/secret"
)

// Revoke has an issuer revoke a refresh token of the mesh (RFC 7009). It does nothing if the issuer's metadata names no revocation
// endpoint. Failures do not open the breaker: they say nothing about the token endpoint. While it is open, the issuer is not asked.
func (c *Client) Revoke(ctx context.Context, issuer string, refresh secret.Value) error {
	i, err := c.issuer(issuer)
	if err != nil {
		return err
	}
	if i.breaker.State() == gobreaker.StateOpen {
		return i.resting()
	}
	return i.revoke(ctx, refresh)
}

func (i *issuer) revoke(ctx context.Context, refresh secret.Value) error {
	doc, err := i.metadata(ctx)
	if err != nil || i.cfg.CheckURL(doc.Revoke) != nil {
		return err // nil if the issuer names no endpoint that may be used
	}
	form := url.Values{"token": {refresh.Reveal()}, "token_type_hint": {"refresh_token"}}
	req, err := i.request(ctx, doc.Revoke, form)
	if err != nil {
		return err
	}
	status, _, err := i.do(req)
	if err == nil && status != http.StatusOK {
		err = failed(Refused, "issuer %q answered the revocation of a token with status %d", i.cfg.Name, status)
	}
	return err
}
