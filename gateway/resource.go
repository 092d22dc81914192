package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
)

// resourcePath is where RFC 9728 puts what clients need to get tokens. A path behind it names a part of the server that has tokens of its
// own; ours have none, so that the document is the same but for the resource.
const resourcePath = "/.well-known/oauth-protected-resource"

// resource describes a protected resource (RFC 9728).
type resource struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name"`
}

// describe returns the document about the API or MCP, nil for other paths and if no tokens are accepted.
func (g *Gateway) describe(path string) http.Handler {
	part, ok := strings.CutPrefix(path, resourcePath)
	if !ok || len(g.cfg.Issuers) == 0 || part != "" && (part != mcpPath || g.deps.MCP == nil) {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := strings.TrimSuffix(g.cfg.URL, "/")
		if base == "" {
			base = "http://" + r.Host
		}
		text, err := json.Marshal(resource{
			Resource: base + part, AuthorizationServers: g.cfg.Issuers, BearerMethods: []string{"header"}, Name: "Windlass",
		})
		if err != nil {
			http.Error(w, "", http.StatusInternalServerError) // cannot happen with strings
			return
		}
		document(text).ServeHTTP(w, r)
	})
}
