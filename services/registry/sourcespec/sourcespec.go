// Package sourcespec says what a tool source may look like, and compares the definitions of sources.
package sourcespec

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Mesh is the name of the source with the mesh's own tools. It always exists.
const Mesh = store.Mesh

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
	validateKind(s, bad)
	validateSyncAuth(s, bad)
	validateProviderData(s, bad)
	validateRequests(s, bad)
	fields = append(fields, place(s).CheckHeaders("source.headers", s.Spec.Headers)...)
	fields = append(fields, place(s).CheckVariables("source.env", s.Spec.Env)...)
	if text, err := json.Marshal(s.Spec); err != nil || bytes.Contains(text, []byte(`\u0000`)) {
		bad("source", "NUL bytes are not allowed")
	}
	if len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}

// validateRequests checks what calls send besides arguments, and what an MCP server may ask.
func validateRequests(s store.Source, bad func(field, message string)) {
	if s.Spec.KeyHeader != "" && s.Kind != store.GRPC {
		bad("source.key_header", "only a source of kind grpc has it")
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

// validateKind checks what the kind of a source requires and excludes.
func validateKind(s store.Source, bad func(field, message string)) {
	switch s.Kind {
	case store.MCP:
		validateEndpoint(s.Spec, bad)
		validateNoAPI(s, bad)
		if a := s.Spec.Auth; a != nil {
			validateAuth(s, *a, bad)
		}
	case store.OpenAPI:
		validateAPI(s, bad)
		if len(s.Spec.Endpoints) > 0 {
			bad("source.endpoints", "only a source of kind http has them")
		}
	case store.GraphQL:
		validateGraphQL(s, bad)
	case store.HTTP:
		validateHTTP(s, bad)
	case store.GRPC:
		validateGRPC(s, bad)
	case store.Workflow:
		validateWorkflows(s, bad)
	case store.Agent:
		validateAgents(s, bad)
	case store.Builtin:
		validateNoAPI(s, bad)
		if s.Spec.Auth != nil {
			bad("source.auth", "a built-in source has no auth")
		}
		if s.Name != Mesh {
			bad("source.name", `the built-in source is named "`+Mesh+`"`)
		}
		if s.Spec.URL != "" || len(s.Spec.Command) > 0 {
			bad("source.kind", "a built-in source has neither url nor command")
		}
		if s.Spec.Pin {
			bad("source.pin", "the mesh's own tools change with its version, and cannot be pinned")
		}
	default:
		bad("source.kind", "use "+Kinds)
	}
	if s.Kind != store.Workflow && (s.Spec.Temporal != nil || len(s.Spec.Workflows) > 0) {
		bad("source.workflows", "only a source of kind workflow has temporal and workflows")
	}
	if s.Kind != store.Agent && len(s.Spec.Agents) > 0 {
		bad("source.agents", "only a source of kind agent has agents")
	}
}

// New sets the id and times of a new source.
func New(s store.Source, now time.Time) store.Source {
	s.ID, s.State, s.Revision = ids.New(ids.Source), store.Pending, 1
	s.CreateTime, s.UpdateTime = now, now
	return s
}

// Kinds lists the kinds that a source can have, for messages.
const Kinds = "mcp, openapi, http, graphql, grpc, workflow, agent or builtin"

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

func validateEndpoint(s store.Spec, bad func(field, message string)) {
	overHTTP, program := s.URL != "", len(s.Command) > 0
	switch {
	case overHTTP == program:
		bad("source.url", "give exactly one of url and command")
	case overHTTP && s.Transport == "stdio":
		bad("source.transport", "stdio needs a command, not a url")
	case program && s.Transport != "" && s.Transport != "stdio":
		bad("source.transport", s.Transport+" needs a url, not a command")
	}
	if overHTTP {
		if message := wrongURL(s.URL); message != "" {
			bad("source.url", message)
		}
		if len(s.Env) > 0 || s.Dir != "" {
			bad("source.env", "env and dir belong to a command, not to a url")
		}
	}
	if program && strings.TrimSpace(s.Command[0]) == "" {
		bad("source.command", "the first element is the program; it is empty")
	}
	if program && len(s.Headers) > 0 {
		bad("source.headers", "headers belong to a url, not to a command")
	}
	if program && s.Auth != nil {
		bad("source.auth", "auth belongs to a url, not to a command; use env with ${env:NAME}")
	}
}

func wrongURL(text string) string {
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
