package source

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/internal/cli/app"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// sourceFlags adds the flags that describe a source to a command.
func sourceFlags(f *pflag.FlagSet) {
	f.String("url", "", "endpoint of an MCP server over HTTP")
	f.String("transport", "", "force a transport: http, sse or stdio")
	f.String("elicitation", "", "what becomes of questions that its tools ask the user: reissue (default) or off")
	f.StringSlice("exclude", nil, "switch tools off, by globs over the server's own names, as in 'delete_*'")
	f.Bool("pin", false, "hold tools back whose definition changes, until you accept it")
	f.String("dir", "", "working directory of the command")
	f.StringToString("env", nil, `environment of the command, as NAME=VALUE; write a secret as '${env:NAME}'`)
	f.StringToString("header", nil, `headers of requests, as NAME=VALUE; write a secret as '${env:NAME}'`)
	f.Uint32("timeout", 0, "seconds that a call may take, 0 = 120")

	f.String("openapi", "", "OpenAPI 3 document of an HTTP API: a URL, a file, or - for standard input")
	f.String("graphql", "", "URL of a GraphQL API; select queries and mutations with --operation")
	f.String("grpc", "", "gRPC server, as HOST:PORT; select services with --tag, methods with --path or --operation")
	f.Bool("tls", false, "use TLS for the gRPC server")
	f.String("descriptor-set", "", "file with a FileDescriptorSet of the gRPC server, which needs no reflection then, or - for standard input")
	f.String("key-header", "", "metadata in which the gRPC server takes the key of a call")
	f.StringArray("endpoint", nil, "endpoint of an HTTP API without document, as 'NAME=METHOD /path/${args.id}'; with --base-url")
	f.String("base-url", "", "URL of the API, instead of the servers that its document names")
	f.StringSlice("tag", nil, "only operations of the API with one of these tags, or of these gRPC services")
	f.StringSlice("path", nil, "only operations of the API with such a path, as in '/pets*' or 'shop.v1.Orders/Get*'")
	f.StringSlice("operation", nil, "only operations of the API with such an operation id, as in 'get*' or 'Orders_Get*'")
	f.String("bearer", "", "token for the API, as '${env:NAME}'")
	f.String("basic", "", "user and password for the API, as 'USER:${env:NAME}'")
	f.String("api-key", "", "key for the API, as 'header:NAME=${env:NAME}' or 'query:NAME=${env:NAME}'")
	f.String("token-url", "", "token endpoint for the API (OAuth 2 client credentials)")
	f.String("client-id", "", "client id at the token endpoint")
	f.String("client-secret", "", "client secret at the token endpoint, as '${env:NAME}'")
	f.StringSlice("scope", nil, "scopes to request at the token endpoint")
	workflowFlags(f)
	f.StringSlice("agents", nil, "agents of Windlass as tools, by globs over their ids, as in 'support-*'; '*' for all")
}

// newSource returns the source that the arguments and flags describe: name, then program and arguments of an MCP server, if any.
func newSource(f *pflag.FlagSet, args []string, in io.Reader) (*registryv1.Source, error) {
	r := reader{flags: f, in: in, source: &registryv1.Source{Name: args[0], Kind: "mcp"}}
	r.general(args[1:])
	var read []func() error // what reads the rest, one for each kind of source that is given
	for _, kind := range append(r.kinds(),
		part{r.source.GetUrl() != "", r.onlyForAPIs}, part{len(r.source.GetCommand()) > 0, r.onlyForAPIs},
		part{len(r.list("agents")) > 0, r.agents},
	) {
		if kind.given {
			read = append(read, kind.read)
		}
	}
	if len(read) != 1 {
		return nil, app.Usage("give one of --url, --openapi, --graphql, --grpc, --endpoint, --workflow, --agents, and a command after --")
	}
	if err := read[0](); err != nil {
		return nil, err
	}
	if err := r.onlyForGRPC(); err != nil {
		return nil, err
	}
	if r.source.Workflows == nil {
		if err := r.onlyForWorkflows(); err != nil {
			return nil, err
		}
	}
	r.source.BaseUrl = r.get("base-url")
	r.operations()
	return r.source, r.auth()
}

// general sets what sources of several kinds have. The flags are those of sourceFlags.
func (r reader) general(command []string) {
	s := r.source
	s.Url, s.Transport, s.Dir, s.Elicitation = r.get("url"), r.get("transport"), r.get("dir"), r.get("elicitation")
	s.Exclude, s.Command = r.list("exclude"), command
	s.Env, _ = r.flags.GetStringToString("env")
	s.Headers, _ = r.flags.GetStringToString("header")
	s.Pin, _ = r.flags.GetBool("pin")
	s.CallTimeoutSeconds, _ = r.flags.GetUint32("timeout")
}

// part reads flags that describe a source, if they are given.
type part struct {
	given bool
	read  func() error
}

// kinds are the kinds of sources besides MCP servers and agents.
func (r reader) kinds() []part {
	return []part{
		{r.get("openapi") != "", r.document},
		{r.get("graphql") != "", r.graphql},
		{r.get("grpc") != "", r.grpc},
		{len(r.list("endpoint")) > 0, r.endpoints},
		{len(r.list("workflow")) > 0, r.workflows},
	}
}

// reader collects the fields of a source.
type reader struct {
	flags  *pflag.FlagSet
	in     io.Reader
	source *registryv1.Source
}

func (r reader) get(name string) string { return r.flags.Lookup(name).Value.String() }

func (r reader) list(name string) []string {
	list, err := r.flags.GetStringSlice(name)
	if err != nil {
		list, _ = r.flags.GetStringArray(name) // it is the one or the other
	}
	return list
}

func (r reader) onlyForAPIs() error {
	for _, name := range []string{
		"base-url", "tag", "path", "operation", "bearer", "basic", "api-key", "token-url", "client-id", "client-secret", "scope",
	} {
		if r.flags.Changed(name) {
			return app.Usage("--%s belongs to an API", name)
		}
	}
	return nil
}

func (r reader) onlyForGRPC() error {
	for _, name := range []string{"tls", "descriptor-set", "key-header"} {
		if r.source.GetKind() != "grpc" && r.flags.Changed(name) {
			return app.Usage("--%s belongs to --grpc", name)
		}
	}
	return nil
}

// grpc sets where a gRPC server is, and its descriptors if they are given.
func (r reader) grpc() error {
	address, secure := r.get("grpc"), r.get("tls") == "true"
	switch {
	case !strings.Contains(address, "://") && secure:
		address = "grpcs://" + address
	case !strings.Contains(address, "://"):
		address = "grpc://" + address
	case secure && !strings.HasPrefix(address, "grpcs://"):
		return app.Usage("--tls needs --grpc HOST:PORT or grpcs://HOST:PORT")
	}
	r.source.Kind, r.source.Url, r.source.KeyHeader = "grpc", address, r.get("key-header")
	return r.descriptors()
}

// descriptors sets the descriptors of a gRPC server, if they are given.
func (r reader) descriptors() (err error) {
	from := r.get("descriptor-set")
	if from == "" {
		return nil
	}
	if r.source.DescriptorSet, err = r.read(from); err != nil {
		return fmt.Errorf("read the descriptor set: %w", err)
	}
	return nil
}

// read reads a file, or the standard input for "-".
func (r reader) read(from string) ([]byte, error) {
	if from == "-" {
		return io.ReadAll(r.in)
	}
	return os.ReadFile(from)
}

// document sets where the API's document is, or its text.
func (r reader) document() error {
	from := r.get("openapi")
	r.source.Kind = "openapi"
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		r.source.Url = from
		return nil
	}
	text, err := r.read(from)
	if err != nil {
		return fmt.Errorf("read the OpenAPI document: %w", err)
	}
	r.source.Document = string(text)
	return nil
}

// graphql sets where a GraphQL API is.
func (r reader) graphql() error {
	r.source.Kind, r.source.Url = "graphql", r.get("graphql")
	return nil
}

// agents sets which agents are tools.
func (r reader) agents() error {
	r.source.Kind, r.source.Agents = "agent", r.list("agents")
	return r.onlyForAPIs()
}

// endpoints sets endpoints whose placeholders are their arguments.
func (r reader) endpoints() error {
	r.source.Kind = "http"
	for _, text := range r.list("endpoint") {
		name, request, ok := strings.Cut(text, "=")
		method, path, hasPath := strings.Cut(request, " ")
		if !ok || !hasPath {
			return app.Usage("--endpoint is 'NAME=METHOD /path'")
		}
		path, query, _ := strings.Cut(path, "?")
		e := &registryv1.Endpoint{Name: name, Method: method, Path: path}
		if query != "" {
			e.Query = map[string]string{}
			for part := range strings.SplitSeq(query, "&") {
				name, value, _ := strings.Cut(part, "=")
				e.Query[name] = value
			}
		}
		r.source.Endpoints = append(r.source.Endpoints, e)
	}
	return nil
}

func (r reader) operations() {
	filter := &registryv1.OperationFilter{Tags: r.list("tag"), Paths: r.list("path"), Names: r.list("operation")}
	if len(filter.Tags)+len(filter.Paths)+len(filter.Names) > 0 {
		r.source.Operations = filter
	}
}

// auth sets the credentials, of which there is at most one kind.
func (r reader) auth() error {
	var all []*registryv1.SourceAuth
	if token := r.get("bearer"); token != "" {
		all = append(all, &registryv1.SourceAuth{Kind: "bearer", Secret: token})
	}
	if basic := r.get("basic"); basic != "" {
		user, password, ok := strings.Cut(basic, ":")
		if !ok {
			return app.Usage("--basic is USER:${env:NAME}")
		}
		all = append(all, &registryv1.SourceAuth{Kind: "basic", Username: user, Secret: password})
	}
	if key := r.get("api-key"); key != "" {
		place, rest, hasPlace := strings.Cut(key, ":")
		name, secret, hasName := strings.Cut(rest, "=")
		if !hasPlace || !hasName || place != "header" && place != "query" {
			return app.Usage("--api-key is header:NAME=${env:NAME} or query:NAME=${env:NAME}")
		}
		all = append(all, &registryv1.SourceAuth{Kind: "api_key", In: place, Name: name, Secret: secret})
	}
	if address := r.get("token-url"); address != "" {
		all = append(all, &registryv1.SourceAuth{
			Kind: "oauth2_client_credentials", TokenUrl: address, ClientId: r.get("client-id"), Secret: r.get("client-secret"),
			Scopes: r.list("scope"),
		})
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		r.source.Auth = all[0]
		return nil
	default:
		return app.Usage("give one of --bearer, --basic, --api-key and --token-url")
	}
}
