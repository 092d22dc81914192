package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/cache"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// defaultPeriod is the period of statistics for which no other is requested.
const defaultPeriod = 24 * time.Hour

// ToolCache implements ToolCacheService.
type ToolCache struct {
	registryv1.UnimplementedToolCacheServiceServer
	store store.Store
	cache *cache.Cache // nil: no results are kept
	now   func() time.Time
}

// GetToolCacheStats implements ToolCacheService.
func (s *ToolCache) GetToolCacheStats(ctx context.Context, req *registryv1.GetToolCacheStatsRequest) (*registryv1.ToolCacheStats, error) {
	period := defaultPeriod
	if req.GetPeriod() != nil {
		period = req.GetPeriod().AsDuration()
	}
	since := s.now().Add(-period)
	use, err := s.store.CacheUse(ctx, authn.Tenant(ctx), since)
	if err != nil {
		return nil, err
	}
	out := &registryv1.ToolCacheStats{
		Hits: use.Hits, Misses: use.Misses, Since: timestamp.Of(since), HitRate: rate(use.Hits, use.Hits+use.Misses),
	}
	if s.cache != nil {
		now := s.cache.Stats(ctx)
		out.Available, out.Results, out.SizeBytes, out.Failures = now.Available, int64(now.Results), int64(now.Bytes), now.Failures
	}
	return out, nil
}

// ClearToolCache implements ToolCacheService.
func (s *ToolCache) ClearToolCache(ctx context.Context, req *registryv1.ClearToolCacheRequest) (*registryv1.ClearToolCacheResponse, error) {
	source, tool := req.GetSource(), req.GetTool()
	if tool != "" {
		of, _, found := strings.Cut(tool, "__")
		if source != "" && source != of {
			return nil, fault.Invalid("source", "is not that of the tool %q", tool).Hint("Give one of tool and source.")
		}
		if _, err := s.store.Tool(ctx, authn.Tenant(ctx), tool); !found || errors.Is(err, store.ErrNotFound) {
			return nil, noTool(tool)
		} else if err != nil {
			return nil, err
		}
		source = of
	} else if source != "" {
		src, err := s.store.Source(ctx, authn.Tenant(ctx), source)
		if errors.Is(err, store.ErrNotFound) {
			return nil, fault.NotFound("there is no source %q", source)
		}
		if err != nil {
			return nil, err
		}
		source = src.Name
	}
	if err := clearResults(ctx, s.cache, authn.Tenant(ctx), source, tool); err != nil {
		return nil, err
	}
	return &registryv1.ClearToolCacheResponse{}, nil
}

// clearResults clears the cache, unless there is none.
func clearResults(ctx context.Context, results *cache.Cache, tenant, source, tool string) error {
	if results == nil {
		return nil
	}
	if err := results.Clear(ctx, tenant, source, tool); err != nil {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the cache cannot be cleared: the bus does not answer").
			Hint("Meanwhile no result of it is used. Try again when the bus is back.").Cause(err)
	}
	return nil
}

// forgetResults clears the results of the tools that were called in turns: the cache does not record which of them came from there.
func forgetResults(ctx context.Context, from store.Store, results *cache.Cache, req *registryv1.ForgetTurnsRequest) error {
	kept, err := from.Kept(ctx, req.GetTenant(), req.GetTurnIds())
	if err != nil {
		return err
	}
	for _, e := range kept {
		if err := clearResults(ctx, results, req.GetTenant(), e.Source, e.Tool); err != nil {
			return err
		}
	}
	return nil
}

func cacheFromProto(p *registryv1.ResultCache) *store.ResultCache {
	if p == nil {
		return nil
	}
	return &store.ResultCache{Disabled: p.GetDisabled(), TTL: p.GetTtlSeconds(), Tools: p.GetToolTtlSeconds(), Shared: p.GetShared()}
}

func cacheToProto(c *store.ResultCache) *registryv1.ResultCache {
	if c == nil {
		return nil
	}
	return &registryv1.ResultCache{Disabled: c.Disabled, TtlSeconds: c.TTL, ToolTtlSeconds: c.Tools, Shared: c.Shared}
}
