package registry

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/mcp"
	"github.com/windlass-dev/windlass/services/registry/sourcespec"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// SourceConfig is a source in the configuration; the fields are those of the API.
type SourceConfig struct {
	// Name is the prefix of its tools' names.
	Name string `yaml:"name" doc:"Prefix of its tools' names."`
	// Tenant owns the source; empty = default.
	Tenant string `yaml:"tenant" doc:"Tenant that the source belongs to; empty: default. Names are unique within a tenant."`
	// Kind is a kind of source; empty = mcp.
	Kind string `yaml:"kind" doc:"mcp (default), openapi, http, graphql, grpc, workflow, agent or builtin."`
	// URL is the endpoint of an MCP server, of a GraphQL API or of a gRPC server, or where an API's document is.
	URL string `yaml:"url" doc:"Endpoint of an MCP server over HTTP or of a GraphQL API, URL of an OpenAPI document, or grpc://host:port (grpcs:// with TLS)."`
	// Document is an OpenAPI document.
	Document string `yaml:"document" doc:"OpenAPI document as JSON or YAML text, instead of url."`
	// DescriptorSet has the descriptors of a gRPC server, in base64.
	DescriptorSet string `yaml:"descriptor_set" doc:"Descriptors of the services of a gRPC server (FileDescriptorSet) in base64; without it, the server is asked by reflection."`
	// KeyHeader is the metadata in which a gRPC server takes the key of a call.
	KeyHeader string `yaml:"key_header" doc:"Metadata in which a gRPC server takes the key of a call; without it, no key is sent."`
	// BaseURL replaces the servers of an API's document.
	BaseURL string `yaml:"base_url" doc:"URL of an API, instead of the servers that its document names."`
	// Operations are those of an API that become tools.
	Operations *FilterConfig `yaml:"operations" doc:"Operations of an API that become tools; without it, all."`
	// Endpoints are those of an API that are written by hand.
	Endpoints []EndpointConfig `yaml:"endpoints" doc:"Endpoints of a source of kind http, each of which is a tool."`
	// ProviderData are the credentials of requests that its tools get.
	ProviderData *ProviderDataConfig `yaml:"provider_data" doc:"Credentials of requests (header X-Windlass-Provider-Data) that its tools get."`
	// Temporal is where its workflows run.
	Temporal *TemporalConfig `yaml:"temporal" doc:"Where the workflows of a source of kind workflow run."`
	// Workflows are its tools.
	Workflows []WorkflowConfig `yaml:"workflows" doc:"Workflows of a source of kind workflow, each of which is a tool."`
	// Agents are its tools.
	Agents []string `yaml:"agents" doc:"Agents of a source of kind agent: globs over their IDs; empty = all."`
	// Auth is its credential.
	Auth *AuthConfig `yaml:"auth" doc:"Credential for an API, for an MCP server over HTTP, or for Temporal."`
	// SyncAuth is its credential for syncs.
	SyncAuth *AuthConfig `yaml:"sync_auth" doc:"Credential for syncs of a source whose auth is of each user: reads its document or list of tools, never calls them."`
	// Command is program and arguments of an MCP server.
	Command []string `yaml:"command" doc:"Program and arguments of an MCP server over stdio."`
	// Env is the program's environment.
	Env map[string]string `yaml:"env" doc:"Environment of the program. Secrets must be references, written $${env:NAME} here."`
	// Dir is the program's working directory.
	Dir string `yaml:"dir" doc:"Working directory of the program."`
	// Headers are sent with each HTTP request.
	Headers map[string]string `yaml:"headers" doc:"Headers of each HTTP request. Secrets must be references, written $${env:NAME} here."`
	// Transport forces one.
	Transport string `yaml:"transport" doc:"Force a transport: http, sse or stdio."`
	// Disabled switches the source off.
	Disabled bool `yaml:"disabled" doc:"Switch the source off."`
	// CallTimeoutSeconds bounds one call; 0 = the default.
	CallTimeoutSeconds uint32 `yaml:"call_timeout_seconds" doc:"Timeout of one tool call in seconds; 0 = call_timeout."`
	// Effects are "read", "idempotent" or "once" by the server's own tool name.
	Effects map[string]string `yaml:"effects" doc:"Effect class (read, idempotent, once) by the server's own tool name."`
	// Pin holds changed definitions back.
	Pin bool `yaml:"pin" doc:"Hold a tool whose definition changes back until the change is accepted."`
	// TrustedTools are the tools whose results are trusted.
	TrustedTools []string `yaml:"trusted_tools" doc:"Tools whose results are trusted: globs over the server's own names, * for all. Results of the others taint the turn, see policy.approvals.tainted."`
	// Exclude switches tools off.
	Exclude []string `yaml:"exclude" doc:"Tools that are switched off: globs over the server's own names."`
	// MaxCalls and MaxCallsPerSecond limit its calls.
	MaxCalls          uint32  `yaml:"max_calls" doc:"Maximum number of calls in parallel, in each process of the registry; 0 = max_calls of the registry."`
	MaxCallsPerSecond float64 `yaml:"max_calls_per_second" doc:"Maximum number of calls per second, in each process of the registry; 0 = unlimited."`
	// Cache says how long results are kept.
	Cache *ResultCacheConfig `yaml:"cache" doc:"How long results of its READ tools are kept; without it, per user, for the ttl of the registry's cache."`
	// Elicitation controls questions to the user.
	Elicitation string `yaml:"elicitation" doc:"How questions of its tools to the user are handled: reissue (default) asks the user, off declines them."`
	// SessionContext is sent with calls.
	SessionContext bool `yaml:"session_context" doc:"Whether its MCP server gets agent, parent, params and worker of the session of a call in _meta."`
	// ClientRequests are passed on to the clients of direct callers.
	ClientRequests []string `yaml:"client_requests" doc:"Requests of its server, besides questions to users, that are passed on to the MCP clients of direct callers: sampling and roots. Others are rejected."`
	// Labels are arbitrary.
	Labels map[string]string `yaml:"labels" doc:"Arbitrary labels."`
}

// AuthConfig is a credential in the configuration; the fields are those of credential.Auth.
type AuthConfig struct {
	Kind     string   `yaml:"kind" doc:"api_key, basic, bearer, oauth2_client_credentials, oauth2_authorization_code or exchange."`
	In       string   `yaml:"in" doc:"Where a key is sent (header or query), or where client ID and secret are sent (header or body)."`
	Name     string   `yaml:"name" doc:"Name of the header or query parameter of a key."`
	Secret   string   `yaml:"secret" doc:"Reference to the key, token, password or client secret, written $${env:NAME} here."`
	Username string   `yaml:"username" doc:"User name for basic."`
	TokenURL string   `yaml:"token_url" doc:"URL of the token endpoint."`
	ClientID string   `yaml:"client_id" doc:"Client ID at the token endpoint."`
	Scopes   []string `yaml:"scopes" doc:"Requested scopes."`
	Audience string   `yaml:"audience" doc:"Requested audience, for servers that take one."`

	AuthorizationURL string `yaml:"authorization_url" doc:"URL of the authorization endpoint, where each user logs in."`
	RevocationURL    string `yaml:"revocation_url" doc:"URL of the revocation endpoint."`
	Issuer           string `yaml:"issuer" doc:"Issuer of the authorization server; without URLs of endpoints, its metadata has them."`
	Resource         string `yaml:"resource" doc:"Resource that tokens of users are requested for."`
}

// ProviderDataConfig declares provider data in the configuration; the fields are those of store.ProviderData.
type ProviderDataConfig struct {
	Meta     []string          `yaml:"meta" doc:"Keys that an MCP server gets in _meta of tools/call."`
	Headers  map[string]string `yaml:"headers" doc:"Headers of the calls, each with the key whose value it gets."`
	Optional []string          `yaml:"optional" doc:"Those of these keys that a request may lack."`
}

// FilterConfig selects operations in the configuration; the fields are those of store.OperationFilter.
type FilterConfig struct {
	Tags  []string `yaml:"tags" doc:"Tags of operations, or names of gRPC services."`
	Paths []string `yaml:"paths" doc:"Globs over paths, or over gRPC methods as package.Service/Method."`
	Names []string `yaml:"names" doc:"Globs over operation IDs, over the names of queries and mutations, or over Service_Method."`
}

// EndpointConfig is an endpoint in the configuration; the fields are those of store.Endpoint.
type EndpointConfig struct {
	Name         string            `yaml:"name" doc:"Name of the tool within the source."`
	Description  string            `yaml:"description" doc:"Description for the model."`
	Method       string            `yaml:"method" doc:"GET (default), HEAD, POST, PUT, PATCH, DELETE or OPTIONS."`
	Path         string            `yaml:"path" doc:"Path, which is appended to base_url. ${args.name} stands for an argument, here and in the fields below."`
	Query        map[string]string `yaml:"query" doc:"Query parameters."`
	Headers      map[string]string `yaml:"headers" doc:"Headers, in addition to those of the source."`
	Body         map[string]any    `yaml:"body" doc:"JSON body."`
	Form         map[string]string `yaml:"form" doc:"Fields of a body of type application/x-www-form-urlencoded."`
	Text         string            `yaml:"text" doc:"Body of any other type."`
	MediaType    string            `yaml:"media_type" doc:"Type of the body."`
	InputSchema  map[string]any    `yaml:"input_schema" doc:"JSON Schema of the arguments."`
	OutputSchema map[string]any    `yaml:"output_schema" doc:"JSON Schema of the result."`
	Tags         []string          `yaml:"tags" doc:"Tags of the tool."`
	Deprecated   bool              `yaml:"deprecated" doc:"The tool should no longer be used."`
	KeyHeader    string            `yaml:"key_header" doc:"Header in which the API takes the key of a call."`
}

// ResultCacheConfig says how long results of a source are kept; the fields are those of store.ResultCache.
type ResultCacheConfig struct {
	Disabled bool              `yaml:"disabled" doc:"Keep no results."`
	TTL      uint32            `yaml:"ttl_seconds" doc:"How long a result is kept, in seconds; 0 = ttl of the registry's cache."`
	Tools    map[string]uint32 `yaml:"tool_ttl_seconds" doc:"How long a result is kept, in seconds, by the server's own tool name; 0 = not at all."`
	Shared   bool              `yaml:"shared" doc:"All users of the tenant share results, because results do not depend on the user."`
}

// TemporalConfig is a Temporal server in the configuration; the fields are those of store.Temporal.
type TemporalConfig struct {
	Address   string `yaml:"address" doc:"Address of the Temporal frontend: host:port."`
	Namespace string `yaml:"namespace" doc:"Namespace; empty = default."`
	TLS       bool   `yaml:"tls" doc:"Connect with TLS, which auth requires."`
}

// WorkflowConfig is a workflow in the configuration; the fields are those of the API.
type WorkflowConfig struct {
	Name             string         `yaml:"name" doc:"Name of the tool within the source."`
	Description      string         `yaml:"description" doc:"Description for the model."`
	Type             string         `yaml:"workflow_type" doc:"Type of the workflow; empty = name."`
	TaskQueue        string         `yaml:"task_queue" doc:"Task queue of its worker."`
	InputSchema      map[string]any `yaml:"input_schema" doc:"JSON Schema of the arguments."`
	OutputSchema     map[string]any `yaml:"output_schema" doc:"JSON Schema of the result."`
	Positional       []string       `yaml:"positional" doc:"Arguments that are the workflow's parameters, in order; empty = one object of all arguments."`
	Mode             string         `yaml:"mode" doc:"wait (default) or poll."`
	ID               string         `yaml:"workflow_id" doc:"ID of the workflow, in which $${args.name} stands for an argument; empty = derived from the call."`
	ExecutionTimeout uint32         `yaml:"execution_timeout_seconds" doc:"Time after which Temporal ends the workflow; 0 = none."`
	Tags             []string       `yaml:"tags" doc:"Tags of the tool."`
	Effect           string         `yaml:"effect" doc:"Effect class: read, idempotent (default) or once."`
}

// source converts an entry.
func (c WorkflowConfig) source() (store.WorkflowTool, error) {
	effect, ok := classes[c.Effect]
	if !ok && c.Effect != "" {
		return store.WorkflowTool{}, fmt.Errorf("effect of %q is %q; use read, idempotent or once", c.Name, c.Effect)
	}
	return store.WorkflowTool{
		Name: c.Name, Description: c.Description, Type: c.Type, TaskQueue: c.TaskQueue, InputSchema: c.InputSchema,
		OutputSchema: c.OutputSchema, Positional: c.Positional, Mode: c.Mode, ID: c.ID, ExecutionTimeout: c.ExecutionTimeout, Tags: c.Tags,
		Effect: effect,
	}, nil
}

var classes = map[string]store.Effect{"read": store.Read, "idempotent": store.Idempotent, "once": store.Once}

// static returns the configured sources and the mesh's own, which belongs to the tenant of the mesh's operator.
func (c Config) static() ([]store.Source, error) {
	all := []store.Source{{Tenant: authn.DefaultTenant, Name: store.Mesh, Kind: builtin.Name}}
	type key struct{ tenant, name string }
	seen := map[key]bool{{authn.DefaultTenant, store.Mesh}: true}
	for _, sc := range c.Sources {
		s, err := sc.source()
		if err == nil {
			err = sourcespec.Validate(s)
		}
		if err == nil && !authn.ValidTenant(s.Tenant) {
			err = fmt.Errorf("tenant %q: use up to 63 letters, digits, hyphens and underscores", s.Tenant)
		}
		if err == nil && seen[key{s.Tenant, s.Name}] {
			err = errors.New("this name is there twice")
		}
		if err != nil {
			return nil, fmt.Errorf("registry: source %q of the configuration: %w", sc.Name, err)
		}
		seen[key{s.Tenant, s.Name}] = true
		all = append(all, s)
	}
	return all, nil
}

func (e EndpointConfig) endpoint() store.Endpoint {
	return store.Endpoint{
		Name: e.Name, Description: e.Description, Method: e.Method, Path: e.Path, Query: e.Query, Headers: e.Headers, Body: e.Body,
		Form: e.Form, Text: e.Text, MediaType: e.MediaType, InputSchema: e.InputSchema, OutputSchema: e.OutputSchema, Tags: e.Tags,
		Deprecated: e.Deprecated, KeyHeader: e.KeyHeader,
	}
}

func (c SourceConfig) source() (store.Source, error) {
	s := store.Source{Tenant: cmp.Or(c.Tenant, authn.DefaultTenant), Name: c.Name, Kind: c.Kind, Disabled: c.Disabled, Spec: store.Spec{
		URL: c.URL, Command: c.Command, Env: c.Env, Dir: c.Dir, Headers: c.Headers, Transport: c.Transport,
		CallTimeout: c.CallTimeoutSeconds, Labels: c.Labels, Elicitation: c.Elicitation, ClientRequests: c.ClientRequests, BaseURL: c.BaseURL,
		SessionContext: c.SessionContext,
		Pin:            c.Pin, Trusted: c.TrustedTools, Exclude: c.Exclude, MaxCalls: c.MaxCalls, MaxRate: c.MaxCallsPerSecond,
		Auth: (*store.Auth)(c.Auth), SyncAuth: (*store.Auth)(c.SyncAuth),
		Operations: (*store.OperationFilter)(c.Operations), Temporal: (*store.Temporal)(c.Temporal),
		Cache: (*store.ResultCache)(c.Cache), ProviderData: (*store.ProviderData)(c.ProviderData),
		KeyHeader: c.KeyHeader, Agents: c.Agents,
	}, Document: cmp.Or(c.Document, c.DescriptorSet)}
	for _, e := range c.Endpoints {
		s.Spec.Endpoints = append(s.Spec.Endpoints, e.endpoint())
	}
	for _, w := range c.Workflows {
		entry, err := w.source()
		if err != nil {
			return s, err
		}
		s.Spec.Workflows = append(s.Spec.Workflows, entry)
	}
	if s.Kind == "" {
		s.Kind = mcp.Name
	}
	for tool, class := range c.Effects {
		e, ok := classes[class]
		if !ok {
			return s, fmt.Errorf("effects: %q is %q; use read, idempotent or once", tool, class)
		}
		if s.Spec.Effects == nil {
			s.Spec.Effects = map[string]store.Effect{}
		}
		s.Spec.Effects[tool] = e
	}
	return s, nil
}
