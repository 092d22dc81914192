package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/execute"
	"github.com/windlass-dev/windlass/services/registry/inventory"
	"github.com/windlass-dev/windlass/services/registry/origin"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Tools implements ToolService.
type Tools struct {
	registryv1.UnimplementedToolServiceServer
	store    store.Store
	catalog  catalog
	syncer   *inventory.Syncer
	executor *execute.Executor
	origins  *origin.Reader
	indexes  *indexes
}

// ListTools implements ToolService.
func (s *Tools) ListTools(ctx context.Context, req *registryv1.ListToolsRequest) (*registryv1.ListToolsResponse, error) {
	list := fmt.Sprintf("tools|source=%s|tag=%s|effect=%d", req.GetSource(), req.GetTag(), req.GetEffect())
	var after string
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.list(ctx, req, after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &registryv1.ListToolsResponse{}
	found, resp.NextPageToken = page.Trim(found, size, list, func(t store.Tool) any { return t.Name })
	for _, t := range found {
		resp.Tools = append(resp.Tools, toolToProto(t))
	}
	return resp, nil
}

// list returns at most limit tools after the given name that the caller may use and that the request asks for.
func (s *Tools) list(ctx context.Context, req *registryv1.ListToolsRequest, after string, limit int) ([]store.Tool, error) {
	var out []store.Tool
	for {
		names, err := s.catalog.visible(ctx, authn.From(ctx), req.GetSource(), after, limit)
		if err != nil {
			return nil, err
		}
		found, err := s.store.Tools(ctx, authn.Tenant(ctx), names)
		if err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
		for _, t := range found {
			if (req.GetTag() == "" || slices.Contains(t.Definition.Tags, req.GetTag())) &&
				(req.GetEffect() == 0 || t.Effect == store.Effect(req.GetEffect())) {
				out = append(out, t)
			}
		}
		if len(names) < limit || len(out) >= limit {
			return out[:min(len(out), limit)], nil
		}
		after = names[len(names)-1]
	}
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
	f := store.ExecutionFilter{
		TurnID: req.GetTurnId(), SessionID: req.GetSessionId(), CallID: req.GetCallId(), Tool: req.GetTool(), Source: req.GetSource(),
		State: enum.Name(req.GetState()), Errors: req.GetErrors(), From: moment(req.GetStartTime()), Until: moment(req.GetEndTime()),
	}
	list := fmt.Sprintf("executions|turn=%s|session=%s|call=%q|tool=%s|source=%s|state=%s|errors=%v|%d-%d", f.TurnID, f.SessionID, f.CallID,
		f.Tool, f.Source, f.State, f.Errors, req.GetStartTime().AsTime().UnixMicro(), req.GetEndTime().AsTime().UnixMicro())
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

// moment returns the time of a timestamp; zero without one.
func moment(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
