package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/page"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/execute"
	"github.com/windlass-dev/windlass/services/registry/inventory"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/sourcespec"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/upstream"
)

// Sources implements SourceService.
type Sources struct {
	registryv1.UnimplementedSourceServiceServer
	store interface {
		store.SourceStore
		store.ToolStore
	}
	syncer   *inventory.Syncer
	upstream *upstream.Upstream
	metrics  *execute.Metrics
	now      func() time.Time
	log      *slog.Logger
}

// firstSync bounds how long CreateSource and UpdateSource wait for the sync that they start, which continues after that.
const firstSync = 10 * time.Second

// CreateSource implements SourceService.
func (s *Sources) CreateSource(ctx context.Context, req *registryv1.CreateSourceRequest) (*registryv1.Source, error) {
	src, err := SourceFromProto(req.GetSource())
	if err != nil {
		return nil, err
	}
	src.Tenant = authn.Tenant(ctx)
	if src.Name == "" {
		return nil, fault.Invalid("source.name", "a name is required")
	}
	if src.Kind == "" {
		return nil, fault.Invalid("source.kind", "a kind is required: %s", kinds.All())
	}
	if err := sourcespec.Validate(src); err != nil {
		return nil, err
	}
	if req.GetValidateOnly() {
		return s.sourceToProto(src), nil
	}
	src = sourcespec.New(src, s.now())
	src.LoginSubject = userOf(ctx)
	err = s.store.CreateSource(ctx, src)
	if errors.Is(err, store.ErrExists) {
		return nil, fault.AlreadyExists("a source named %q exists already", src.Name).Hint("Choose another name, or update the one that exists.")
	}
	if err != nil {
		return nil, err
	}
	return s.synced(ctx, src)
}

// synced syncs a source that was just written and returns its state.
func (s *Sources) synced(ctx context.Context, src store.Source) (*registryv1.Source, error) {
	if !src.Disabled {
		wait, cancel := context.WithTimeout(ctx, firstSync)
		_, _ = s.syncer.Sync(wait, src) // the source's state has the result; the sync continues after the timeout
		cancel()
	}
	after, err := s.store.Source(ctx, src.Tenant, src.ID)
	if err != nil {
		return nil, notFound(err, src.Name)
	}
	return s.sourceToProto(after), nil
}

// GetSource implements SourceService.
func (s *Sources) GetSource(ctx context.Context, req *registryv1.GetSourceRequest) (*registryv1.Source, error) {
	src, err := s.source(ctx, req.GetSourceId())
	if err != nil {
		return nil, err
	}
	return s.sourceToProto(src), nil
}

func (s *Sources) source(ctx context.Context, idOrName string) (store.Source, error) {
	if strings.Contains(idOrName, "\x00") {
		return store.Source{}, notFound(store.ErrNotFound, idOrName)
	}
	src, err := s.store.Source(ctx, authn.Tenant(ctx), idOrName)
	if err != nil {
		return src, notFound(err, idOrName)
	}
	return src, nil
}

func notFound(err error, idOrName string) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.NotFound("there is no source %q", idOrName)
	}
	return fmt.Errorf("read source: %w", err)
}

// ListSources implements SourceService.
func (s *Sources) ListSources(ctx context.Context, req *registryv1.ListSourcesRequest) (*registryv1.ListSourcesResponse, error) {
	var after string
	size, err := page.Request("sources", req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.store.Sources(ctx, authn.Tenant(ctx), after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	resp := &registryv1.ListSourcesResponse{}
	found, resp.NextPageToken = page.Trim(found, size, "sources", func(s store.Source) any { return s.Name })
	for _, src := range found {
		resp.Sources = append(resp.Sources, s.sourceToProto(src))
	}
	return resp, nil
}

// UpdateSource implements SourceService.
func (s *Sources) UpdateSource(ctx context.Context, req *registryv1.UpdateSourceRequest) (*registryv1.Source, error) {
	id := req.GetSource().GetId()
	if id == "" {
		id = req.GetSource().GetName()
	}
	if id == "" {
		return nil, fault.Invalid("source.id", "an id or a name is required")
	}
	have, err := s.source(ctx, id)
	if err != nil {
		return nil, err
	}
	if want := req.GetSource().GetRevision(); want != 0 && want != have.Revision {
		return nil, fault.Conflict("source %q is at revision %d, not %d", have.Name, have.Revision, want)
	}
	changed, err := applyUpdate(have, req)
	if err != nil {
		return nil, err
	}
	if err := sourcespec.Validate(changed); err != nil {
		return nil, err
	}
	if req.GetValidateOnly() {
		return s.sourceToProto(changed), nil
	}
	changed.UpdateTime = s.now()
	changed.LoginSubject = cmp.Or(userOf(ctx), changed.LoginSubject)
	err = s.store.UpdateSource(ctx, changed)
	if errors.Is(err, store.ErrChanged) {
		return nil, fault.Conflict("source %q was changed by somebody else meanwhile", have.Name)
	}
	if err != nil {
		return nil, notFound(err, have.Name)
	}
	changed.Revision++
	if changed.Disabled || !sourcespec.SameEndpoint(have.Spec, changed.Spec) {
		s.release(ctx, changed)
	}
	return s.synced(ctx, changed)
}

// DeleteSource implements SourceService.
func (s *Sources) DeleteSource(ctx context.Context, req *registryv1.DeleteSourceRequest) (*registryv1.DeleteSourceResponse, error) {
	src, err := s.source(ctx, req.GetSourceId())
	if err != nil {
		return nil, err
	}
	if err := s.store.DeleteSource(ctx, src.Tenant, src.ID); err != nil {
		return nil, notFound(err, req.GetSourceId())
	}
	s.release(ctx, src)
	s.metrics.Forget(src.Tenant, src.Name)
	return &registryv1.DeleteSourceResponse{}, nil
}

// release closes what is open for a source. The bridge does so by itself later, so a failure is only logged.
func (s *Sources) release(ctx context.Context, src store.Source) {
	s.syncer.Forget(src)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := s.upstream.Release(ctx, src); err != nil {
		s.log.WarnContext(ctx, "connections of a source were not released", "source", src.Name, "error", err)
	}
}

// SyncSource implements SourceService.
func (s *Sources) SyncSource(ctx context.Context, req *registryv1.SyncSourceRequest) (*registryv1.SyncResult, error) {
	src, err := s.source(ctx, req.GetSourceId())
	if err != nil {
		return nil, err
	}
	if src.Disabled {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "source %q is switched off", src.Name).
			Hint("Update it with disabled = false first.")
	}
	if src, err = s.syncAs(ctx, src); err != nil {
		return nil, err
	}
	s.upstream.Reread(src)
	diff, err := s.syncer.SyncFresh(ctx, src)
	if errors.Is(err, store.ErrChanged) {
		return nil, fault.Conflict("source %q was changed while it was looked at", src.Name)
	}
	if err != nil {
		return nil, err
	}
	return diffToProto(diff), nil
}

var sourceFields = fieldmask.Resource{
	Name: "source", Fixed: []string{"name", "kind"},
	Mutable: []string{
		"url", "command", "env", "dir", "headers", "transport", "disabled", "call_timeout_seconds", "effects", "elicitation",
		"client_requests", "session_context", "labels", "pin",
		"document", "descriptor_set", "archive", "key_header", "base_url", "operations", "auth", "endpoints", "max_calls", "max_calls_per_second",
		"exclude",
		"sync_auth", "cache", "temporal", "workflows", "provider_data", "agents", "trusted_tools",
	},
}

// applyUpdate returns the source with the fields of the request.
func applyUpdate(have store.Source, req *registryv1.UpdateSourceRequest) (store.Source, error) {
	if err := checkBinaries(req.GetSource(), have.Kind); err != nil {
		return have, err
	}
	now := sourceToProto(have)
	if err := sourceFields.Apply(now, req.GetSource(), req.GetUpdateMask().GetPaths()); err != nil {
		return have, err
	}
	want := sourceFromProto(now)
	have.Spec, have.Document, have.Disabled = want.Spec, want.Document, want.Disabled
	return have, nil
}

// sourceToProto returns a stored source, with this replica's state of it.
func (s *Sources) sourceToProto(src store.Source) *registryv1.Source {
	p := sourceToProto(src)
	p.Breaker = s.upstream.Breaker(src)
	return p
}
