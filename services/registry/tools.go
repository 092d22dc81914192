package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// namesAtOnce is the number of names read and checked at a time.
const namesAtOnce = 1000

// ListTools implements ToolService.
func (s *Service) ListTools(ctx context.Context, req *registryv1.ListToolsRequest) (*registryv1.ListToolsResponse, error) {
	list := "tools|source=" + req.GetSource()
	var after string
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	names, err := s.visible(ctx, authn.From(ctx), req.GetSource(), after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &registryv1.ListToolsResponse{}
	names, resp.NextPageToken = page.Trim(names, size, list, func(name string) any { return name })
	found, err := s.store.Tools(ctx, authn.Tenant(ctx), names)
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	for _, t := range found {
		resp.Tools = append(resp.Tools, toolToProto(t))
	}
	return resp, nil
}

// visible returns at most limit names of tools that the principal may use, after the given name.
func (s *Service) visible(ctx context.Context, p *policyv1.Principal, source, after string, limit int) ([]string, error) {
	var seen []string
	for len(seen) < limit {
		names, err := s.store.ToolNames(ctx, tenantOf(p), source, after, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		allowed, err := s.allowed(ctx, p, names)
		if err != nil {
			return nil, err
		}
		seen = append(seen, allowed...)
		if len(names) < namesAtOnce {
			break
		}
		after = names[len(names)-1]
	}
	return seen[:min(len(seen), limit)], nil
}

func (s *Service) allowed(ctx context.Context, p *policyv1.Principal, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	resp, err := s.policy.FilterTools(ctx, &policyv1.FilterToolsRequest{Principal: p, Tools: names})
	if err != nil {
		return nil, fmt.Errorf("ask policy: %w", err)
	}
	return resp.GetTools(), nil
}

func tenantOf(p *policyv1.Principal) string {
	if t := p.GetTenant(); t != "" {
		return t
	}
	return authn.DefaultTenant
}

// GetTool implements ToolService.
func (s *Service) GetTool(ctx context.Context, req *registryv1.GetToolRequest) (*registryv1.Tool, error) {
	if strings.Contains(req.GetName(), "\x00") {
		return nil, noTool(req.GetName())
	}
	found, err := s.store.Tools(ctx, authn.Tenant(ctx), []string{req.GetName()})
	if err != nil {
		return nil, fmt.Errorf("read tool: %w", err)
	}
	if len(found) == 0 || found[0].Source.Disabled {
		return nil, noTool(req.GetName())
	}
	ok, err := s.allowed(ctx, authn.From(ctx), []string{req.GetName()})
	if err != nil {
		return nil, err
	}
	if !slices.Contains(ok, req.GetName()) {
		return nil, noTool(req.GetName())
	}
	return toolToProto(found[0]), nil
}

// noTool is the fault for a tool that does not exist and for one that the caller may not use: they must look alike.
func noTool(name string) *fault.Error {
	return fault.NotFound("there is no tool %q", name).Hint("List the tools to see which there are.")
}

const (
	// refreshAtOnce limits the concurrent syncs of one RefreshTools.
	refreshAtOnce = 64
	// refreshTimeout bounds how long RefreshTools waits for one source.
	refreshTimeout = 10 * time.Second
)

// RefreshTools implements ToolService.
func (s *Service) RefreshTools(ctx context.Context, _ *registryv1.RefreshToolsRequest) (*registryv1.SyncResult, error) {
	var (
		mu    sync.Mutex
		total = &registryv1.SyncResult{}
		g     errgroup.Group
		after string
	)
	g.SetLimit(refreshAtOnce)
	for {
		part, err := s.store.Sources(ctx, authn.Tenant(ctx), after, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("list sources: %w", err)
		}
		for _, src := range part {
			after = src.Name
			if src.Disabled {
				continue
			}
			g.Go(func() error {
				diff, err := s.refresh(ctx, src)
				mu.Lock()
				defer mu.Unlock()
				return addDiff(total, src, diff, err)
			})
		}
		if len(part) < namesAtOnce {
			break
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, names := range [][]string{total.Added, total.Removed, total.Changed, total.Failed} {
		slices.Sort(names)
	}
	return total, nil
}

// refresh syncs one of many sources. One that does not answer in time is reported as failed; its sync continues.
func (s *Service) refresh(ctx context.Context, src store.Source) (store.Diff, error) {
	waiting, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	diff, err := s.syncer.SyncFresh(waiting, src)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "no answer within %s; the sync goes on", refreshTimeout)
	}
	return diff, err
}

// addDiff adds the result of one sync. The tools of a source that failed count unchanged.
func addDiff(total *registryv1.SyncResult, src store.Source, d store.Diff, err error) error {
	switch {
	case errors.Is(err, store.ErrChanged):
		return nil // somebody else syncs the new revision
	case err != nil:
		f := fault.As(err)
		if f == nil {
			return err
		}
		total.Failed = append(total.Failed, src.Name+": "+f.Message)
		total.Total += uint32(src.ToolCount)
		return nil
	}
	total.Added, total.Removed = append(total.Added, d.Added...), append(total.Removed, d.Removed...)
	total.Changed = append(total.Changed, d.Changed...)
	total.Total += uint32(d.Total)
	return nil
}

// ListExecutions implements ToolService.
func (s *Service) ListExecutions(ctx context.Context, req *registryv1.ListExecutionsRequest) (*registryv1.ListExecutionsResponse, error) {
	f := store.ExecutionFilter{TurnID: req.GetTurnId(), Tool: req.GetTool()}
	list := fmt.Sprintf("executions|turn=%s|tool=%s", f.TurnID, f.Tool)
	var after store.Cursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Executions(ctx, authn.Tenant(ctx), f, after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list executions: %w", err)
	}
	resp := &registryv1.ListExecutionsResponse{}
	rows, resp.NextPageToken = page.Trim(rows, size, list, func(e store.Execution) any {
		return store.Cursor{Micros: sqldb.Micros(e.CreateTime), ID: e.ID}
	})
	for _, e := range rows {
		resp.Executions = append(resp.Executions, executionToProto(e))
	}
	return resp, nil
}
