package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Kind is an HTTP API whose endpoints are written by hand.
type Kind struct{}

// Facts implements source.Kind.
func (Kind) Facts() source.Facts {
	return source.Facts{Name: "http", Auth: source.AnyAuth, Headers: true, Silent: true}
}

// Validate implements source.Kind.
func (Kind) Validate(s store.Source, bad source.Bad) {
	source.NoServer(s, bad)
	if s.Spec.URL != "" || s.Document != "" || s.Spec.Operations != nil {
		bad("source.url", "a source of kind http has base_url and endpoints, and no url, document or operations")
	}
	if message := source.WrongURL(s.Spec.BaseURL); message != "" {
		bad("source.base_url", message)
	}
	if len(s.Spec.Endpoints) == 0 {
		bad("source.endpoints", "give at least one endpoint")
	}
	seen := map[string]bool{}
	for i, e := range s.Spec.Endpoints {
		at := fmt.Sprintf("source.endpoints[%d].", i)
		if seen[e.Name] {
			bad(at+"name", "an endpoint of this name is there already")
		}
		seen[e.Name] = true
		_, err := New(s.Spec.BaseURL, e)
		if wrong, ok := errors.AsType[*FieldError](err); ok {
			bad(at+wrong.Field, wrong.Message)
		} else if err != nil {
			bad(at+"name", err.Error())
		}
		for _, f := range (envref.Place{Owner: "registry", Prefix: "WINDLASS_TOOL_"}).CheckHeaders(at+"headers", e.Headers) {
			bad(f.Path, "credentials belong into the headers or auth of the source")
		}
	}
}

// Open returns the driver of the kind.
func Open(caller *httpcall.Caller) source.Driver { return driver{caller} }

// driver calls endpoints.
type driver struct{ *httpcall.Caller }

// Discover: the tools are a part of the source.
func (driver) Discover(_ context.Context, s store.Source, _ source.User) (store.Inventory, error) {
	var inv store.Inventory
	for _, e := range s.Spec.Endpoints {
		t, err := New(s.Spec.BaseURL, e)
		if err != nil {
			return store.Inventory{}, fault.Invalid("endpoints", "%s", err)
		}
		raw, err := json.Marshal(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: t.Name, Description: t.Description, Raw: raw, InputSchema: t.InputSchema,
			OutputSchema: t.OutputSchema, Tags: t.Tags, Deprecated: t.Deprecated, Effect: httpcall.EffectOf(t.Template.Method),
		})
	}
	return inv, nil
}
