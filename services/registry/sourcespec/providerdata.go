package sourcespec

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// ownHeaders are set by the protocols, and ownMeta by Windlass.
var (
	ownHeaders = []string{
		"Accept", "Connection", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	}
	ownMeta = []string{"progressToken", "traceparent", "tracestate", "baggage"}
)

// validateProviderData checks which credentials of requests a source takes, and where.
func validateProviderData(s store.Source, f source.Facts, bad source.Bad) {
	d := s.Spec.ProviderData
	if d == nil {
		return
	}
	const at = "source.provider_data."
	if len(d.Meta) > 0 && !f.Bridge {
		bad(at+"meta", "only an MCP server has it")
	}
	if len(d.Headers) > 0 && !f.Headers && (!f.Bridge || s.Spec.URL == "") {
		bad(at+"headers", "only an HTTP API, or an MCP server with a url, has them")
	}
	if f.Headers && s.Spec.URL == "" && s.Spec.BaseURL == "" {
		bad("source.base_url", "it is required with provider_data, which is sent only there")
	}
	declared := slices.Concat(d.Meta, slices.Collect(maps.Values(d.Headers)))
	if len(declared) == 0 {
		bad("source.provider_data", "give meta or headers, or leave it out")
	}
	for _, key := range declared {
		if !providerdata.ValidKey(key) {
			bad("source.provider_data", "keys consist of letters, digits, \"_\", \".\" and \"-\", at most 128")
			break
		}
	}
	for _, key := range d.Meta {
		if slices.Contains(ownMeta, key) {
			bad(at+"meta", key+" is set by Windlass")
		}
	}
	for _, key := range d.Optional {
		if !slices.Contains(declared, key) {
			bad(at+"optional", key+" is neither in meta nor in headers")
		}
	}
	for _, header := range slices.Sorted(maps.Keys(d.Headers)) {
		canonical := http.CanonicalHeaderKey(header)
		switch {
		case !httpguts.ValidHeaderFieldName(header):
			bad(at+"headers", "not a valid header")
		case slices.Contains(ownHeaders, canonical) || strings.HasPrefix(canonical, "Mcp-"):
			bad(at+"headers."+header, "this header is the protocol's own")
		case slices.Contains(sourceHeaders(s.Spec), canonical):
			bad(at+"headers."+header, "this header is set by headers or auth of the source")
		}
	}
}

// sourceHeaders are the headers that a source sets itself.
func sourceHeaders(s store.Spec) (headers []string) {
	for name := range s.Headers {
		headers = append(headers, http.CanonicalHeaderKey(name))
	}
	switch a := s.Auth; {
	case a == nil:
	case a.Kind == credential.APIKey:
		headers = append(headers, http.CanonicalHeaderKey(a.Name))
	default:
		headers = append(headers, "Authorization")
	}
	return headers
}
