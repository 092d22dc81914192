package policy

import (
	"context"

	"google.golang.org/grpc"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/policy/api"
	"github.com/windlass-dev/windlass/services/policy/connection"
	connections "github.com/windlass-dev/windlass/services/policy/connection/store"
	"github.com/windlass-dev/windlass/services/policy/quota"
	"github.com/windlass-dev/windlass/services/policy/shield/ask"
)

// Peers are the other services, as the policy role calls them; each may be nil.
type Peers struct {
	// Groups says which tools are in which groups, to explain and replay decisions; nil = tool groups count as missing there.
	Groups api.GroupReader
	// Logins says how users log in at sources; nil = users cannot connect sources.
	Logins LoginReader
	// Models judge texts for shields of the kinds guard and moderation; nil = such shields are refused.
	Models ask.Models
	// Turns says what turns use of quotas; nil = their use is reported as 0.
	Turns quota.Turns
	// Connected is notified of new connections.
	Connected connection.Notice
	// Sessions has turns go on whose users have logged in; nil = they wait.
	Sessions executionv1.ExecutionServiceClient
}

// LoginReader says how users log in at sources.
type LoginReader interface {
	// GetLogin returns that of one source.
	GetLogin(ctx context.Context, in *registryv1.GetLoginRequest, opts ...grpc.CallOption) (*registryv1.Login, error)
}

// registryLogins implements connection.Logins.
type registryLogins struct{ registry LoginReader }

// Login returns what the registry says of a source.
func (l registryLogins) Login(ctx context.Context, tenant, source string) (connection.Login, error) {
	got, err := l.registry.GetLogin(ctx, &registryv1.GetLoginRequest{Tenant: tenant, Source: source})
	if err != nil {
		return connection.Login{}, err
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

// waitingTurns implements grant.Waiting.
type waitingTurns struct {
	sessions executionv1.ExecutionServiceClient
}

// LoggedIn has the calls of a user made again that wait for a login.
func (w waitingTurns) LoggedIn(ctx context.Context, tenant, subject string) (int, error) {
	if w.sessions == nil {
		return 0, nil
	}
	resp, err := w.sessions.ResolveAuthorizations(ctx, &executionv1.ResolveAuthorizationsRequest{
		Tenant: tenant, Subject: subject, Kind: turnv1.AuthorizationKind_AUTHORIZATION_KIND_LOGIN,
	})
	return int(resp.GetResolved()), err
}
