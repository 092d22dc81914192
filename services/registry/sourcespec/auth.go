package sourcespec

import (
	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// place says whose environment the references of a source are resolved in.
func place(s store.Source) envref.Place {
	if store.IsAPI(s.Kind) || s.Kind == store.Workflow {
		return envref.Place{Owner: "registry", Prefix: "WINDLASS_TOOL_"}
	}
	return envref.Place{Owner: "MCP bridge", Prefix: "WINDLASS_TOOL_"}
}

// authFields are the fields that a kind of credential has: true if it is required.
var authFields = map[string]map[string]bool{
	credential.APIKey:            {"in": true, "name": true},
	credential.Basic:             {"username": true},
	credential.Bearer:            {},
	credential.ClientCredentials: {"in": false, "token_url": true, "client_id": true, "scopes": false, "audience": false},
}

func validateAuth(s store.Source, a store.Auth, bad func(field, message string)) {
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
	if !envref.Whole(a.Secret) {
		bad("source.auth.secret", "a secret must not be written here; put it into the environment of the "+place(s).Owner+
			" and refer to it: ${env:WINDLASS_TOOL_SECRET}, or store it with windlass secret set NAME: ${secret:NAME}")
	}
	other := "query"
	if a.Kind == credential.ClientCredentials {
		other = "body"
	}
	if a.In != "" && a.In != "header" && a.In != other {
		bad("source.auth.in", "use header or "+other)
	}
	if a.Kind == credential.APIKey && a.In == "query" && s.Kind == store.MCP {
		bad("source.auth.in", "an MCP server takes its key in a header")
	}
	if a.In == "header" && a.Kind == credential.APIKey && !httpguts.ValidHeaderFieldName(a.Name) {
		bad("source.auth.name", "not a valid header")
	}
	if message := wrongURL(a.TokenURL); a.TokenURL != "" && (message != "" || credential.Origin(a.TokenURL) == "") {
		bad("source.auth.token_url", message)
	}
}
