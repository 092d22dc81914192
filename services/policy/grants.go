package policy

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/callertoken"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/policy/grant"
	"github.com/windlass-dev/windlass/services/policy/grant/api"
	"github.com/windlass-dev/windlass/services/policy/grant/exchange"
	"github.com/windlass-dev/windlass/services/policy/grant/store"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

// GrantDeps are what grants need. Without issuers that exchange tokens, there are none.
type GrantDeps struct {
	// Issuers are those of users.
	Issuers []bearer.Issuer
	// Egress reaches them.
	Egress exchange.Dialer
	// Tokens opens the tokens of users.
	Tokens *callertoken.Sealer
	// Sessions has turns go on; the connection is one of the policy role.
	Sessions executionv1.ExecutionServiceClient
}

// exchanges reports whether any issuer exchanges tokens.
func (d GrantDeps) exchanges() bool {
	for _, i := range d.Issuers {
		if i.Exchange.Enabled() {
			return true
		}
	}
	return false
}

// buildGrants builds the service of grants.
func (s *Service) buildGrants(cfg Config, deps Deps, v *vault.Vault, masters int) error {
	grants, err := cfg.Grants.Complete()
	if err != nil {
		return err
	}
	if deps.Grants.exchanges() && masters == 0 {
		return errors.New("identity.issuers[].exchange needs policy.vault.master_key: the tokens of turns are stored encrypted")
	}
	issuers, err := exchange.New(deps.Grants.Issuers, exchange.Deps{Dialer: deps.Grants.Egress, Now: deps.DB.Now, Log: deps.Log})
	if err != nil {
		return err
	}
	s.grants = grant.New(grants, grant.Deps{
		Store: store.New(deps.DB, v), Issuers: issuers, Tokens: deps.Grants.Tokens, Waiting: waiting{deps.Grants.Sessions}, Log: deps.Log,
	})
	s.grantServer = api.New(s.grants, deps.DB.Now)
	return nil
}

// waiting implements grant.Waiting.
type waiting struct {
	sessions executionv1.ExecutionServiceClient
}

// LoggedIn implements grant.Waiting.
func (w waiting) LoggedIn(ctx context.Context, tenant, subject string) (int, error) {
	if w.sessions == nil {
		return 0, nil
	}
	resp, err := w.sessions.ResolveAuthorizations(ctx, &executionv1.ResolveAuthorizationsRequest{
		Tenant: tenant, Subject: subject, Kind: turnv1.AuthorizationKind_AUTHORIZATION_KIND_LOGIN,
	})
	return int(resp.GetResolved()), err
}

var _ policyv1.GrantServiceServer = (*api.Server)(nil)
