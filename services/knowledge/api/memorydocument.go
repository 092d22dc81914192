package api

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/factbook"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// GetMemoryDocument implements MemoryService.
func (s *memory) GetMemoryDocument(ctx context.Context, req *knowledgev1.GetMemoryDocumentRequest) (*knowledgev1.MemoryDocument, error) {
	read := s.book.Document
	if req.GetVersion() != nil {
		read = func(ctx context.Context, o store.Owner, agent string) (factbook.Document, error) {
			return s.book.DocumentAt(ctx, o, agent, timestamp.Time(req.GetVersion()))
		}
	}
	d, err := read(ctx, caller(ctx), req.GetAgentId())
	if err != nil {
		return nil, err
	}
	return memoryDocument(d), nil
}

// UpdateMemoryDocument implements MemoryService.
func (s *memory) UpdateMemoryDocument(ctx context.Context, req *knowledgev1.UpdateMemoryDocumentRequest,
) (*knowledgev1.UpdateMemoryDocumentResponse, error) {
	edits, after, err := s.book.Edit(ctx, caller(ctx), factbook.EditSpec{
		AgentID: req.GetAgentId(), Markdown: req.GetMarkdown(), Etag: req.GetEtag(), DryRun: req.GetDryRun(),
	})
	if err != nil {
		return nil, err
	}
	return &knowledgev1.UpdateMemoryDocumentResponse{Changes: editsToProto(edits), Document: memoryDocument(after)}, nil
}

// ListMemoryVersions implements MemoryService.
func (s *memory) ListMemoryVersions(ctx context.Context, req *knowledgev1.ListMemoryVersionsRequest,
) (*knowledgev1.ListMemoryVersionsResponse, error) {
	list := "memory versions|" + req.GetAgentId()
	var before int64
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &before)
	if err != nil {
		return nil, err
	}
	all, err := s.book.Versions(ctx, caller(ctx), req.GetAgentId())
	if err != nil {
		return nil, err
	}
	var rows []factbook.Version
	for _, v := range all {
		if (before == 0 || v.Time.UnixMicro() < before) && len(rows) <= size {
			rows = append(rows, v)
		}
	}
	out := &knowledgev1.ListMemoryVersionsResponse{}
	rows, out.NextPageToken = page.Trim(rows, size, list, func(v factbook.Version) any { return v.Time.UnixMicro() })
	for _, v := range rows {
		out.Versions = append(out.Versions, &knowledgev1.MemoryVersion{Time: timestamp.Of(v.Time), Facts: int32(v.Facts)})
	}
	return out, nil
}

// CompareMemoryVersions implements MemoryService.
func (s *memory) CompareMemoryVersions(ctx context.Context, req *knowledgev1.CompareMemoryVersionsRequest,
) (*knowledgev1.CompareMemoryVersionsResponse, error) {
	var from, to time.Time
	if req.GetFrom() != nil {
		from = timestamp.Time(req.GetFrom())
	}
	if req.GetTo() != nil {
		to = timestamp.Time(req.GetTo())
	}
	edits, err := s.book.Compare(ctx, caller(ctx), req.GetAgentId(), from, to)
	if err != nil {
		return nil, err
	}
	return &knowledgev1.CompareMemoryVersionsResponse{Changes: editsToProto(edits)}, nil
}

func memoryDocument(d factbook.Document) *knowledgev1.MemoryDocument {
	return &knowledgev1.MemoryDocument{Markdown: d.Markdown, Etag: d.Etag}
}

// editKinds are the kinds of differences, as the API names them.
var editKinds = map[factbook.EditKind]knowledgev1.MemoryChangeKind{
	factbook.Added:     knowledgev1.MemoryChangeKind_MEMORY_CHANGE_KIND_ADDED,
	factbook.Corrected: knowledgev1.MemoryChangeKind_MEMORY_CHANGE_KIND_CORRECTED,
	factbook.Erased:    knowledgev1.MemoryChangeKind_MEMORY_CHANGE_KIND_FORGOTTEN,
}

func editsToProto(edits []factbook.Edit) (out []*knowledgev1.MemoryChange) {
	for _, e := range edits {
		out = append(out, &knowledgev1.MemoryChange{
			Kind: editKinds[e.Kind], FactId: e.FactID, Line: int32(e.Line), Before: e.Before, After: e.After,
		})
	}
	return out
}
