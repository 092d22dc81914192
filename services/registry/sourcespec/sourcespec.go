// Package sourcespec says what a tool source may look like, and compares the definitions of sources.
package sourcespec

import (
	"bytes"
	"encoding/json"
	"regexp"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

var sourceName = regexp.MustCompile(`^[a-z](_?[a-z0-9-]+)*$`)

// reserved is no name of a source: it is taken among the MCP endpoints.
const reserved = "orchestrator"

// Validate checks a source as its owner wrote it; the error names the fields.
func Validate(s store.Source) error {
	var fields []fault.Field
	bad := func(field, message string) { fields = append(fields, fault.Field{Path: field, Message: message}) }
	if !sourceName.MatchString(s.Name) || len(s.Name) > 32 {
		bad("source.name", "use lower-case letters, digits, - and single _, at most 32, starting with a letter")
	}
	if s.Name == reserved {
		bad("source.name", `"`+reserved+`" is the name of an MCP endpoint of Windlass`)
	}
	kind, ok := kinds.Find(s.Kind)
	if !ok {
		bad("source.kind", "use "+kinds.All())
		return fault.InvalidFields(fields)
	}
	f := kind.Facts()
	kind.Validate(s, bad)
	if a := s.Spec.Auth; a != nil && len(f.Auth) > 0 {
		validateAuth(s, f, *a, bad)
	}
	validateSyncAuth(s, f, bad)
	validateProviderData(s, f, bad)
	validateRequests(s, f, bad)
	fields = append(fields, place(f).CheckHeaders("source.headers", s.Spec.Headers)...)
	fields = append(fields, place(f).CheckVariables("source.env", s.Spec.Env)...)
	if text, err := json.Marshal(s.Spec); err != nil || bytes.Contains(text, []byte(`\u0000`)) {
		bad("source", "NUL bytes are not allowed")
	}
	if len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}

// validateRequests checks what calls send besides arguments, what an MCP server may ask, and fields that only one kind has.
func validateRequests(s store.Source, f source.Facts, bad source.Bad) {
	for _, own := range []struct {
		field, message string
		set            bool
	}{
		{"key_header", "only a source of kind grpc has it", s.Spec.KeyHeader != ""},
		{"workflows", "only a source of kind workflow has temporal and workflows", s.Spec.Temporal != nil || len(s.Spec.Workflows) > 0},
		{"agents", "only a source of kind agent has agents", len(s.Spec.Agents) > 0},
	} {
		if own.set && !f.Has(own.field) {
			bad("source."+own.field, own.message)
		}
	}
	if e := s.Spec.Elicitation; e != "" && e != "reissue" && e != "off" {
		bad("source.elicitation", "use reissue or off")
	}
	for _, r := range s.Spec.ClientRequests {
		if r != "sampling" && r != "roots" {
			bad("source.client_requests", "use sampling or roots")
		}
	}
}

// New sets the id and times of a new source.
func New(s store.Source, now time.Time) store.Source {
	s.ID, s.State, s.Revision = ids.New(ids.Source), store.Pending, 1
	s.CreateTime, s.UpdateTime = now, now
	return s
}

// Same reports whether two specs are the same.
func Same(a, b store.Spec) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// SameEndpoint reports whether the connections for one spec can be used for the other.
func SameEndpoint(a, b store.Spec) bool {
	for _, s := range []*store.Spec{&a, &b} {
		s.CallTimeout, s.Effects, s.Labels, s.Elicitation, s.Pin, s.MaxCalls, s.MaxRate, s.Exclude = 0, nil, nil, "", false, 0, 0, nil
		s.Trusted = nil
		s.Cache, s.SessionContext = nil, false
	}
	return Same(a, b)
}
