package sourcespec

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/services/registry/grpccall"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// validateGRPC checks a source of kind grpc.
func validateGRPC(s store.Source, bad func(field, message string)) {
	validateNoServer(s, bad)
	if s.Spec.BaseURL != "" || len(s.Spec.Endpoints) > 0 {
		bad("source.url", "a source of kind grpc has a url, and no base_url or endpoints")
	}
	if _, wrong := grpccall.ParseURL(s.Spec.URL); wrong != "" {
		bad("source.url", wrong)
	}
	if _, err := base64.StdEncoding.DecodeString(s.Document); err != nil {
		bad("source.document", "a source of kind grpc has a descriptor_set, and no document")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Headers)) {
		if message := wrongMetadata(name); message != "" {
			bad("source.headers."+name, message)
		}
	}
	if d := s.Spec.ProviderData; d != nil {
		for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
			if message := wrongMetadata(name); message != "" {
				bad("source.provider_data.headers."+name, message)
			}
		}
	}
	if name := s.Spec.KeyHeader; name != "" {
		if message := wrongMetadata(name); message != "" {
			bad("source.key_header", message)
		}
	}
	if a := s.Spec.Auth; a != nil {
		validateAuth(s, *a, bad)
		if a.Kind == credential.APIKey && a.In == "query" {
			bad("source.auth.in", "a gRPC call has no query; use header")
		} else if a.Kind == credential.APIKey && wrongMetadata(a.Name) != "" {
			bad("source.auth.name", wrongMetadata(a.Name))
		}
	}
}

// wrongMetadata says what is wrong with the name of metadata; empty if nothing is.
func wrongMetadata(name string) string {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(lower, "grpc-"), slices.Contains([]string{"host", "content-type", "te", "user-agent", "connection"}, lower):
		return "gRPC itself sets this metadata"
	case strings.HasSuffix(lower, "-bin"):
		return "binary metadata (-bin) is not supported"
	case lower == "" || strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "":
		return "names of metadata have letters, digits, -, _ and . only"
	}
	return ""
}
