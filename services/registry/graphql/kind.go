package graphql

import (
	"context"
	"encoding/json"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/document"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// introspectEvery is how often the schema of a GraphQL API is read: it has no ETag, and is long. In between the API is only asked whether
// it is there.
const introspectEvery = 5 * time.Minute

// Kind is a GraphQL API.
type Kind struct{}

// Facts implements source.Kind.
func (Kind) Facts() source.Facts {
	return source.Facts{Name: "graphql", Auth: source.AnyAuth, Headers: true}
}

// Validate implements source.Kind.
func (Kind) Validate(s store.Source, bad source.Bad) {
	source.NoServer(s, bad)
	if s.Document != "" || s.Spec.BaseURL != "" || len(s.Spec.Endpoints) > 0 {
		bad("source.url", "a source of kind graphql has a url, and no document, base_url or endpoints")
	}
	if message := source.WrongURL(s.Spec.URL); message != "" {
		bad("source.url", message)
	}
	if f := s.Spec.Operations; f != nil && len(f.Tags)+len(f.Paths) > 0 {
		bad("source.operations", "queries and mutations are selected by names")
	}
}

// Open returns the driver of the kind.
func Open(documents *document.Keeper, caller *httpcall.Caller) source.Driver {
	return driver{documents, caller}
}

// driver reads schemas and calls their queries and mutations.
type driver struct {
	*document.Keeper
	*httpcall.Caller
}

func (d driver) Discover(ctx context.Context, s store.Source, as source.User) (store.Inventory, error) {
	request, err := d.Request(s, as)
	if err != nil {
		return store.Inventory{}, err
	}
	query := Introspection
	_, read, ok := d.Known(s)
	recent := ok && time.Since(read) < introspectEvery
	if recent {
		query = "{__typename}"
	}
	if request.Post, err = json.Marshal(map[string]string{"query": query}); err != nil {
		return store.Inventory{}, fault.Internal(err)
	}
	answer, _, err := d.Fetch(ctx, s, request)
	if err != nil {
		return store.Inventory{}, err
	}
	if recent {
		if err := httpcall.CheckGraphQL(answer); err != nil {
			return store.Inventory{}, source.Invalid(fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
				"source %q does not answer as a GraphQL API: %s", s.Name, err))
		}
		return store.Inventory{Unchanged: true}, nil
	}
	return d.Inventory(ctx, s, answer, "", nil, func() (store.Inventory, error) { return d.read(ctx, s, answer) })
}

// read makes tools of an introspection.
func (d driver) read(ctx context.Context, s store.Source, answer []byte) (store.Inventory, error) {
	o := Options{URL: s.Spec.URL, MaxOperations: d.MaxOperations}
	if s.Spec.Operations != nil {
		o.Names = s.Spec.Operations.Names
	}
	tools, skipped, err := Read(ctx, answer, o)
	if err != nil {
		return store.Inventory{}, source.Invalid(fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: %s", s.Name, err))
	}
	inv := store.Inventory{ProtocolVersion: "GraphQL", Warnings: skipped}
	for _, t := range tools {
		raw, err := json.Marshal(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		f := store.Found{
			OriginalName: t.Name, Description: t.Description, Raw: raw, InputSchema: t.InputSchema, Tags: t.Tags,
			Deprecated: t.Deprecated, Effect: store.Once,
		}
		if t.Reads {
			f.Effect = store.Read
		}
		inv.Tools = append(inv.Tools, f)
	}
	return inv, nil
}
