package policy

import (
	"context"

	"google.golang.org/grpc"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/connection/api"
	connections "github.com/windlass-dev/windlass/services/policy/connection/store"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

// LoginReader says how users log in at sources.
type LoginReader interface {
	// GetLogin returns that of one source.
	GetLogin(ctx context.Context, in *registryv1.GetLoginRequest, opts ...grpc.CallOption) (*registryv1.Login, error)
}

// connect builds what connects users to sources; nil without what it needs.
func (s *Service) connect(cfg Config, deps Deps) error {
	if deps.Logins == nil || deps.Egress == nil {
		return nil
	}
	c, err := connection.New(cfg.Connections, connection.Deps{
		Store: connections.New(deps.DB, s.secrets.vault), Logins: logins{deps.Logins}, Secrets: vault.References{Vault: s.secrets.vault}, Egress: deps.Egress,
		Notice: deps.Connected, Log: deps.Log,
	})
	if err != nil {
		return err
	}
	s.connections = api.New(c, s.store, s.now)
	return nil
}

// logins converts what the registry says.
type logins struct{ registry LoginReader }

// Login implements connection.Logins.
func (l logins) Login(ctx context.Context, tenant, source string) (connection.Login, error) {
	got, err := l.registry.GetLogin(ctx, &registryv1.GetLoginRequest{Tenant: tenant, Source: source})
	if err != nil {
		return connection.Login{}, err //nolint:wrapcheck // a fault
	}
	out := connection.Login{
		SourceID: got.GetSourceId(), Source: got.GetSource(), Target: got.GetTarget(), Destination: got.GetDestination(),
		ServerURL: got.GetServerUrl(), Wanted: got.GetAuth() != nil,
	}
	if a := got.GetAuth(); a != nil {
		out.Stored = connections.Login{
			AuthorizationURL: a.GetAuthorizationUrl(), TokenURL: a.GetTokenUrl(), RevocationURL: a.GetRevocationUrl(), Issuer: a.GetIssuer(),
			ClientID: a.GetClientId(), SecretRef: a.GetSecret(), InBody: a.GetIn() == "body", Scopes: a.GetScopes(), Audience: a.GetAudience(),
			Resource: a.GetResource(),
		}
	}
	return out, nil
}
