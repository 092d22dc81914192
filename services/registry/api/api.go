// Package api serves the registry's gRPC services: one small server each, which converts between messages and what the other packages do.
package api

import (
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/eventlog"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/cache"
	"github.com/windlass-dev/windlass/services/registry/execute"
	"github.com/windlass-dev/windlass/services/registry/inventory"
	"github.com/windlass-dev/windlass/services/registry/origin"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/upstream"
)

// Deps holds what the servers use; all fields are required.
type Deps struct {
	// Store stores sources, tools, groups and the ledger.
	Store store.Store
	// Policy decides who may use which tool.
	Policy policyv1.PolicyServiceClient
	// Upstream reaches the sources.
	Upstream *upstream.Upstream
	// Syncer syncs the tools of sources.
	Syncer *inventory.Syncer
	// Cache keeps results; nil = none are kept.
	Cache *cache.Cache
	// Executor runs calls, and Metrics counts them.
	Executor *execute.Executor
	Metrics  *execute.Metrics
	// Origins describes the sessions that make calls.
	Origins *origin.Reader
	// Events is the log of domain events.
	Events *eventlog.Log
	// Now is the database's time.
	Now func() time.Time
	// MaxTextBytes limits the text of a result for the model.
	MaxTextBytes int
	// Log receives internal errors.
	Log *slog.Logger
}

// Register adds the services to a server.
func Register(r grpc.ServiceRegistrar, d Deps) {
	tools, searched := catalog{store: d.Store, policy: d.Policy}, newIndexes(d.Store)
	registryv1.RegisterSourceServiceServer(r, &Sources{
		store: d.Store, syncer: d.Syncer, upstream: d.Upstream, metrics: d.Metrics, now: d.Now, log: d.Log,
	})
	registryv1.RegisterToolServiceServer(r, &Tools{
		store: d.Store, catalog: tools, syncer: d.Syncer, executor: d.Executor, origins: d.Origins, indexes: searched,
	})
	registryv1.RegisterServerServiceServer(r, &Servers{store: d.Store, catalog: tools, upstream: d.Upstream})
	registryv1.RegisterToolGroupServiceServer(r, &ToolGroups{store: d.Store, catalog: tools, now: d.Now})
	registryv1.RegisterEventLogServiceServer(r, &EventLog{log: d.Events})
	registryv1.RegisterToolExecutionServiceServer(r, &ToolExecutions{
		store: d.Store, catalog: tools, executor: d.Executor, cache: d.Cache, indexes: searched, maxTextBytes: d.MaxTextBytes,
	})
	registryv1.RegisterToolAnalyticsServiceServer(r, &ToolAnalytics{store: d.Store, now: d.Now, maxTextBytes: d.MaxTextBytes})
	registryv1.RegisterToolCacheServiceServer(r, &ToolCache{store: d.Store, cache: d.Cache, now: d.Now})
}
