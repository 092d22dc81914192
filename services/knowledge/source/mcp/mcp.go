// Package mcp is the kind "mcp" of sources of banks: resources of an MCP server that is a source of tools in the registry.
package mcp

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// Name is the name of the kind.
	Name = "mcp"
	// maxPages is the maximum number of pages of a list of resources, and maxListed that of resources in it, those that do not match included.
	maxPages, maxListed = 1000, 50_000
	// maxRow is how many resources in a row may be unreadable. Then the server is taken to be away.
	maxRow = 5
)

// Servers passes requests on to MCP servers as the caller in ctx; the client of the registry's ServerService does. Policy decides about the
// name "source__resources" at each request.
type Servers interface {
	// ForwardRequest sends one request to a server and returns its answer.
	ForwardRequest(ctx context.Context, in *registryv1.ForwardRequestRequest, opts ...grpc.CallOption,
	) (*registryv1.ForwardRequestResponse, error)
}

// Kind implements source.Personal.
type Kind struct {
	// Servers has the resources.
	Servers Servers
	// MaxBytes is the maximum size of a resource.
	MaxBytes int64
}

// Check implements source.Kind.
func (Kind) Check(spec store.SourceSpec) error {
	_, err := pattern(spec.URI)
	return errors.Join(source.Only(spec, "mcp_source", "uri?"), err)
}

// Personal implements source.Personal.
func (Kind) Personal() {}

// Read implements source.Kind. A resource is read only after the whole list was: one that breaks off loses nothing.
func (k Kind) Read(ctx context.Context, spec store.SourceSpec, v source.Visitor) error {
	list, err := k.list(ctx, spec)
	if err != nil {
		return err
	}
	v.Total(len(list))
	row := 0
	for _, r := range list {
		item, err := k.read(ctx, spec, r)
		unusable, ok := errors.AsType[*unusableError](err)
		switch {
		case err == nil:
			row = 0
			err = v.Found(ctx, item)
		case ok:
			if row++; row >= maxRow {
				return source.Unreadable("%d resources in a row could not be read, the last because %s", row, unusable)
			}
			err = v.Failed(ctx, r.URI, unusable.Error())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns the resources of a source that match, without those that are listed again.
func (k Kind) list(ctx context.Context, spec store.SourceSpec) (out []resource, err error) {
	match, err := pattern(spec.URI)
	if err != nil {
		return nil, err
	}
	cursors, seen, listed := map[string]bool{}, map[string]bool{}, 0
	for cursor := ""; ; {
		var page listing
		if err := k.ask(ctx, spec, "resources/list", cursorParams(cursor), &page); err != nil {
			return nil, source.Unreadable("its resources cannot be listed: %s", err)
		}
		if listed += len(page.Resources); listed > maxListed {
			return nil, source.Unreadable("it lists more than %d resources", maxListed)
		}
		for _, r := range page.Resources {
			if match.MatchString(r.URI) && !seen[r.URI] {
				seen[r.URI] = true
				out = append(out, r)
			}
		}
		cursor = page.NextCursor
		switch {
		case cursor == "":
			return out, nil
		case cursors[cursor]:
			return nil, source.Unreadable("its list of resources does not end: a page is followed by itself")
		case len(cursors) >= maxPages:
			return nil, source.Unreadable("its list of resources has more than %d pages", maxPages)
		}
		cursors[cursor] = true
	}
}

// unusableError says why a resource cannot be an item. Other errors end the reading.
type unusableError struct{ error }

// read returns a resource as an item; an *unusableError if it cannot be one.
func (k Kind) read(ctx context.Context, spec store.SourceSpec, r resource) (source.Item, error) {
	var answer reading
	err := k.ask(ctx, spec, "resources/read", map[string]string{"uri": r.URI}, &answer)
	if refused, ok := errors.AsType[*fault.Error](err); ok && (refused.Code == codes.NotFound || refused.Code == codes.PermissionDenied) {
		return source.Item{}, source.Unreadable("%s", refused.Message) // the source is gone, or its resources are not for this user any more
	}
	if ctx.Err() != nil {
		return source.Item{}, fmt.Errorf("read a resource: %w", ctx.Err())
	}
	var item source.Item
	if err == nil {
		item, err = answer.item(r, k.MaxBytes)
	}
	if err != nil {
		return item, &unusableError{err}
	}
	item.Name = spec.MCPSource + "/" + r.URI
	return item, nil
}
