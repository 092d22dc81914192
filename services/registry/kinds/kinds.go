// Package kinds lists the kinds of sources.
package kinds

import (
	"slices"
	"strings"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/registry/agents"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/document"
	"github.com/windlass-dev/windlass/services/registry/endpoint"
	"github.com/windlass-dev/windlass/services/registry/graphql"
	"github.com/windlass-dev/windlass/services/registry/grpcapi"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/mcp"
	"github.com/windlass-dev/windlass/services/registry/openapi"
	"github.com/windlass-dev/windlass/services/registry/skills"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/workflow"
)

// Deps holds what the drivers need besides what they share; all but SkillDirs are required.
type Deps struct {
	*source.Env
	// Bridge calls MCP servers.
	Bridge mcpbridgev1.BridgeServiceClient
	// Agents calls agents.
	Agents agents.Client
	// Builtin is the mesh's own tools.
	Builtin builtin.Tools
	// SkillDirs are the folders of this machine in which sources may have skills; empty = none may.
	SkillDirs []string

	http      *httpcall.Caller
	documents *document.Keeper
}

// row is a kind, and what opens its driver.
type row struct {
	source.Kind
	open func(d Deps) source.Driver
}

// table has all kinds, in the order in which people read them.
var table = []row{
	{mcp.Kind{}, func(d Deps) source.Driver { return mcp.Open(d.Env, d.Bridge) }},
	{openapi.Kind{}, func(d Deps) source.Driver { return openapi.Open(d.documents, d.http) }},
	{endpoint.Kind{}, func(d Deps) source.Driver { return endpoint.Open(d.http) }},
	{graphql.Kind{}, func(d Deps) source.Driver { return graphql.Open(d.documents, d.http) }},
	{grpcapi.Kind{}, func(d Deps) source.Driver { return grpcapi.Open(d.documents) }},
	{workflow.Kind{}, func(d Deps) source.Driver { return workflow.Open(d.Env) }},
	{agents.Kind{}, func(d Deps) source.Driver { return agents.Open(d.Env, d.Agents) }},
	{skills.Kind{}, func(d Deps) source.Driver { return skills.Open(d.Env, d.SkillDirs) }},
	{builtin.Kind{}, func(d Deps) source.Driver { return d.Builtin }},
}

// Open returns the driver of each kind, by its name.
func Open(d Deps) map[string]source.Driver {
	d.http, d.documents = httpcall.NewCaller(d.Env), document.NewKeeper(d.Env)
	drivers := map[string]source.Driver{}
	for _, k := range table {
		drivers[k.Facts().Name] = k.open(d)
	}
	return drivers
}

// Find returns the kind with a name; false if there is none.
func Find(name string) (source.Kind, bool) {
	if i := slices.IndexFunc(table, func(k row) bool { return k.Facts().Name == name }); i >= 0 {
		return table[i].Kind, true
	}
	return nil, false
}

// Facts returns the facts of the kind with a name; those of no kind are the zero value.
func Facts(name string) source.Facts {
	if k, ok := Find(name); ok {
		return k.Facts()
	}
	return source.Facts{}
}

// List names the kinds for people, as in "mcp, openapi or http": those that are selected.
func List(word string, selects func(source.Facts) bool) string {
	var names []string
	for _, k := range table {
		if f := k.Facts(); selects(f) {
			names = append(names, f.Name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// All lists all kinds for people.
func All() string { return List("or", func(source.Facts) bool { return true }) }

// Taking lists the kinds besides MCP servers that take a kind of credential.
func Taking(auth string) string {
	return List("and", func(f source.Facts) bool { return !f.Bridge && slices.Contains(f.Auth, auth) })
}
