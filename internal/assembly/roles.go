// Package assembly wires the roles of the mesh: any subset of them in one process, over any network. It is the only package that imports
// all services.
package assembly

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/knowledge"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/registry"
	"github.com/windlass-dev/windlass/services/sessions"
)

// Roles of the mesh. Bus is the embedded message bus as its own process, for meshes without a NATS cluster.
const (
	Bus       = "bus"
	Policy    = "policy"
	Inference = "inference"
	MCPBridge = "mcpbridge"
	Registry  = "registry"
	Knowledge = "knowledge"
	Sessions  = "sessions"
	Worker    = "worker"
	Gateway   = "gateway"
)

// component is one role: what it needs from its process, and how to build it.
type component struct {
	role string
	// migrate brings the role's tables up to date; nil if it has none.
	migrate func(context.Context, *sqldb.DB) error
	// bus and temporal: the role connects to them.
	bus, temporal bool
	// rpc: other roles call this role.
	rpc   bool
	build func(*Process) error
}

// table lists the roles in start order: callees come before their callers.
func table() []component {
	return []component{
		{role: Bus, build: (*Process).buildBusServer},
		{role: Policy, migrate: policy.Migrate, bus: true, rpc: true, build: (*Process).buildPolicy},
		{role: Inference, migrate: inference.Migrate, bus: true, rpc: true, build: (*Process).buildInference},
		{role: MCPBridge, rpc: true, build: (*Process).buildBridge},
		{role: Knowledge, migrate: knowledge.Migrate, temporal: true, rpc: true, build: (*Process).buildKnowledge},
		{role: Registry, migrate: registry.Migrate, bus: true, rpc: true, build: (*Process).buildRegistry},
		{role: Sessions, migrate: sessions.Migrate, bus: true, temporal: true, rpc: true, build: (*Process).buildSessions},
		{role: Worker, bus: true, temporal: true, build: (*Process).buildWorker},
		{role: Gateway, build: (*Process).buildGateway},
	}
}

// AllRoles returns every role except Bus, in start order: the roles of `windlass up`.
func AllRoles() []string {
	var out []string
	for _, c := range table() {
		if c.role != Bus {
			out = append(out, c.role)
		}
	}
	return out
}

// selected returns the components of the named roles in start order.
func selected(roles []string) ([]component, error) {
	var out []component
	var known []string
	for _, c := range table() {
		known = append(known, c.role)
		if slices.Contains(roles, c.role) {
			out = append(out, c)
		}
	}
	for _, r := range roles {
		if !slices.Contains(known, r) {
			return nil, fmt.Errorf("there is no role %q; roles are %s", r, strings.Join(known, ", "))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("name at least one role: %s", strings.Join(known, ", "))
	}
	return out, nil
}
