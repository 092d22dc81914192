package openapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/truncate"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// bodyArgument is the name of the argument that is the request's body.
const bodyArgument = "body"

// arguments returns the schema of the arguments, and writes to the operation how they are sent: each parameter is an argument, and so is
// the body.
func (op *operation) arguments(c *converter, call *httpcall.Operation) (map[string]any, error) {
	call.Parameters, call.Body, call.KeyHeader = nil, nil, ""
	properties, required := map[string]any{}, []string{}
	for _, p := range op.parameters() {
		if p.In == openapi3.ParameterInHeader && slices.Contains(keyHeaders, http.CanonicalHeaderKey(p.Name)) {
			call.KeyHeader = http.CanonicalHeaderKey(p.Name)
		}
		if op.ignored(p) {
			continue
		}
		name := argumentName(p, properties)
		out, converted := parameter(p, name), op.parameterSchema(c, p)
		properties[name] = converted
		if p.Required || p.In == openapi3.ParameterInPath {
			required = append(required, name)
		}
		call.Parameters = append(call.Parameters, out)
	}
	if err := placeholders(call); err != nil {
		return nil, err
	}
	if body := op.requestBody(); body != nil {
		converted, written, err := op.body(c, body)
		if err != nil {
			return nil, err
		}
		properties[bodyArgument], call.Body = converted, written
		if body.Required {
			required = append(required, bodyArgument)
		}
	}
	root := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		root["required"] = required
	}
	return root, nil
}

func (op *operation) requestBody() *openapi3.RequestBody {
	if op.RequestBody == nil || op.RequestBody.Value == nil || len(op.RequestBody.Value.Content) == 0 {
		return nil
	}
	return op.RequestBody.Value
}

// parameters returns those of the path and the operation, which replaces parameters of the same name and place.
func (op *operation) parameters() []*openapi3.Parameter {
	var out []*openapi3.Parameter
	for _, list := range []openapi3.Parameters{op.item.Parameters, op.Parameters} {
		for _, ref := range list {
			if ref == nil || ref.Value == nil || ref.Value.Name == "" {
				continue
			}
			p := ref.Value
			at := slices.IndexFunc(out, func(o *openapi3.Parameter) bool { return o.Name == p.Name && o.In == p.In })
			if at >= 0 {
				out[at] = p
			} else {
				out = append(out, p)
			}
		}
	}
	return out
}

// connection are the headers that belong to HTTP itself, and those that the specification or the mesh sets otherwise.
var connection = []string{
	"Accept", "Content-Type", "Authorization", "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer",
	"Upgrade", "Expect", "Proxy-Authorization", "Proxy-Connection", "Cookie", "Idempotency-Key", "X-Idempotency-Key", "Traceparent",
	"Tracestate",
}

// ignored reports whether a parameter is no argument.
func (op *operation) ignored(p *openapi3.Parameter) bool {
	switch p.In {
	case openapi3.ParameterInHeader:
		return !httpguts.ValidHeaderFieldName(p.Name) || slices.Contains(connection, http.CanonicalHeaderKey(p.Name)) ||
			op.options.Given["header:"+strings.ToLower(p.Name)]
	case openapi3.ParameterInQuery:
		return op.options.Given["query:"+p.Name]
	case openapi3.ParameterInPath:
		return !strings.Contains(op.path, "{"+p.Name+"}")
	case openapi3.ParameterInCookie:
		return !httpguts.ValidHeaderFieldName(p.Name)
	default:
		return true
	}
}

// keyHeaders are the headers in which APIs take the key of a request.
var keyHeaders = []string{"Idempotency-Key", "X-Idempotency-Key"}

var notInArgument = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// maxArgument is the longest name of a member that model APIs take.
const maxArgument = 64

// argumentName is the parameter's name in characters that model APIs take; of two with one name, the second also says its place.
func argumentName(p *openapi3.Parameter, taken map[string]any) string {
	plain := strings.Trim(notInArgument.ReplaceAllString(p.Name, "_"), "_")
	plain = truncate.Bytes(plain, maxArgument-12)
	if plain == "" {
		plain = "parameter"
	}
	name := plain
	if taken[name] != nil || name == bodyArgument {
		name = plain + "_" + p.In
	}
	for n := 2; taken[name] != nil; n++ {
		name = fmt.Sprintf("%s_%s_%d", plain, p.In, n)
	}
	return name
}

// parameter says how a parameter is written, with the defaults of the specification.
func parameter(p *openapi3.Parameter, argument string) httpcall.Parameter {
	out := httpcall.Parameter{Argument: argument, Name: p.Name, In: p.In, Style: p.Style, Reserved: p.AllowReserved}
	if len(p.Content) > 0 {
		out.Style = ""
		return out
	}
	if out.Style == "" {
		out.Style = map[string]string{
			httpcall.InPath: httpcall.Simple, httpcall.InHeader: httpcall.Simple, httpcall.InQuery: httpcall.Form, httpcall.InCookie: httpcall.Form,
		}[p.In]
	}
	out.Explode = out.Style == httpcall.Form || out.Style == httpcall.DeepObject
	if p.Explode != nil {
		out.Explode = *p.Explode
	}
	return out
}

func (op *operation) parameterSchema(c *converter, p *openapi3.Parameter) any {
	ref := p.Schema
	for _, media := range sortedKeys(p.Content) {
		if p.Content[media] != nil {
			ref = p.Content[media].Schema
		}
	}
	converted := c.schema(ref)
	object, ok := converted.(map[string]any)
	if !ok {
		object = map[string]any{}
		if converted == false {
			object["not"] = map[string]any{}
		}
	}
	if c.detail != asserted && strings.TrimSpace(p.Description) != "" {
		object["description"] = truncate.Bytes(p.Description, map[detail]int{full: maxDescription, brief: maxBrief}[c.detail])
	}
	if p.Deprecated {
		object["deprecated"] = true
	}
	return object
}

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// placeholders checks that each placeholder of the path has a parameter.
func placeholders(call *httpcall.Operation) error {
	if strings.ContainsAny(placeholder.ReplaceAllString(call.URL, ""), "{}") {
		return errors.New("its path has unmatched braces")
	}
	for _, found := range placeholder.FindAllStringSubmatch(call.URL, -1) {
		if !slices.ContainsFunc(call.Parameters, func(p httpcall.Parameter) bool { return p.In == httpcall.InPath && p.Name == found[1] }) {
			return fmt.Errorf("its path has no parameter for {%s}", truncate.Bytes(found[1], 50))
		}
	}
	return nil
}
