package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/search"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Limits of a search.
const (
	foundDefault = 10
	foundMost    = 100
)

// indexesKept is the number of tenants whose index is kept in memory.
const indexesKept = 64

// indexes keeps an index of each tenant's tools until they change.
type indexes struct {
	store  store.ToolStore
	kept   *lru.Cache[string, versioned]
	making sync.Mutex // one index is made at a time: that takes much memory
}

type versioned struct {
	version string
	index   *search.Index
}

func newIndexes(st store.ToolStore) *indexes {
	kept, err := lru.New[string, versioned](indexesKept)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &indexes{store: st, kept: kept}
}

// of returns the index of a tenant's present tools.
func (x *indexes) of(ctx context.Context, tenant string) (*search.Index, error) {
	version, err := x.store.ToolsVersion(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("read version of tools: %w", err)
	}
	if have, ok := x.kept.Get(tenant); ok && have.version == version {
		return have.index, nil
	}
	x.making.Lock()
	defer x.making.Unlock()
	if have, ok := x.kept.Get(tenant); ok && have.version == version {
		return have.index, nil // somebody else made it meanwhile
	}
	var documents []search.Document
	for after := ""; ; {
		texts, err := x.store.ToolTexts(ctx, tenant, after, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
		for _, t := range texts {
			documents = append(documents, search.Document(t))
		}
		if len(texts) < namesAtOnce {
			break
		}
		after = texts[len(texts)-1].Name
	}
	index := search.New(documents)
	x.kept.Add(tenant, versioned{version, index})
	return index, nil
}

// SearchTools implements ToolService.
func (s *Tools) SearchTools(ctx context.Context, req *registryv1.SearchToolsRequest) (*registryv1.SearchToolsResponse, error) {
	limit := searchLimit(req.GetLimit())
	index, err := s.indexes.of(ctx, authn.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	hits := index.Find(req.GetQuery())
	if prefix := req.GetSource() + "__"; req.GetSource() != "" {
		var of []search.Hit
		for _, h := range hits {
			if strings.HasPrefix(h.Name, prefix) {
				of = append(of, h)
			}
		}
		hits = of
	}
	if hits, err = s.catalog.allowedHits(ctx, authn.From(ctx), hits, limit); err != nil {
		return nil, err
	}
	names := make([]string, len(hits))
	for i, h := range hits {
		names[i] = h.Name
	}
	found, err := s.store.Tools(ctx, authn.Tenant(ctx), names)
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	byName := map[string]store.Tool{}
	for _, t := range found {
		byName[t.Name] = t
	}
	resp := &registryv1.SearchToolsResponse{}
	for _, h := range hits {
		if t, ok := byName[h.Name]; ok {
			resp.Tools = append(resp.Tools, &registryv1.FoundTool{Tool: toolToProto(t), Score: h.Score})
		}
	}
	return resp, nil
}

func searchLimit(asked int32) int {
	if asked == 0 {
		return foundDefault
	}
	return min(int(asked), foundMost)
}

// FindTools implements ToolExecutionService.
func (s *ToolExecutions) FindTools(ctx context.Context, req *registryv1.FindToolsRequest) (*registryv1.FindToolsResponse, error) {
	tenant := req.GetPrincipal().GetTenant()
	listed, err := s.catalog.listed(ctx, tenant, req.GetGlobs())
	if err != nil {
		return nil, err
	}
	index, err := s.indexes.of(ctx, tenant)
	if err != nil {
		return nil, err
	}
	hits := slices.DeleteFunc(index.Find(req.GetQuery()), func(h search.Hit) bool { return !listed.may(h.Name) })
	resp, limit := &registryv1.FindToolsResponse{}, searchLimit(req.GetLimit())
	for len(hits) > 0 && len(resp.GetNames()) < limit {
		part := hits[:min(len(hits), namesAtOnce)]
		hits = hits[len(part):]
		found, err := s.catalog.allowedHits(ctx, req.GetPrincipal(), part, len(part))
		if err != nil {
			return nil, err
		}
		names := make([]string, len(found))
		for i, h := range found {
			names[i] = h.Name
		}
		if names, err = s.catalog.standing(ctx, tenant, listed, names); err != nil {
			return nil, err
		}
		for _, h := range found { // in their order
			if slices.Contains(names, h.Name) && len(resp.GetNames()) < limit {
				resp.Names = append(resp.Names, h.Name)
			}
		}
	}
	return resp, nil
}

// allowedHits returns the best hits that the principal may use.
func (c catalog) allowedHits(ctx context.Context, p *policyv1.Principal, hits []search.Hit, limit int) ([]search.Hit, error) {
	var out []search.Hit
	for len(hits) > 0 && len(out) < limit {
		part := hits[:min(len(hits), namesAtOnce)]
		hits = hits[len(part):]
		names := make([]string, len(part))
		for i, h := range part {
			names[i] = h.Name
		}
		usable, err := c.allowed(ctx, p, names)
		if err != nil {
			return nil, err
		}
		may := map[string]bool{}
		for _, name := range usable {
			may[name] = true
		}
		for _, h := range part {
			if may[h.Name] && len(out) < limit {
				out = append(out, h)
			}
		}
	}
	return out, nil
}
