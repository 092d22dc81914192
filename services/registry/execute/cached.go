package execute

import (
	"context"
	"strconv"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/cache"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// healthCheck is the tool by which servers report their state: never from the cache.
const healthCheck = "health_check"

// keepFor returns how long a tool's results are kept; 0 = they are not.
func (x *Executor) keepFor(t store.Tool) time.Duration {
	spec := t.Source.Spec
	switch {
	case x.deps.Cache == nil || t.Effect != store.Read || t.OriginalName == healthCheck || kinds.Facts(t.Source.Kind).Uncached:
		return 0
	case len(spec.ClientRequests) > 0 || spec.SessionContext || spec.ProviderData != nil: // the result may depend on the caller
		return 0
	case spec.UserLogin(): // it is what one user may see, and only while the user is connected
		return 0
	case spec.Cache == nil:
		return x.cfg.CacheTTL
	case spec.Cache.Disabled:
		return 0
	}
	if seconds, ok := spec.Cache.Tools[t.OriginalName]; ok {
		return time.Duration(seconds) * time.Second
	}
	if spec.Cache.TTL > 0 {
		return time.Duration(spec.Cache.TTL) * time.Second
	}
	return x.cfg.CacheTTL
}

// recall answers the call with a result of an earlier one from the cache. Without one, the attempt's Fill keeps its result if it may be
// kept. Further attempts, and calls that somebody approved or answered questions of, are always made, and so is what a turn repeats: its
// model wants to know whether something changed.
func (a *attempt) recall(ctx context.Context) (*Outcome, error) {
	r, t, kept := a.req, a.tool, a.x.deps.Cache
	ttl := a.x.keepFor(t)
	if ttl == 0 || a.row != nil || a.approval != "" || r.Input != nil {
		return nil, nil
	}
	subject := ""
	if c := t.Source.Spec.Cache; c == nil || !c.Shared || t.Source.Spec.Exchange() {
		subject = r.Principal.GetSubject()
	}
	key := cache.NewKey(r.Tenant, t.Source.Name, t.Name,
		t.Source.ID, strconv.FormatUint(uint64(t.Source.Revision), 10), t.DefinitionHash, r.argsHash, subject)
	if r.Fresh {
		a.fill = kept.Fill(ctx, key, ttl)
		return nil, nil
	}
	result, fill := kept.Get(ctx, key, ttl)
	if result == nil {
		a.fill = fill
		return nil, nil
	}
	if r.TurnID != "" {
		repeated, err := a.x.deps.Store.Repeated(ctx, store.Execution{
			Tenant: r.Tenant, TurnID: r.TurnID, Tool: r.Tool, ArgumentsHash: r.argsHash,
		})
		if err != nil {
			return nil, err
		}
		if repeated {
			a.fill = kept.Fill(ctx, key, ttl)
			return nil, nil
		}
	}
	return a.record(ctx, result)
}

// record writes the row of a call that was answered from the cache.
func (a *attempt) record(ctx context.Context, kept *turnv1.ToolResult) (*Outcome, error) {
	row := a.newRow()
	row.State, row.Cache, row.EndTime = store.Done, store.CacheHit, row.CreateTime
	out := &Outcome{Cached: true, ExecutionID: row.ID}
	out.Result, out.Code, row.Result = a.x.encode(a.req, row.ID, kept, "")
	if a.follows() {
		return out, a.x.deps.Store.RecordLater(ctx, row)
	}
	return out, a.x.deps.Store.Record(ctx, row)
}

// dropResults drops the results of a source after a call that may have changed something there.
func (x *Executor) dropResults(ctx context.Context, row store.Execution) {
	if x.deps.Cache != nil && row.Effect != store.Read && row.State != store.Failed {
		x.deps.Cache.Changed(ctx, row.Tenant, row.Source)
	}
}
