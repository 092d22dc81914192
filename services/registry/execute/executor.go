package execute

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/sealedresult"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/registry/cache"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Config limits executions.
type Config struct {
	// LeaseTTL is how long a call stays leased to this replica without a heartbeat.
	LeaseTTL time.Duration
	// MaxResultBytes limits a stored result.
	MaxResultBytes int
	// CacheTTL is how long a result is kept unless its source says otherwise.
	CacheTTL time.Duration
	// DrainTimeout bounds the wait for running calls at the end.
	DrainTimeout time.Duration
	// RetryPause is the first pause between attempts; it doubles.
	RetryPause time.Duration
	// RestartPatience is how long an unreachable tool server is tried, at least maxServerAttempts times: it may be restarting.
	RestartPatience time.Duration
}

// retries are the pauses between attempts. The number of attempts and the call's timeout bound them, so the longest pause is irrelevant.
func (c Config) retries() backoff.Policy {
	return backoff.Policy{First: c.RetryPause, Max: 128 * c.RetryPause}
}

// reconnects are the pauses between attempts to reach a tool server. They stay short: it may be back at any time.
func (c Config) reconnects() backoff.Policy {
	return backoff.Policy{First: c.RetryPause, Max: 5 * c.RetryPause}
}

// Store is the part of the store that the executor uses.
type Store interface {
	store.Ledger
	// Tool reads a present tool with its source; store.ErrNotFound.
	Tool(ctx context.Context, tenant, name string) (store.Tool, error)
	// ToolNames returns names of present tools, by name.
	ToolNames(ctx context.Context, tenant, source, after string, limit int) ([]string, error)
	// Definitions reads the existing ones of the given definitions.
	Definitions(ctx context.Context, tenant string, hashes []string) ([]store.Definition, error)
}

// Upstream sends calls.
type Upstream interface {
	// Call sends one call; errors are of *source.Error.
	Call(ctx context.Context, r *source.Request, notice func(source.Notice)) (source.Reply, error)
	// CallTimeout returns the timeout of one call to the source.
	CallTimeout(s store.Source) time.Duration
}

// Origins describes the sessions that make calls.
type Origins interface {
	// Meta returns what a server is sent about a session; a NOT_FOUND fault if the principal may not see it.
	Meta(ctx context.Context, p *policyv1.Principal, session, runner string) (map[string]string, error)
}

// CallCounter counts tool calls towards quotas.
type CallCounter interface {
	// CountToolCall counts a call once for its key, or fails with QUOTA_EXCEEDED.
	CountToolCall(ctx context.Context, in *policyv1.CountToolCallRequest, opts ...grpc.CallOption) (*policyv1.CountToolCallResponse, error)
}

// Deps holds the executor's dependencies; Cache and Unavailable are optional.
type Deps struct {
	// Store stores tools and the ledger.
	Store Store
	// Now is the database's time, which leases use.
	Now func() time.Time
	// Policy decides on calls.
	Policy policyv1.PolicyServiceClient
	// Quotas says which limits apply to users, and Count counts calls towards them; the zero values limit nobody.
	Quotas quota.Reader
	Count  CallCounter
	// Upstream sends calls.
	Upstream Upstream
	// Origins describes the sessions that make calls.
	Origins Origins
	// Schemas validates arguments.
	Schemas *schema.Cache
	// Cache keeps results of READ tools; nil = none are kept.
	Cache *cache.Cache
	// Metrics counts calls.
	Metrics *Metrics
	// Results seals results that are not to be read in the ledger.
	Results *sealedresult.Sealer
	// Log receives internal errors.
	Log *slog.Logger
	// Unavailable is called with a source that a call could not reach.
	Unavailable func(s store.Source)
}

// Executor runs calls. It is safe for concurrent use.
type Executor struct {
	cfg     Config
	deps    Deps
	owner   string
	flights *flights
}

// New returns an executor with its own owner id.
func New(cfg Config, deps Deps) *Executor {
	if deps.Unavailable == nil {
		deps.Unavailable = func(store.Source) {}
	}
	return &Executor{
		cfg: cfg, deps: deps, owner: ids.New(ids.Lease), flights: newFlights(),
	}
}
