package policy

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/grant"
	"github.com/windlass-dev/windlass/services/policy/quota"
	"github.com/windlass-dev/windlass/services/policy/shield"
)

// Config configures the policy service. Its rules apply besides the stored access policies.
type Config struct {
	Rules             []decide.Rule     `yaml:"rules" doc:"What users may do. A rule that denies wins over those that allow; what no rule allows is refused."`
	Approvals         []decide.Approval `yaml:"approvals" doc:"Which allowed tool calls require a person's approval. The first matching rule applies; those of the agent come after."`
	Shields           []shield.Config   `yaml:"shields" doc:"Checks of user input, tool arguments, tool results and model output; agents request them by name."`
	Vault             VaultConfig       `yaml:"vault" doc:"Store of the secrets that sources refer to as ${secret:NAME}."`
	Connections       connection.Config `yaml:"connections" doc:"Logins of users at sources that want one of each user."`
	Grants            grant.Config      `yaml:"grants" doc:"Authorizations of turns to act for their users, where identity.issuers[].exchange is set."`
	Quotas            quota.Config      `yaml:"quotas" doc:"Limits on what tenants and users use. Administrators of a tenant can set lower ones (windlass quota)."`
	ServiceRules      []decide.Rule     `yaml:"service_rules" doc:"What the roles of the mesh may call on each other. Change it only with good reason."`
	OperatorTenant    string            `yaml:"operator_tenant" default:"default" doc:"Tenant whose users may hold the permissions about the mesh itself, which shows objects of all tenants: metrics.get, health.get, temporal.payloads.decode, temporal.ui.use and policy.secrets.rotate. To users of other tenants they are denied, whatever other rules say."`
	PermissionsMaxAge time.Duration     `yaml:"permissions_max_age" default:"2s" doc:"How long servers may cache a principal's permissions; a revocation takes at most that long to take effect everywhere."`
	MaxAccessPolicies int               `yaml:"max_access_policies" default:"1000" doc:"Maximum number of access policies of a tenant."`
	InputRetention    time.Duration     `yaml:"input_retention" default:"2160h" doc:"How long the claims of a principal are kept after its last decision, for explanations and replays; at least 1h."`
	EventRetention    time.Duration     `yaml:"event_retention" default:"720h" doc:"How long domain events about access policies, quotas and secrets are kept, at most 9600h (400 days)."`
	AuditRetention    time.Duration     `yaml:"audit_retention" doc:"How long records of the audit trail are kept; at least 24h. 0: forever. The hash of the last record that was deleted is kept, so that the others can still be verified."`
	DenialsPerSecond  int               `yaml:"denials_per_second" default:"100" doc:"Maximum refused calls recorded per second, so that refusals cannot fill the disk."`
}

// check rejects a configuration that makes no sense.
func (c Config) check() error {
	if err := config.CheckNotNegative(c); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	if err := eventlog.CheckRetention(c.EventRetention); err != nil {
		return fmt.Errorf("policy.%w", err)
	}
	switch {
	case !authn.ValidTenant(c.OperatorTenant):
		return fmt.Errorf("policy.operator_tenant %q is no name of a tenant", c.OperatorTenant)
	case c.InputRetention < time.Hour:
		return errors.New("policy.input_retention must be at least 1h")
	case c.AuditRetention != 0 && c.AuditRetention < 24*time.Hour:
		return errors.New("policy.audit_retention must be at least 24h, or 0 to keep records forever")
	}
	return nil
}

// DefaultConfig allows the local user everything and each role of the mesh what it needs, and nothing else.
func DefaultConfig() Config {
	c := config.Default[Config]()
	c.Rules = []decide.Rule{{Name: "local", Subjects: []string{"local"}, Permissions: []string{"*"}, Tools: []string{"*"}}}
	c.ServiceRules = defaultServiceRules()
	return c
}

// defaultServiceRules lists what each role calls on others.
func defaultServiceRules() []decide.Rule {
	return []decide.Rule{
		{
			Name:        "mesh-servers",
			Roles:       []string{"gateway", "sessions", "registry", "inference", "mcpbridge", "worker", "knowledge"},
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
				"mcpbridge.servers.*", "mcpbridge.tools.call", "sessions.agents.list", "knowledge.recall.run",
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
				// To show what models were sent: definitions of tools, shields, facts.
				"registry.definitions.get", "policy.shields.check", "knowledge.recall.run",
			},
		},
		{
			Name: "mesh-worker", Roles: []string{"worker"},
			Permissions: []string{
				"sessions.execution.run", "registry.execution.run", "registry.definitions.get", "knowledge.ingestion.run", "inference.models.*",
				"policy.shields.check", "knowledge.recall.run",
			},
		},
		{
			Name: "mesh-knowledge", Roles: []string{"knowledge"}, Permissions: []string{"inference.models.embed", "inference.models.rerank"},
		},
	}
}
