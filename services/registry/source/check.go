package source

import (
	"net/url"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// NoAPI reports fields that only HTTP APIs have.
func NoAPI(s store.Source, bad Bad) {
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

// NoServer reports fields that only MCP servers have.
func NoServer(s store.Source, bad Bad) {
	if len(s.Spec.Command) > 0 || len(s.Spec.Env) > 0 || s.Spec.Dir != "" || s.Spec.Transport != "" ||
		s.Spec.Elicitation != "" || len(s.Spec.ClientRequests) > 0 || s.Spec.SessionContext {
		bad("source.kind", "an API has no command, env, dir, transport, elicitation, client_requests or session_context")
	}
}

// WrongURL says what is wrong with a URL of a source; empty if nothing is.
func WrongURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "not a valid URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "the URL must start with http:// or https://"
	case u.Hostname() == "":
		return "the URL has no host"
	case u.User != nil:
		return "credentials do not belong into the URL; use a header with ${env:NAME}"
	case u.Fragment != "":
		return "the URL must not have a fragment (#)"
	}
	return ""
}
