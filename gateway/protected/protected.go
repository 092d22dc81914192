// Package protected names the resources of the gateway for OAuth: their URLs, the documents about them (RFC 9728) and the challenges of
// refused calls (RFC 6750), as the authorization specification of MCP wants them.
package protected

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Path is where the documents are. The path of a resource follows it.
const Path = "/.well-known/oauth-protected-resource"

// mcpPath is where MCP is served. What is below it are resources of their own; everything else on the gateway is one resource.
const mcpPath = "/mcp"

// endpoint is the form of a path below mcpPath: the name of a source. Whether there is such a source is not told.
var endpoint = regexp.MustCompile(`^/mcp(/[A-Za-z0-9_.-]{1,64})?$`)

// Config describes the gateway.
type Config struct {
	// URL is where clients find the gateway. Empty: there are resources only for calls by a name of this machine.
	URL string
	// Issuers are the URLs of the authorization servers, and Scopes what tokens need.
	Issuers, Scopes []string
	// MCP reports whether MCP is served.
	MCP bool
}

// Resources are those of one gateway. They do not change.
type Resources struct {
	cfg  Config
	base *url.URL
}

// New returns the resources of a gateway.
func New(cfg Config) (*Resources, error) {
	base, err := url.Parse(strings.TrimSuffix(cfg.URL, "/"))
	if err != nil {
		return nil, err
	}
	return &Resources{cfg: cfg, base: base}, nil
}

// URL returns the resource that a request is for, or "" if the gateway does not know its own address. The host that the request names does
// not matter, except that a gateway on loopback has several names there.
func (s *Resources) URL(r *http.Request) string {
	base := s.origin(r.Host)
	if base == "" {
		return ""
	}
	return base + s.part(r.URL.Path)
}

// part returns the path of the resource to which a path belongs.
func (s *Resources) part(path string) string {
	if s.cfg.MCP && endpoint.MatchString(path) {
		return path
	}
	return ""
}

// origin returns the gateway's URL for clients that call it by a host.
func (s *Resources) origin(host string) string {
	alias := ""
	if name, port, err := net.SplitHostPort(host); err == nil && thisMachine(name) {
		if s.base.Host == "" {
			return "http://" + net.JoinHostPort(name, port)
		}
		if thisMachine(s.base.Hostname()) && port == s.base.Port() {
			alias = s.base.Scheme + "://" + net.JoinHostPort(name, port) + s.base.Path
		}
	}
	if alias == "" && s.base.Host != "" {
		alias = s.base.String()
	}
	return alias
}

// thisMachine reports whether a host is a name that cannot be that of another machine, in the form that clients compare.
func thisMachine(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Zone() == "" && addr.IsLoopback()
}

// Known returns the URL of the resource that a client names, in the form that URL returns, and whether there is such a resource.
func (s *Resources) Known(uri string) (canonical string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", false
	}
	host := strings.ToLower(u.Host)
	origin := s.origin(host)
	part, ok := strings.CutPrefix(strings.ToLower(u.Scheme)+"://"+host+strings.TrimSuffix(u.EscapedPath(), "/"), origin)
	if !ok || origin == "" || part != s.part(part) {
		return "", false
	}
	return origin + part, true
}

// document describes a resource.
type document struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name"`
}

// Has reports whether a path is that of a document. Without issuers no tokens are accepted, and there are none.
func (s *Resources) Has(path string) bool {
	part, ok := strings.CutPrefix(path, Path)
	return ok && len(s.cfg.Issuers) > 0 && part == s.part(part)
}

// Document serves the document of a path, which Resources has.
func (s *Resources) Document(w http.ResponseWriter, r *http.Request) {
	part, origin := strings.TrimPrefix(r.URL.Path, Path), s.origin(r.Host)
	text, err := json.Marshal(document{
		Resource: origin + part, AuthorizationServers: s.cfg.Issuers, Scopes: s.cfg.Scopes, BearerMethods: []string{"header"}, Name: name(part),
	})
	if err != nil || origin == "" {
		http.NotFound(w, r) // strings always encode
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Add("Vary", "Host")
	_, _ = w.Write(text)
}

func name(part string) string {
	switch part {
	case "":
		return "Windlass"
	case mcpPath:
		return "Windlass: tools"
	case mcpPath + "/orchestrator":
		return "Windlass: agents"
	default:
		return "Windlass: tools of " + strings.TrimPrefix(part, mcpPath+"/")
	}
}

// CORS lets web pages of any origin read the documents, which are public, and reports whether the request was a preflight that it answered.
func CORS(w http.ResponseWriter, r *http.Request) (done bool) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", http.MethodGet)
	h.Set("Access-Control-Allow-Headers", "MCP-Protocol-Version")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// Challenge returns the WWW-Authenticate header for a refused request, or "" if a token would not help. authorization holds the values of
// the header Authorization.
func (s *Resources) Challenge(r *http.Request, authorization []string, err error) string {
	var params []string
	missing := (*authn.ScopeError)(nil)
	switch {
	case errors.As(err, &missing):
		params = append(params, `error="insufficient_scope"`)
	case fault.Is(err, faultv1.Reason_REASON_UNAUTHENTICATED):
		if slices.ContainsFunc(authorization, isBearer) {
			params = append(params, `error="invalid_token"`)
		}
	default:
		return ""
	}
	if origin := s.origin(r.Host); origin != "" && len(s.cfg.Issuers) > 0 {
		params = append(params, `resource_metadata="`+origin+Path+s.part(r.URL.Path)+`"`)
	}
	scopes := s.cfg.Scopes
	if missing != nil {
		scopes = missing.Scopes
	}
	if len(scopes) > 0 {
		params = append(params, `scope="`+strings.Join(scopes, " ")+`"`)
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}

func isBearer(header string) bool {
	scheme, _, _ := strings.Cut(header, " ")
	return strings.EqualFold(scheme, "Bearer")
}
