package openapi

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/document"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Kind is an HTTP API that an OpenAPI document describes.
type Kind struct{}

// Facts implements source.Kind.
func (Kind) Facts() source.Facts {
	return source.Facts{Name: "openapi", Auth: source.AnyAuth, Headers: true}
}

// Validate implements source.Kind.
func (Kind) Validate(s store.Source, bad source.Bad) {
	if (s.Spec.URL != "") == (s.Document != "") {
		bad("source.url", "give exactly one of url, where the document is, and document, its text")
	}
	for field, address := range map[string]string{"url": s.Spec.URL, "base_url": s.Spec.BaseURL} {
		if message := source.WrongURL(address); address != "" && message != "" {
			bad("source."+field, message)
		}
	}
	source.NoServer(s, bad)
	if (s.Spec.Auth != nil || len(s.Spec.Headers) > 0) && s.Spec.URL == "" && s.Spec.BaseURL == "" {
		bad("source.base_url", "it is required with auth or headers, which are sent only there")
	}
	if len(s.Spec.Endpoints) > 0 {
		bad("source.endpoints", "only a source of kind http has them")
	}
}

// Open returns the driver of the kind.
func Open(documents *document.Keeper, caller *httpcall.Caller) source.Driver {
	return driver{documents, caller}
}

// driver reads documents and calls their operations.
type driver struct {
	*document.Keeper
	*httpcall.Caller
}

// Public: a document elsewhere is not behind the login.
func (driver) Public(s store.Source) bool {
	return s.Spec.URL == "" || s.LoginSubject == "" || credential.Origin(s.Spec.URL) != source.Home(s.Spec)
}

func (d driver) Discover(ctx context.Context, s store.Source, as source.User) (store.Inventory, error) {
	text, tag := []byte(s.Document), ""
	if s.Spec.URL != "" {
		request, err := d.Request(s, as)
		if err != nil {
			return store.Inventory{}, err
		}
		if known, _, ok := d.Known(s); ok {
			request.Tag = known
		}
		if text, tag, err = d.Fetch(ctx, s, request); err != nil {
			return store.Inventory{}, err
		}
		if text == nil {
			return store.Inventory{Unchanged: true}, nil
		}
	}
	return d.Inventory(ctx, s, text, tag, nil, func() (store.Inventory, error) { return d.read(ctx, s, text) })
}

// read makes tools of a document.
func (d driver) read(ctx context.Context, s store.Source, text []byte) (store.Inventory, error) {
	options := Options{
		URL: s.Spec.URL, BaseURL: s.Spec.BaseURL, Given: given(s.Spec), Limits: Limits{d.MaxDocumentBytes, d.MaxOperations},
	}
	if f := s.Spec.Operations; f != nil {
		options.Filter = Filter{Tags: f.Tags, Paths: f.Paths, Names: f.Names}
	}
	if s.Spec.Auth != nil || len(s.Spec.Headers) > 0 || s.Spec.ProviderData != nil {
		options.Trusted = func(address string) bool { return credential.Origin(address) == source.Home(s.Spec) }
	}
	api, err := Read(ctx, text, options)
	if err != nil {
		return store.Inventory{}, source.Invalid(fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: %s", s.Name, err))
	}
	inv := store.Inventory{
		ServerVersion: source.Version(api.Title, api.Version), ProtocolVersion: "OpenAPI " + api.OpenAPI, Warnings: api.Skipped,
	}
	for _, t := range api.Tools {
		raw, err := json.Marshal(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: t.Name, Title: t.Title, Description: t.Description, Raw: raw,
			InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Tags: t.Tags, Deprecated: t.Deprecated,
			Effect: httpcall.EffectOf(t.Operation.Method),
		})
	}
	return inv, nil
}

// given names the parameters that the source sets itself.
func given(s store.Spec) map[string]bool {
	out := map[string]bool{}
	for name := range s.Headers {
		out["header:"+strings.ToLower(name)] = true
	}
	if s.ProviderData != nil {
		for name := range s.ProviderData.Headers {
			out["header:"+strings.ToLower(name)] = true
		}
	}
	if a := s.Auth; a != nil && a.Kind == credential.APIKey {
		if a.In == "query" {
			out["query:"+a.Name] = true
		} else {
			out["header:"+strings.ToLower(a.Name)] = true
		}
	}
	return out
}
