package policy

import (
	"errors"
	"time"

	"github.com/windlass-dev/windlass/services/policy/shield"
)

// Config is what the policy service is told at start. Rules are read from it; nothing is stored.
type Config struct {
	// Rules say what users may do. Deny wins over allow; what no rule allows is refused.
	Rules []Rule `yaml:"rules" doc:"What users may do. A rule that denies wins over those that allow; what no rule allows is refused."`
	// Approvals say which allowed calls wait for a person's leave. The first rule that fits counts, before those of the agent.
	Approvals []Approval `yaml:"approvals" doc:"Which allowed tool calls wait for a person's leave. The first rule that fits a call counts; those of its agent come after."`
	// Shields are what agents may ask for by name.
	Shields []shield.Config `yaml:"shields" doc:"Checks of what users say, tools are called with and models say; agents ask for them by name."`
	// ServiceRules say what the roles of the mesh may do. The default fits; a changed list must keep the mesh working.
	ServiceRules []Rule `yaml:"service_rules" doc:"What the roles of the mesh may do among themselves. Leave it alone unless you know why."`
	// PermissionsMaxAge is how long servers may keep an answer of GetPermissions.
	PermissionsMaxAge time.Duration `yaml:"permissions_max_age" doc:"How long servers may keep a principal's permissions; a revocation takes at most that long to hold everywhere."`
	// DenialsPerSecond bounds the rows that refused RPCs may write per second; more are counted as refused by us.
	DenialsPerSecond int `yaml:"denials_per_second" doc:"Refused calls recorded per second at most, so that refusals cannot fill the disk."`
}

// complete fills in defaults. Rules have none: without them users may do nothing.
func (c Config) complete() (Config, error) {
	if c.PermissionsMaxAge < 0 || c.DenialsPerSecond < 0 {
		return c, errors.New("policy: permissions_max_age and denials_per_second must not be negative")
	}
	def := DefaultConfig()
	if c.ServiceRules == nil {
		c.ServiceRules = def.ServiceRules
	}
	if c.PermissionsMaxAge == 0 {
		c.PermissionsMaxAge = def.PermissionsMaxAge
	}
	if c.DenialsPerSecond == 0 {
		c.DenialsPerSecond = def.DenialsPerSecond
	}
	return c, nil
}

// Rule gives or takes leave. It speaks of the principals whose subject fits one of Subjects and one of whose roles fits one
// of Roles; an empty list there is no condition, but a rule needs at least one of the two.
type Rule struct {
	// Name stands in decisions; unique.
	Name string `yaml:"name" doc:"Name of the rule, as recorded in decisions."`
	// Subjects are globs over subjects.
	Subjects []string `yaml:"subjects" doc:"Globs over subjects; empty = any subject."`
	// Roles are globs over roles; one of the principal's roles must fit.
	Roles []string `yaml:"roles" doc:"Globs over roles; empty = any role or none."`
	// Permissions are globs over "area.noun.verb".
	Permissions []string `yaml:"permissions" doc:"Globs over permissions, for example sessions.* or registry.tools.list."`
	// Tools are globs over namespaced tool names.
	Tools []string `yaml:"tools" doc:"Globs over tool names, for example notes__*."`
	// Deny makes the rule take away instead of give.
	Deny bool `yaml:"deny" doc:"The rule takes away instead of giving."`
}

// DefaultConfig lets the local user do everything, gives each role of the mesh what it needs, and nobody else anything.
func DefaultConfig() Config {
	return Config{
		Rules:             []Rule{{Name: "local", Subjects: []string{"local"}, Permissions: []string{"*"}, Tools: []string{"*"}}},
		ServiceRules:      defaultServiceRules(),
		PermissionsMaxAge: 2 * time.Second,
		DenialsPerSecond:  100,
	}
}

// defaultServiceRules lists what each role calls on others. Policy itself calls nobody.
func defaultServiceRules() []Rule {
	return []Rule{
		{
			Name:        "mesh-servers",
			Roles:       []string{"gateway", "sessions", "registry", "inference", "mcpbridge", "worker"},
			Permissions: []string{"policy.permissions.get", "policy.denials.record"},
		},
		{Name: "mesh-registry", Roles: []string{"registry"}, Permissions: []string{"policy.tools.decide", "mcpbridge.servers.*", "mcpbridge.tools.call"}},
		{Name: "mesh-sessions", Roles: []string{"sessions"}, Permissions: []string{"policy.approvals.check", "policy.turns.forget", "registry.turns.forget", "inference.models.list"}},
		{Name: "mesh-worker", Roles: []string{"worker"}, Permissions: []string{"sessions.execution.run", "registry.execution.run", "inference.models.*", "policy.shields.check"}},
	}
}
