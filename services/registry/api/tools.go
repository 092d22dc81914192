package api

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/execute"
	"github.com/windlass-dev/windlass/services/registry/inventory"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Tools implements ToolService.
type Tools struct {
	registryv1.UnimplementedToolServiceServer
	store    store.Store
	catalog  catalog
	syncer   *inventory.Syncer
	executor *execute.Executor
	indexes  *indexes
}

// ListTools implements ToolService.
func (s *Tools) ListTools(ctx context.Context, req *registryv1.ListToolsRequest) (*registryv1.ListToolsResponse, error) {
	list := "tools|source=" + req.GetSource()
	var after string
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	names, err := s.catalog.visible(ctx, authn.From(ctx), req.GetSource(), after, size+1)
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

// GetTool implements ToolService.
func (s *Tools) GetTool(ctx context.Context, req *registryv1.GetToolRequest) (*registryv1.Tool, error) {
	t, ok, err := s.catalog.usable(ctx, authn.From(ctx), req.GetName())
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, noTool(req.GetName())
	}
	return toolToProto(t), nil
}

// noTool is the fault for a tool that does not exist and for one that the caller may not use: they must look alike.
func noTool(name string) *fault.Error {
	return fault.NotFound("there is no tool %q", name).Hint("List the tools to see which there are.")
}

// ListExecutions implements ToolService.
func (s *Tools) ListExecutions(ctx context.Context, req *registryv1.ListExecutionsRequest) (*registryv1.ListExecutionsResponse, error) {
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
