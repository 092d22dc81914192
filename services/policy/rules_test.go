package policy_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testwant"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/policy/decide"
)

func withRoles(p *policyv1.Principal, roles ...string) *policyv1.Principal {
	p.Roles = roles
	return p
}

func rules() policy.Config {
	cfg := policy.DefaultConfig()
	cfg.Rules = append(cfg.Rules,
		decide.Rule{Name: "readers", Roles: []string{"read*"}, Permissions: []string{"*.list", "*.get"}, Tools: []string{"notes__*"}},
		decide.Rule{
			Name: "no-delete", Subjects: []string{"*"}, Tools: []string{"*__delete*"}, Permissions: []string{"registry.sources.delete"},
			Deny: true,
		},
		decide.Rule{Name: "alice-admin", Subjects: []string{"alice"}, Roles: []string{"admin"}, Permissions: []string{"*"}},
	)
	return cfg
}

func TestPermissions(t *testing.T) {
	authorizer := newService(t, rules()).Authorizer()
	for _, row := range []struct {
		name       string
		who        *policyv1.Principal
		permission string
		want       bool
	}{
		{"the local user may do everything", authn.Local(), "sessions.turns.create", true},
		{"a rule that denies wins over one that allows", authn.Local(), "registry.sources.delete", false},
		{"a reader may list", authn.User("bob", "reader"), "registry.tools.list", true},
		{"a reader may not create", authn.User("bob", "reader"), "registry.sources.create", false},
		{"one of several roles is enough", authn.User("bob", "x", "reader"), "registry.tools.list", true},
		{"subject and role must both fit", authn.User("alice", "reader"), "registry.sources.create", false},
		{"subject and role that both fit", authn.User("alice", "admin"), "registry.sources.create", true},
		{"nobody gets nothing", authn.User("nobody"), "registry.tools.list", false},
		{"the worker runs turns", authn.Service("worker"), "sessions.execution.run", true},
		{"the worker calls models", authn.Service("worker"), "inference.models.generate", true},
		{"the worker creates no sources", authn.Service("worker"), "registry.sources.create", false},
		{"the registry asks policy", authn.Service("registry"), "policy.tools.decide", true},
		{"the registry uses the bridge", authn.Service("registry"), "mcpbridge.tools.call", true},
		{"every server asks for permissions", authn.Service("inference"), "policy.permissions.get", true},
		{"an unknown role gets nothing", authn.Service("stranger"), "policy.permissions.get", false},
		{"a user that claims the worker's role is no worker", authn.User("mallory", "worker"), "sessions.execution.run", false},
		{"a user named like a role is no worker", authn.User("worker"), "sessions.execution.run", false},
		{"a role named like the local user is not the user", authn.Service("local"), "sessions.turns.create", false},
		{"a role of the mesh has no roles but its own", withRoles(authn.Service("mcpbridge"), "worker"), "sessions.execution.run", false},
		{"no kind, no leave", &policyv1.Principal{Tenant: "default", Subject: "local", Roles: []string{"local"}}, "sessions.turns.create", false},
		{"no principal, no leave", nil, "sessions.turns.create", false},
	} {
		if got, err := authorizer.Decide(t.Context(), row.who, row.permission); err != nil || got.Allowed != row.want {
			t.Errorf("%s: %+v, %v", row.name, got, err)
		}
	}
}

// TestS13WhatConcernsTheMeshIsForOperators: metrics, causes of failures and what Temporal holds name objects of all tenants.
func TestS13WhatConcernsTheMeshIsForOperators(t *testing.T) {
	cfg := rules()
	cfg.Rules = append(cfg.Rules, decide.Rule{Name: "admins", Roles: []string{"admin"}, Permissions: []string{"*"}})
	of := func(tenant string, p *policyv1.Principal) *policyv1.Principal {
		p.Tenant = tenant
		return p
	}
	for operators, tenants := range map[string]map[string]bool{
		"": {"default": true, "acme": false}, "acme": {"default": false, "acme": true},
	} {
		cfg.OperatorTenant = operators
		authorizer := newService(t, cfg).Authorizer()
		for tenant, want := range tenants {
			who := of(tenant, authn.User("dev:carol", "admin"))
			for _, permission := range []string{
				"metrics.get", "health.get", "temporal.payloads.decode", "temporal.ui.use", "policy.secrets.rotate",
			} {
				got := testwant.Must(authorizer.Decide(t.Context(), who, permission))
				if got.Allowed != want || !want && got.DeniedBy != "policy.operator_tenant" {
					t.Errorf("operators %q, an administrator of %s, %s: %+v", operators, tenant, permission, got)
				}
			}
			if !testwant.Must(authorizer.Decide(t.Context(), who, "policy.secrets.create")).Allowed {
				t.Errorf("operators %q: an administrator of %s may not manage secrets", operators, tenant)
			}
			if !testwant.Must(authorizer.Decide(t.Context(), of(tenant, authn.Service("gateway")), "health.get")).Allowed {
				t.Errorf("operators %q: the gateway may not, for %s", operators, tenant)
			}
		}
	}
}

func TestTools(t *testing.T) {
	c := client(t, rules())
	for _, row := range []struct {
		name, tool, rule string
		who              *policyv1.Principal
		want             bool
	}{
		{"the local user", "calculator__evaluate", "local", authn.Local(), true},
		{"denied to all", "notes__delete_all", "no-delete", authn.Local(), false},
		{"a reader's tools", "notes__list", "readers", authn.User("bob", "reader"), true},
		{"not a reader's tools", "calculator__evaluate", "", authn.User("bob", "reader"), false},
		{"permissions are no tools", "calculator__evaluate", "", authn.User("alice", "admin"), false},
		{"the worker itself calls nothing", "notes__list", "", authn.Service("worker"), false},
	} {
		d, err := c.DecideTool(t.Context(), &policyv1.DecideToolRequest{Principal: row.who, Tool: row.tool})
		if err != nil || d.GetAllowed() != row.want || d.GetRule() != row.rule || d.GetReason() == "" {
			t.Errorf("%s: %v, %v", row.name, d, err)
		}
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	for want, rule := range map[string]decide.Rule{
		"no name":                       {Subjects: []string{"*"}, Tools: []string{"*"}},
		"duplicate":                     {Name: "local", Subjects: []string{"*"}, Tools: []string{"*"}},
		"no subject":                    {Name: "x", Tools: []string{"*"}},
		"neither permissions nor tools": {Name: "x", Roles: []string{"*"}},
		"tools[1]":                      {Name: "x", Roles: []string{"*"}, Tools: []string{"a__*", "bank__[ps]*"}, Deny: true},
	} {
		cfg := policy.DefaultConfig()
		cfg.Rules = append(cfg.Rules, rule)
		if _, err := policy.New(cfg, depsOf(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
