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

// results decides which calls use the cache.
type results struct {
	cache *cache.Cache // nil: none do
	ttl   time.Duration
	store Store
}

// keepFor returns how long a tool's results are kept; 0 = they are not.
func (s results) keepFor(t store.Tool) time.Duration {
	spec := t.Source.Spec
	switch {
	case s.cache == nil || t.Effect != store.Read || t.OriginalName == healthCheck || kinds.Facts(t.Source.Kind).Uncached:
		return 0
	case len(spec.ClientRequests) > 0 || spec.SessionContext || spec.ProviderData != nil: // the result may depend on the caller
		return 0
	case spec.UserLogin(): // it is what one user may see, and only while the user is connected
		return 0
	case spec.Cache == nil:
		return s.ttl
	case spec.Cache.Disabled:
		return 0
	}
	if seconds, ok := spec.Cache.Tools[t.OriginalName]; ok {
		return time.Duration(seconds) * time.Second
	}
	if spec.Cache.TTL > 0 {
		return time.Duration(spec.Cache.TTL) * time.Second
	}
	return s.ttl
}

// recall returns a result of an earlier call from the cache. Without one, the Fill keeps the result of this call; nil if it is not to be
// kept. Further attempts, and calls that somebody approved or answered questions of, are always made, and so is what a turn repeats: its
// model wants to know whether something changed.
func (s results) recall(ctx context.Context, r *request, t store.Tool, row *store.Execution, approval string) (*turnv1.ToolResult,
	*cache.Fill, error,
) {
	ttl := s.keepFor(t)
	if ttl == 0 || row != nil || approval != "" || r.Input != nil {
		return nil, nil, nil
	}
	subject := ""
	if c := t.Source.Spec.Cache; c == nil || !c.Shared || t.Source.Spec.Exchange() {
		subject = r.Principal.GetSubject()
	}
	key := cache.NewKey(r.Tenant, t.Source.Name, t.Name,
		t.Source.ID, strconv.FormatUint(uint64(t.Source.Revision), 10), t.DefinitionHash, r.argsHash, subject)
	if r.Fresh {
		return nil, s.cache.Fill(ctx, key, ttl), nil
	}
	kept, fill := s.cache.Get(ctx, key, ttl)
	if kept == nil || r.TurnID == "" {
		return kept, fill, nil
	}
	repeated, err := s.store.Repeated(ctx, store.Execution{
		Tenant: r.Tenant, TurnID: r.TurnID, Tool: r.Tool, ArgumentsHash: r.argsHash,
	})
	switch {
	case err != nil:
		return nil, nil, err
	case repeated:
		return nil, s.cache.Fill(ctx, key, ttl), nil
	}
	return kept, nil, nil
}

// record writes the row of a call that was answered from the cache.
func (x *Executor) record(ctx context.Context, r *request, t store.Tool, decision string, kept *turnv1.ToolResult) (Outcome, error) {
	row := x.newRow(r, t, decision)
	row.State, row.Cache, row.EndTime = store.Done, store.CacheHit, row.CreateTime
	out := Outcome{Cached: true, ExecutionID: row.ID, source: row.Source}
	out.Result, out.Code, row.Result = x.encode(r, row.ID, kept, "")
	if r.unrepeated(t) {
		return out, x.deps.Store.RecordLater(ctx, row)
	}
	return out, x.deps.Store.Record(ctx, row)
}

// keepable returns the result of a call that can be given to the next caller; nil if there is none.
func keepable(out Outcome) *turnv1.ToolResult {
	if out.Fault != nil || out.Input != nil || out.Code != "" || out.Result.GetIsError() {
		return nil
	}
	return out.Result
}

// changed drops the results of a source after a call that may have changed something there.
func (s results) changed(ctx context.Context, row store.Execution) {
	if s.cache != nil && row.Effect != store.Read && row.State != store.Failed {
		s.cache.Changed(ctx, row.Tenant, row.Source)
	}
}
