package sourcespec

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// place says whose environment the references of a kind of source are resolved in.
func place(f source.Facts) envref.Place {
	if f.Bridge {
		return envref.Place{Owner: "MCP bridge", Prefix: "WINDLASS_TOOL_"}
	}
	return envref.Place{Owner: "registry", Prefix: "WINDLASS_TOOL_"}
}

// authFields are the fields that a kind of credential has: true if it is required.
var authFields = map[string]map[string]bool{
	credential.APIKey:            {"in": true, "name": true},
	credential.Basic:             {"username": true},
	credential.Bearer:            {},
	credential.ClientCredentials: {"in": false, "token_url": true, "client_id": true, "scopes": false, "audience": false},
	credential.AuthorizationCode: {
		"in": false, "token_url": false, "client_id": false, "scopes": false, "audience": false, "authorization_url": false,
		"revocation_url": false, "issuer": false, "resource": false,
	},
	credential.Exchange: {"scopes": false, "audience": false, "resource": false, "issuer": false},
}

// authNames has all of them, in the order of the API.
var authNames = strings.Fields("in name username token_url client_id scopes audience authorization_url revocation_url issuer resource")

func validateAuth(s store.Source, f source.Facts, a store.Auth, bad source.Bad) {
	fields, ok := authFields[a.Kind]
	if !ok {
		bad("source.auth.kind", "use api_key, basic, bearer, oauth2_client_credentials, oauth2_authorization_code or exchange")
		return
	}
	set := map[string]bool{
		"in": a.In != "", "name": a.Name != "", "username": a.Username != "", "token_url": a.TokenURL != "", "client_id": a.ClientID != "",
		"scopes": len(a.Scopes) > 0, "audience": a.Audience != "", "authorization_url": a.AuthorizationURL != "",
		"revocation_url": a.RevocationURL != "", "issuer": a.Issuer != "", "resource": a.Resource != "",
	}
	for _, name := range authNames {
		required, known := fields[name]
		switch {
		case set[name] && !known:
			bad("source.auth."+name, a.Kind+" has no "+name)
		case !set[name] && required:
			bad("source.auth."+name, a.Kind+" requires it")
		}
	}
	validateLogin(s, f, a, bad)
	validateExchange(s, f, a, bad)
	if a.Kind != credential.AuthorizationCode && a.Kind != credential.Exchange && !envref.Whole(a.Secret) {
		bad("source.auth.secret", "a secret must not be written here; put it into the environment of the "+place(f).Owner+
			" and refer to it: ${env:WINDLASS_TOOL_SECRET}, or store it with windlass secret set NAME: ${secret:NAME}")
	}
	other := "query"
	if a.Kind == credential.ClientCredentials || a.Kind == credential.AuthorizationCode {
		other = "body"
	}
	if a.In != "" && a.In != "header" && a.In != other {
		bad("source.auth.in", "use header or "+other)
	}
	if a.In == "header" && a.Kind == credential.APIKey && !httpguts.ValidHeaderFieldName(a.Name) {
		bad("source.auth.name", "not a valid header")
	}
	if message := source.WrongURL(a.TokenURL); a.TokenURL != "" && (message != "" || credential.Origin(a.TokenURL) == "") {
		bad("source.auth.token_url", message)
	}
}

// validateSyncAuth checks the credential for syncs.
func validateSyncAuth(s store.Source, f source.Facts, bad source.Bad) {
	if s.Spec.SyncAuth == nil {
		return
	}
	a := *s.Spec.SyncAuth
	const field = "source.sync_auth"
	switch {
	case !s.Spec.UserLogin() && !s.Spec.Exchange():
		bad(field, "only a source whose auth is of each user has it (oauth2_authorization_code or exchange); others are synced with their auth")
		return
	case s.Spec.URL == "" || s.Document != "":
		bad(field, "nothing is read from this source when it is synced")
	case s.Spec.BaseURL != "" && credential.Origin(s.Spec.BaseURL) != credential.Origin(s.Spec.URL):
		bad(field, "it is sent only to the origin of base_url, where the document is not")
	}
	if a.Kind == credential.AuthorizationCode || a.Kind == credential.Exchange {
		bad(field+".kind", "no user syncs: use api_key, basic, bearer or oauth2_client_credentials")
		return
	}
	validateAuth(s, f, a, func(path, message string) { bad(strings.Replace(path, "source.auth", field, 1), message) })
}

var storedSecret = regexp.MustCompile(`^\$\{secret:[A-Za-z][A-Za-z0-9_.-]{0,127}\}$`)

// validateLogin checks how each user logs in.
func validateLogin(s store.Source, f source.Facts, a store.Auth, bad source.Bad) {
	if a.Kind != credential.AuthorizationCode {
		return
	}
	switch {
	case !f.Takes(a.Kind) || f.Bridge && s.Spec.URL == "":
		bad("source.auth.kind", "users can log in only at MCP servers over HTTP, and at sources of kind "+kinds.Taking(a.Kind))
	case (a.AuthorizationURL == "") != (a.TokenURL == ""):
		bad("source.auth.authorization_url", "authorization_url and token_url belong together")
	case a.AuthorizationURL == "" && a.Issuer == "" && !f.Bridge:
		bad("source.auth.authorization_url", "give authorization_url and token_url, or issuer")
	case a.ClientID == "" && !f.Bridge:
		bad("source.auth.client_id", a.Kind+" requires it, except for MCP servers")
	}
	if a.Secret != "" && !storedSecret.MatchString(a.Secret) {
		bad("source.auth.secret", "a secret must not be written here; store it with windlass secret set NAME, and refer to it: ${secret:NAME}")
	}
	if a.Secret != "" && a.ClientID == "" {
		bad("source.auth.client_id", "a secret without client_id is of no use")
	}
	for field, address := range map[string]string{
		"token_url": a.TokenURL, "authorization_url": a.AuthorizationURL, "revocation_url": a.RevocationURL, "issuer": a.Issuer,
		"resource": a.Resource,
	} {
		if address == "" {
			continue
		}
		if message := source.WrongURL(address); message != "" {
			bad("source.auth."+field, message)
		} else if field != "resource" && !secure(address) {
			bad("source.auth."+field, "use https; http is for this machine only")
		}
	}
}

// secure reports whether secrets may be sent to an address: over https, or on this machine.
func secure(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// validateExchange checks what tokens of users are exchanged for.
func validateExchange(s store.Source, f source.Facts, a store.Auth, bad source.Bad) {
	if a.Kind != credential.Exchange {
		return
	}
	switch {
	case !f.Takes(a.Kind) || f.Bridge && s.Spec.URL == "":
		bad("source.auth.kind", "users' tokens can be sent only to MCP servers over HTTP, and to sources of kind "+kinds.Taking(a.Kind))
	case (a.Audience == "") == (a.Resource == ""):
		bad("source.auth.audience", "say what the tokens are for: audience, or resource")
	case a.Secret != "":
		bad("source.auth.secret", "exchange has no secret: the client of the mesh is in identity.issuers[].exchange")
	}
}
