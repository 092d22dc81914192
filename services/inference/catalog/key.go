package catalog

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Key returns the API key of a call, zero if the provider has it, and whether it is that of the request. turnID is the turn that the call
// is part of.
func (c *Catalog) Key(ctx context.Context, m Model, turnID string) (key secret.Value, callers bool, err error) {
	if key, err = c.CallersKey(ctx, m, turnID); err != nil || !key.IsZero() {
		return key, true, err
	}
	key, err = c.storedKey(m.Provider)
	return key, false, err
}

// CallersKey returns the API key in the provider data of the request that a call is part of; zero for the provider's own.
func (c *Catalog) CallersKey(ctx context.Context, m Model, turnID string) (secret.Value, error) {
	from := m.Provider.keyFrom
	if from == "" {
		return secret.Value{}, nil
	}
	d, err := c.deps.ProviderData.Open(providerdata.Incoming(ctx), providerdata.OfTurn(authn.Tenant(ctx), turnID))
	if err != nil {
		return secret.Value{}, err
	}
	key, ok := d.Text(from)
	switch {
	case ok && !m.Provider.validKey(key.Reveal()):
		return secret.Value{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"the value of the key %q in the header %s is no API key", from, providerdata.Header)
	case ok && !key.IsZero():
		return key, nil
	case m.Provider.keyless:
		return secret.Value{}, providerdata.Missing(fmt.Sprintf("the model %q", m.FullName()), from)
	}
	return secret.Value{}, nil
}

// storedKey returns the provider's key if it is a stored secret; else zero. The secret is of the tenant that the configuration names,
// for callers of all tenants: the operator lends the provider to all tenants.
func (c *Catalog) storedKey(p *Provider) (secret.Value, error) {
	if p.stored == "" {
		return secret.Value{}, nil
	}
	return c.resolveKey(p, p.stored, p.tenant)
}

// resolveKey reads a key of a provider that is a stored secret of a tenant.
func (c *Catalog) resolveKey(p *Provider, reference, tenant string) (secret.Value, error) {
	r := envref.New(envref.Config{Owner: "inference", Vault: c.deps.Vault}, tenant)
	key := r.Resolve("api_key", reference)
	switch {
	case r.Err != nil:
		return secret.Value{}, r.Err
	case len(r.Wrong) > 0:
		return secret.Value{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the key of provider %q: %s", p.Name,
			r.Wrong[0].Message)
	case !p.validKey(key):
		return secret.Value{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the key of provider %q is no API key", p.Name)
	}
	return secret.New(key), nil
}

// validKey reports whether a text can be a key.
func (p *Provider) validKey(key string) bool {
	return httpguts.ValidHeaderFieldValue(key) || p.Kind.KeyDocument && strings.HasPrefix(strings.TrimSpace(key), "{")
}
