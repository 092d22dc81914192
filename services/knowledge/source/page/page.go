// Package page is the kind "url" of sources of banks: one page, read when its server says that it has changed.
package page

import (
	"context"

	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/source/fetch"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Kind implements source.Kind.
type Kind struct {
	// Client reads the page.
	Client fetch.Client
}

// Check implements source.Kind.
func (Kind) Check(spec store.SourceSpec) error {
	if err := source.Only(spec, "url"); err != nil {
		return err
	}
	return fetch.CheckURL(spec.URL)
}

// Read implements source.Kind.
func (k Kind) Read(ctx context.Context, spec store.SourceSpec, v source.Visitor) error {
	p, err := k.Client.Get(ctx, spec.URL, v.Validator(spec.URL))
	switch {
	case err != nil:
		return err
	case p.Gone:
		return nil
	}
	v.Total(1)
	if p.Unchanged {
		return v.Same(ctx, spec.URL)
	}
	return v.Found(ctx, source.Item{
		Key: spec.URL, Name: fetch.Name(spec.URL), MediaType: p.MediaType, Validator: p.Validator, Labels: p.Labels, Data: p.Data,
	})
}
