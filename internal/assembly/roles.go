// Package assembly wires the roles of the mesh: any subset of them in one process, over any network. It is the only package that imports
// all services.
package assembly

import (
	"fmt"
	"slices"
	"strings"
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
	// database: the role has its own tables.
	database bool
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
		{role: Policy, database: true, bus: true, rpc: true, build: (*Process).buildPolicy},
		{role: Inference, database: true, bus: true, rpc: true, build: (*Process).buildInference},
		{role: MCPBridge, rpc: true, build: (*Process).buildBridge},
		{role: Knowledge, database: true, temporal: true, rpc: true, build: (*Process).buildKnowledge},
		{role: Registry, database: true, bus: true, rpc: true, build: (*Process).buildRegistry},
		{role: Sessions, database: true, bus: true, temporal: true, rpc: true, build: (*Process).buildSessions},
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
