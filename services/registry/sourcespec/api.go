package sourcespec

import (
	"errors"
	"fmt"
	"regexp"

	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/services/registry/credential"
	"github.com/windlass-dev/windlass/services/registry/endpoint"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// validateNoAPI checks that a source which is no API has none of an API's fields.
func validateNoAPI(s store.Source, bad func(field, message string)) {
	for _, f := range []struct {
		set         bool
		field, more string
	}{
		{s.Document != "", "document", ""},
		{s.Spec.BaseURL != "", "base_url", ""},
		{s.Spec.Operations != nil, "operations", ""},
		{s.Spec.Auth != nil, "auth", "; use headers with ${env:NAME}"},
		{len(s.Spec.Endpoints) > 0, "endpoints", ""},
	} {
		if f.set {
			bad("source."+f.field, "only a source that is an HTTP API has it"+f.more)
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
		validateAuth(*a, bad)
	}
	if (s.Spec.Auth != nil || len(s.Spec.Headers) > 0) && s.Spec.URL == "" && s.Spec.BaseURL == "" {
		bad("source.base_url", "it is required with auth or headers, which are sent only there")
	}
}

// validateNoServer checks that an API has none of an MCP server's fields.
func validateNoServer(s store.Source, bad func(field, message string)) {
	if len(s.Spec.Command) > 0 || len(s.Spec.Env) > 0 || s.Spec.Dir != "" || s.Spec.Transport != "" ||
		s.Spec.Elicitation != "" || len(s.Spec.ClientRequests) > 0 {
		bad("source.kind", "an API has no command, env, dir, transport, elicitation or client_requests")
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
		validateAuth(*a, bad)
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
		validateAuth(*a, bad)
	}
}

var wholeReference = regexp.MustCompile(`^\$\{env:[A-Za-z_][A-Za-z0-9_]*\}$`)

// authFields are the fields that a kind of credential has: true if it is required.
var authFields = map[string]map[string]bool{
	store.APIKey:            {"in": true, "name": true},
	store.Basic:             {"username": true},
	store.Bearer:            {},
	store.ClientCredentials: {"in": false, "token_url": true, "client_id": true, "scopes": false, "audience": false},
}

func validateAuth(a store.Auth, bad func(field, message string)) {
	fields, ok := authFields[a.Kind]
	if !ok {
		bad("source.auth.kind", "use api_key, basic, bearer or oauth2_client_credentials")
		return
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"in", a.In != ""},
		{"name", a.Name != ""},
		{"username", a.Username != ""},
		{"token_url", a.TokenURL != ""},
		{"client_id", a.ClientID != ""},
		{"scopes", len(a.Scopes) > 0},
		{"audience", a.Audience != ""},
	} {
		required, known := fields[f.name]
		switch {
		case f.set && !known:
			bad("source.auth."+f.name, a.Kind+" has no "+f.name)
		case !f.set && required:
			bad("source.auth."+f.name, a.Kind+" requires it")
		}
	}
	if !wholeReference.MatchString(a.Secret) {
		bad("source.auth.secret", "a secret must not be written here; put it into the environment of the registry and refer to it: "+
			"${env:WINDLASS_TOOL_SECRET}")
	}
	other := "query"
	if a.Kind == store.ClientCredentials {
		other = "body"
	}
	if a.In != "" && a.In != "header" && a.In != other {
		bad("source.auth.in", "use header or "+other)
	}
	if a.In == "header" && !httpguts.ValidHeaderFieldName(a.Name) {
		bad("source.auth.name", "not a valid header")
	}
	if message := wrongURL(a.TokenURL); a.TokenURL != "" && (message != "" || credential.Origin(a.TokenURL) == "") {
		bad("source.auth.token_url", message)
	}
}
