package sourcespec

import (
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/services/registry/endpoint"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// validateNoAPI checks that a source which is no API has none of an API's fields.
func validateNoAPI(s store.Source, bad func(field, message string)) {
	for _, f := range []struct {
		set   bool
		field string
	}{
		{s.Document != "", "document"},
		{s.Spec.BaseURL != "", "base_url"},
		{s.Spec.Operations != nil, "operations"},
		{len(s.Spec.Endpoints) > 0, "endpoints"},
	} {
		if f.set {
			bad("source."+f.field, "only a source that is an HTTP API has it")
		}
	}
}

// validateAPI checks a source of kind openapi.
func validateAPI(s store.Source, bad func(field, message string)) {
	if (s.Spec.URL != "") == (s.Document != "") {
		bad("source.url", "give exactly one of url, where the document is, and document, its text")
	}
	for field, address := range map[string]string{"url": s.Spec.URL, "base_url": s.Spec.BaseURL} {
		if message := wrongURL(address); address != "" && message != "" {
			bad("source."+field, message)
		}
	}
	validateNoServer(s, bad)
	if a := s.Spec.Auth; a != nil {
		validateAuth(s, *a, bad)
	}
	if (s.Spec.Auth != nil || len(s.Spec.Headers) > 0) && s.Spec.URL == "" && s.Spec.BaseURL == "" {
		bad("source.base_url", "it is required with auth or headers, which are sent only there")
	}
}

// validateNoServer checks that an API has none of an MCP server's fields.
func validateNoServer(s store.Source, bad func(field, message string)) {
	if len(s.Spec.Command) > 0 || len(s.Spec.Env) > 0 || s.Spec.Dir != "" || s.Spec.Transport != "" ||
		s.Spec.Elicitation != "" || len(s.Spec.ClientRequests) > 0 || s.Spec.SessionContext {
		bad("source.kind", "an API has no command, env, dir, transport, elicitation, client_requests or session_context")
	}
}

// validateGraphQL checks a source of kind graphql.
func validateGraphQL(s store.Source, bad func(field, message string)) {
	validateNoServer(s, bad)
	if s.Document != "" || s.Spec.BaseURL != "" || len(s.Spec.Endpoints) > 0 {
		bad("source.url", "a source of kind graphql has a url, and no document, base_url or endpoints")
	}
	if message := wrongURL(s.Spec.URL); message != "" {
		bad("source.url", message)
	}
	if f := s.Spec.Operations; f != nil && len(f.Tags)+len(f.Paths) > 0 {
		bad("source.operations", "queries and mutations are selected by names")
	}
	if a := s.Spec.Auth; a != nil {
		validateAuth(s, *a, bad)
	}
}

// validateHTTP checks a source of kind http.
func validateHTTP(s store.Source, bad func(field, message string)) {
	validateNoServer(s, bad)
	if s.Spec.URL != "" || s.Document != "" || s.Spec.Operations != nil {
		bad("source.url", "a source of kind http has base_url and endpoints, and no url, document or operations")
	}
	if message := wrongURL(s.Spec.BaseURL); message != "" {
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
		_, err := endpoint.New(s.Spec.BaseURL, e)
		if wrong, ok := errors.AsType[*endpoint.FieldError](err); ok {
			bad(at+wrong.Field, wrong.Message)
		} else if err != nil {
			bad(at+"name", err.Error())
		}
		for _, f := range (envref.Place{Owner: "registry", Prefix: "WINDLASS_TOOL_"}).CheckHeaders(at+"headers", e.Headers) {
			bad(f.Path, "credentials belong into the headers or auth of the source")
		}
	}
	if a := s.Spec.Auth; a != nil {
		validateAuth(s, *a, bad)
	}
}
