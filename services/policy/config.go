package policy

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/grant"
	"github.com/windlass-dev/windlass/services/policy/quota"
	"github.com/windlass-dev/windlass/services/policy/shield"
)

// Config configures the policy service. Its rules apply besides the stored access policies.
type Config struct {
	// Rules say what users may do. Deny wins over allow; everything else is refused.
	Rules []decide.Rule `yaml:"rules" doc:"What users may do. A rule that denies wins over those that allow; what no rule allows is refused."`
	// Approvals say which allowed calls require an approval. The first matching rule applies, before those of the agent.
	Approvals []decide.Approval `yaml:"approvals" doc:"Which allowed tool calls require a person's approval. The first matching rule applies; those of the agent come after."`
	// Shields are requested by agents by name.
	Shields []shield.Config `yaml:"shields" doc:"Checks of user input, tool arguments, tool results and model output; agents request them by name."`
	// Vault stores secrets.
	Vault VaultConfig `yaml:"vault" doc:"Store of the secrets that sources refer to as ${secret:NAME}."`
	// Connections are logins of users at sources.
	Connections connection.Config `yaml:"connections" doc:"Logins of users at sources that want one of each user."`
	// Grants let turns act for their users.
	Grants grant.Config `yaml:"grants" doc:"Authorizations of turns to act for their users, where identity.issuers[].exchange is set."`
	// Quotas limit what tenants and users use.
	Quotas quota.Config `yaml:"quotas" doc:"Limits on what tenants and users use. Administrators of a tenant can set lower ones (windlass quota)."`
	// ServiceRules say what the roles of the mesh may do. A changed list must keep the mesh working.
	ServiceRules []decide.Rule `yaml:"service_rules" doc:"What the roles of the mesh may call on each other. Change it only with good reason."`
	// OperatorTenant is the tenant of those who run the mesh.
	OperatorTenant string `yaml:"operator_tenant" doc:"Tenant whose users may hold the permissions about the mesh itself, which shows objects of all tenants: metrics.get, health.get, temporal.payloads.decode, temporal.ui.use and policy.secrets.rotate. To users of other tenants they are denied, whatever other rules say."`
	// PermissionsMaxAge is how long servers may cache a response of GetPermissions.
	PermissionsMaxAge time.Duration `yaml:"permissions_max_age" doc:"How long servers may cache a principal's permissions; a revocation takes at most that long to take effect everywhere."`
	// MaxAccessPolicies limits the access policies of a tenant.
	MaxAccessPolicies int `yaml:"max_access_policies" doc:"Maximum number of access policies of a tenant."`
	// InputRetention is how long principals of decisions are kept after their last use.
	InputRetention time.Duration `yaml:"input_retention" doc:"How long the claims of a principal are kept after its last decision, for explanations and replays; at least 1h."`
	// EventRetention is how long domain events are kept.
	EventRetention time.Duration `yaml:"event_retention" doc:"How long domain events about access policies, quotas and secrets are kept, at most 9600h (400 days)."`
	// AuditRetention is how long records are kept.
	AuditRetention time.Duration `yaml:"audit_retention" doc:"How long records of the audit trail are kept; at least 24h. 0: forever. The hash of the last record that was deleted is kept, so that the others can still be verified."`
	// DenialsPerSecond limits the rows that refused RPCs write per second; further refusals are not recorded.
	DenialsPerSecond int `yaml:"denials_per_second" doc:"Maximum refused calls recorded per second, so that refusals cannot fill the disk."`
}

// complete sets defaults. Rules have none: without them users may do nothing.
func (c Config) complete() (Config, error) {
	if c.PermissionsMaxAge < 0 || c.DenialsPerSecond < 0 || c.MaxAccessPolicies < 0 {
		return c, errors.New("policy: permissions_max_age, max_access_policies and denials_per_second must not be negative")
	}
	def := DefaultConfig()
	if c.ServiceRules == nil {
		c.ServiceRules = def.ServiceRules
	}
	if c.OperatorTenant == "" {
		c.OperatorTenant = def.OperatorTenant
	}
	if !authn.ValidTenant(c.OperatorTenant) {
		return c, fmt.Errorf("policy.operator_tenant %q is no name of a tenant", c.OperatorTenant)
	}
	if c.PermissionsMaxAge == 0 {
		c.PermissionsMaxAge = def.PermissionsMaxAge
	}
	if c.MaxAccessPolicies == 0 {
		c.MaxAccessPolicies = def.MaxAccessPolicies
	}
	if c.InputRetention == 0 {
		c.InputRetention = def.InputRetention
	}
	if c.InputRetention < time.Hour {
		return c, errors.New("policy.input_retention must be at least 1h")
	}
	if c.EventRetention == 0 {
		c.EventRetention = def.EventRetention
	}
	if err := eventlog.CheckRetention(c.EventRetention); err != nil {
		return c, fmt.Errorf("policy.%w", err)
	}
	if c.AuditRetention != 0 && c.AuditRetention < 24*time.Hour {
		return c, errors.New("policy.audit_retention must be at least 24h, or 0 to keep records forever")
	}
	if c.DenialsPerSecond == 0 {
		c.DenialsPerSecond = def.DenialsPerSecond
	}
	return c, nil
}

// DefaultConfig allows the local user everything and each role of the mesh what it needs, and nothing else.
func DefaultConfig() Config {
	return Config{
		Rules:             []decide.Rule{{Name: "local", Subjects: []string{"local"}, Permissions: []string{"*"}, Tools: []string{"*"}}},
		ServiceRules:      defaultServiceRules(),
		OperatorTenant:    authn.DefaultTenant,
		PermissionsMaxAge: 2 * time.Second,
		MaxAccessPolicies: 1000,
		EventRetention:    eventlog.DefaultRetention,
		InputRetention:    90 * 24 * time.Hour,
		DenialsPerSecond:  100,
	}
}

// defaultServiceRules lists what each role calls on others.
func defaultServiceRules() []decide.Rule {
	return []decide.Rule{
		{
			Name:        "mesh-servers",
			Roles:       []string{"gateway", "sessions", "registry", "inference", "mcpbridge", "worker"},
			Permissions: []string{"policy.permissions.get", "policy.denials.record", "policy.audit.record", "policy.quotas.lease"},
		},
		{
			Name: "mesh-gateway", Roles: []string{"gateway"},
			Permissions: []string{"health.get", "policy.logins.use", "policy.connections.authorize"},
		},
		{
			Name: "mesh-policy", Roles: []string{"policy"},
			Permissions: []string{
				"registry.groups.evaluate", "registry.sources.login", "sessions.authorizations.resolve", "policy.audit.record",
				"sessions.quotas.read", "policy.quotas.lease",
				"inference.models.moderate",
			},
		},
		{
			Name: "mesh-registry", Roles: []string{"registry"},
			Permissions: []string{
				"policy.tools.decide", "policy.secrets.resolve", "policy.connections.resolve", "policy.grants.redeem", "policy.quotas.count",
				"mcpbridge.servers.*", "mcpbridge.tools.call", "sessions.agents.list",
			},
		},
		{
			Name: "mesh-secrets", Roles: []string{"mcpbridge", "inference", "worker"}, Permissions: []string{"policy.secrets.resolve"},
		},
		{
			Name: "mesh-sessions", Roles: []string{"sessions"},
			Permissions: []string{
				"policy.approvals.check", "policy.events.read", "policy.turns.forget", "policy.grants.create", "policy.grants.end",
				"registry.turns.forget", "registry.events.read", "inference.models.list",
			},
		},
		{
			Name: "mesh-worker", Roles: []string{"worker"},
			Permissions: []string{"sessions.execution.run", "registry.execution.run", "inference.models.*", "policy.shields.check"},
		},
	}
}
