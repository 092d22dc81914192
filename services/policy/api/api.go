// Package api serves policy's gRPC services: one small server each, which checks and converts between messages and what the other packages
// do. Quotas and logins have their servers beside their tables.
package api

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/fault"
	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	policyeventsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policyevents/v1"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/grant"
	"github.com/windlass-dev/windlass/services/policy/login"
	"github.com/windlass-dev/windlass/services/policy/quota"
	"github.com/windlass-dev/windlass/services/policy/shield/chain"
	"github.com/windlass-dev/windlass/services/policy/store"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

// Deps holds what the servers use; all fields but Connections and Groups are required.
type Deps struct {
	// Store stores decisions and access policies, Trail the audit trail.
	Store store.Store
	Trail *trail.Trail
	// Engine has the rules of the configuration, and Decider combines them with the access policies.
	Engine  *decide.Engine
	Decider *decide.Decider
	// Recorder records decisions, and Denials those about refused calls.
	Recorder *decide.Recorder
	Denials  *decide.Denials
	// Shields check texts.
	Shields chain.Shields
	// Vault stores secrets.
	Vault *vault.Vault
	// Connections connects users to sources; nil = that is not served.
	Connections *connection.Connections
	// Grants lets turns act for their users.
	Grants *grant.Service
	// Quotas and Logins serve their services themselves.
	Quotas *quota.Server
	Logins *login.Server
	// Events is the log of domain events.
	Events *eventlog.Log
	// Groups says which tools are in which groups, to explain and replay decisions; nil = tool groups count as missing there.
	Groups GroupReader
	// MaxAccessPolicies limits the access policies of a tenant.
	MaxAccessPolicies int
	// PermissionsMaxAge is how long servers may cache a response of GetPermissions.
	PermissionsMaxAge time.Duration
	// Now is the database's time.
	Now func() time.Time
	// Log receives what operators do.
	Log *slog.Logger
}

// Register adds the services to a server.
func Register(r grpc.ServiceRegistrar, d Deps) {
	policyv1.RegisterPolicyServiceServer(r, &policy{
		engine: d.Engine, decider: d.Decider, recorder: d.Recorder, denials: d.Denials, shields: d.Shields, store: d.Store,
		maxAge: d.PermissionsMaxAge, now: d.Now,
	})
	policyv1.RegisterSecretServiceServer(r, &secrets{vault: d.Vault, store: d.Store, trail: d.Trail, now: d.Now, log: d.Log})
	policyv1.RegisterAccessPolicyServiceServer(r, &accessPolicies{
		store: d.Store, decider: d.Decider, groups: d.Groups, max: d.MaxAccessPolicies, now: d.Now,
	})
	loginv1.RegisterLoginServiceServer(r, d.Logins)
	if d.Connections != nil {
		policyv1.RegisterConnectionServiceServer(r, &connections{connections: d.Connections, store: d.Store, now: d.Now})
	}
	policyv1.RegisterGrantServiceServer(r, &grants{grants: d.Grants, now: d.Now})
	policyv1.RegisterAuditServiceServer(r, &audit{trail: d.Trail, store: d.Store, now: d.Now})
	policyv1.RegisterQuotaServiceServer(r, d.Quotas)
	policyeventsv1.RegisterEventLogServiceServer(r, &eventLog{log: d.Events})
}

// onlyRoles refuses callers that are no role of the mesh, even those who may do everything.
func onlyRoles(ctx context.Context, permission string) error {
	if authn.From(ctx).GetKind() != policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE {
		return fault.Denied(permission, "")
	}
	return nil
}
