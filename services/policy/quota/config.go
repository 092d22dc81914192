package quota

import (
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Config is the limits that an operator sets. Administrators of a tenant can set lower ones.
type Config struct {
	Tenant  Limits         `yaml:"tenant" doc:"Limits of each tenant, for all of its users together."`
	User    Limits         `yaml:"user" doc:"Limits of each user."`
	Tenants []TenantLimits `yaml:"tenants" doc:"Tenants with other limits, which replace those of tenant and user."`
}

// Limits are limits on what is used; 0 is none.
type Limits struct {
	Requests  int64 `yaml:"requests_per_minute" doc:"Maximum number of requests in a minute of the clock, to all processes together. 0 = no limit."`
	Turns     int64 `yaml:"concurrent_turns" doc:"Maximum number of turns that have not ended. 0 = no limit."`
	Tokens    int64 `yaml:"tokens_per_day" doc:"Maximum number of tokens that models read and write in a day (UTC). 0 = no limit."`
	ToolCalls int64 `yaml:"tool_calls_per_day" doc:"Maximum number of tool calls in a day (UTC). 0 = no limit."`
}

// TenantLimits are the limits of one tenant.
type TenantLimits struct {
	Name   string `yaml:"name" doc:"Name of the tenant."`
	Tenant Limits `yaml:"tenant" doc:"Limits of all users of the tenant together."`
	User   Limits `yaml:"user" doc:"Limits of each user of the tenant."`
}

func (l Limits) negative() bool { return min(l.Requests, l.Turns, l.Tokens, l.ToolCalls) < 0 }

func (l Limits) none() bool { return l == Limits{} }

// lower returns the lower limits of both.
func (l Limits) lower(m Limits) Limits {
	return Limits{
		Requests: lower(l.Requests, m.Requests), Turns: lower(l.Turns, m.Turns), Tokens: lower(l.Tokens, m.Tokens),
		ToolCalls: lower(l.ToolCalls, m.ToolCalls),
	}
}

// lower returns the lower of two limits, of which 0 is none.
func lower(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// proto returns the limits as messages have them, nil for none.
func (l Limits) proto() *policyv1.QuotaLimits {
	if l.none() {
		return nil
	}
	return &policyv1.QuotaLimits{
		RequestsPerMinute: l.Requests, ConcurrentTurns: l.Turns, TokensPerDay: l.Tokens, ToolCallsPerDay: l.ToolCalls,
	}
}

// check returns what is wrong with the configuration.
func (c Config) check() error {
	seen := map[string]bool{}
	if c.Tenant.negative() || c.User.negative() {
		return errors.New("policy.quotas: a limit is negative; 0 is no limit")
	}
	for _, t := range c.Tenants {
		switch {
		case !authn.ValidTenant(t.Name):
			return fmt.Errorf("policy.quotas.tenants: %q cannot be the name of a tenant", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("policy.quotas.tenants: duplicate tenant %q", t.Name)
		case t.Tenant.negative() || t.User.negative():
			return fmt.Errorf("policy.quotas.tenants: a limit of tenant %q is negative; 0 is no limit", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// of returns the limits of a tenant and of each of its users.
func (c Config) of(tenant string) (all, each Limits) {
	for _, t := range c.Tenants {
		if t.Name == tenant {
			return t.Tenant, t.User
		}
	}
	return c.Tenant, c.User
}
