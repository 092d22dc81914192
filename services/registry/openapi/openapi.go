package openapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/truncate"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
)

// Options say what to make of a document.
type Options struct {
	// URL is where the document came from; empty for one that was given as text.
	URL string
	// BaseURL replaces the servers of the document.
	BaseURL string
	// Filter selects operations.
	Filter Filter
	// Given names parameters that the source sets itself, as "header:x-api-key" or "query:key": in lower case for headers.
	Given map[string]bool
	// Trusted reports whether calls may go to a URL; nil = to all.
	Trusted func(address string) bool
	// Limits bounds the work.
	Limits Limits
}

// Filter selects operations; all its conditions must hold, each by one of its elements. The zero value selects all.
type Filter struct {
	// Tags are tags, Paths are globs over paths, and Names are globs over operation ids.
	Tags, Paths, Names []string
}

func (f Filter) selects(path, name string, op *openapi3.Operation) bool {
	return (len(f.Tags) == 0 || slices.ContainsFunc(op.Tags, func(t string) bool { return slices.Contains(f.Tags, t) })) &&
		(len(f.Paths) == 0 || glob.Any(f.Paths, path)) &&
		(len(f.Names) == 0 || glob.Any(f.Names, name))
}

// Tool is an operation as a tool.
type Tool struct {
	// Name is unique in a document: the operation id, else method and path.
	Name string `json:"name"`
	// Title and Description are for people and models.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Tags are those of the operation.
	Tags []string `json:"tags,omitempty"`
	// Deprecated is set by the document.
	Deprecated bool `json:"deprecated,omitempty"`
	// InputSchema is the JSON Schema of the arguments; OutputSchema that of a JSON response, empty if none is described.
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Operation says how to call it.
	Operation httpcall.Operation `json:"operation"`
}

// API is what a document describes.
type API struct {
	// Title and Version are the document's, OpenAPI its version of the specification.
	Title, Version, OpenAPI string
	// Tools are its operations, by name.
	Tools []Tool
	// Skipped says which operations are no tools, and why.
	Skipped []string
}

// Read reads a document. Operations that cannot be called are skipped; an error means that none can.
func Read(ctx context.Context, data []byte, o Options) (API, error) {
	doc, skipped, err := read(ctx, data, o)
	if err != nil {
		return API{}, err
	}
	api := API{OpenAPI: doc.OpenAPI, Skipped: skipped}
	if doc.Info != nil {
		api.Title, api.Version = truncate.Bytes(doc.Info.Title, 100), truncate.Bytes(doc.Info.Version, 50)
	}
	found, err := operations(doc, o)
	if err != nil {
		return API{}, err
	}
	for _, op := range found {
		t, err := op.tool(ctx)
		if ctx.Err() != nil {
			return API{}, ctx.Err()
		}
		if err != nil {
			api.Skipped = append(api.Skipped, fmt.Sprintf("%s %s: %s", op.method, truncate.Bytes(op.path, 200), err))
			continue
		}
		api.Tools = append(api.Tools, t)
	}
	if len(api.Tools) == 0 {
		why := "the filter selects no operation"
		if len(api.Skipped) > 0 {
			why = "no operation can be called: " + api.Skipped[0]
		}
		return API{}, fmt.Errorf("%s", why)
	}
	return api, nil
}

// operation is one operation of a document.
type operation struct {
	doc          *openapi3.T
	options      Options
	path, method string
	name         string
	item         *openapi3.PathItem
	*openapi3.Operation
}

// operations returns the selected operations, with unique names, by path and method.
func operations(doc *openapi3.T, o Options) ([]*operation, error) {
	var all []*operation
	paths := doc.Paths.Map()
	scanned := 0
	for _, path := range sortedKeys(paths) {
		item := paths[path]
		if item == nil {
			continue
		}
		byMethod := item.Operations()
		if scanned += len(byMethod); scanned > maxScanned*o.Limits.MaxOperations {
			break
		}
		for _, method := range sortedKeys(byMethod) {
			op := &operation{doc: doc, options: o, path: path, method: method, item: item, Operation: byMethod[method]}
			op.name = nameOf(op)
			if o.Filter.selects(path, op.name, op.Operation) {
				all = append(all, op)
			}
		}
	}
	if err := tooMany(scanned, len(all), o.Limits); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, op := range all {
		if seen[op.name] {
			op.name = fallbackName(op)
		}
		for n, plain := 2, op.name; seen[op.name]; n++ {
			op.name = fmt.Sprintf("%s_%d", plain, n)
		}
		seen[op.name] = true
	}
	return all, nil
}

// maxName bounds the names that an operation can have here; the registry's are shorter.
const maxName = 256

func nameOf(op *operation) string {
	if id := strings.TrimSpace(op.OperationID); id != "" && len(id) <= maxName && !strings.ContainsFunc(id, isControl) {
		return id
	}
	return fallbackName(op)
}

var separators = regexp.MustCompile(`[^A-Za-z0-9]+`)

// fallbackName is method and path: GET /pets/{id} is "get_pets_id".
func fallbackName(op *operation) string {
	return truncate.Bytes(strings.ToLower(op.method)+"_"+strings.Trim(separators.ReplaceAllString(op.path, "_"), "_"), maxName)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == 0xFFFD }

// maxToolDescription bounds the description of a tool, in bytes.
const maxToolDescription = 2000

// tool makes a tool of the operation. The error says why it cannot be called.
func (op *operation) tool(ctx context.Context) (Tool, error) {
	t := Tool{
		Name: op.name, Title: truncate.Bytes(op.Summary, 200), Tags: op.Tags, Deprecated: op.Deprecated,
		Operation: httpcall.Operation{Method: op.method, Accept: op.accept(), Answers: op.answers()},
	}
	t.Description = truncate.Bytes(op.description(), maxToolDescription)
	address, err := op.base()
	if err != nil {
		return t, err
	}
	if op.options.Trusted != nil && !op.options.Trusted(address) {
		return t, fmt.Errorf("its server %s is not where the source's credentials may be sent: set base_url", truncate.Bytes(address, 200))
	}
	path, _, _ := strings.Cut(op.path, "#") // some documents tell operations with one path apart by it
	t.Operation.URL = address + path
	if t.InputSchema, err = op.input(ctx, &t.Operation); err != nil {
		return t, err
	}
	t.OutputSchema = op.output(ctx)
	return t, nil
}

func (op *operation) description() string {
	var parts []string
	if op.Deprecated {
		parts = append(parts, "Deprecated.")
	}
	summary, text := strings.TrimSpace(op.Summary), strings.TrimSpace(op.Description)
	if strings.HasPrefix(text, summary) { // many generators repeat it
		summary = ""
	}
	for _, part := range []string{summary, text} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = []string{op.method + " " + op.path}
	}
	return strings.Join(parts, "\n\n")
}

func (op *operation) base() (string, error) {
	if op.options.BaseURL != "" {
		return strings.TrimRight(op.options.BaseURL, "/"), nil
	}
	servers := op.doc.Servers
	if len(op.item.Servers) > 0 {
		servers = op.item.Servers
	}
	if op.Servers != nil && len(*op.Servers) > 0 {
		servers = *op.Servers
	}
	return base(servers, op.options.URL)
}

// attempts are the ways to write a schema, from the most exact one to the shortest one.
var attempts = []struct {
	detail detail
	depth  int
}{{full, 0}, {brief, 0}, {asserted, 0}, {asserted, 4}, {asserted, 2}, {asserted, 1}}

// preferredSchema is the size up to which a schema is written in full: a model reads it with each request.
const preferredSchema = 64 << 10

// input returns the schema of the arguments, and completes the operation. Of a large schema first the descriptions are shortened, then
// what is nested deeply is left open.
func (op *operation) input(ctx context.Context, call *httpcall.Operation) (json.RawMessage, error) {
	var failed error
	for i, attempt := range attempts {
		c := newConverter(op.doc, toAPI, attempt.detail, attempt.depth)
		root, err := op.arguments(c, call)
		if err != nil {
			return nil, err
		}
		text, err := encode(root, c)
		if err == nil && len(text) > preferredSchema && i < len(attempts)-1 {
			continue
		}
		if err == nil {
			_, err = schema.Compile(text)
		}
		if err == nil {
			return text, nil
		}
		if failed = err; ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("the schema of its arguments cannot be used: %w", failed)
}

func encode(root any, c *converter) (json.RawMessage, error) {
	object, ok := root.(map[string]any)
	if ok && len(c.defs) > 0 {
		object["$defs"] = c.defs
	}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	return text, nil
}

// output returns the schema of a successful JSON response; nil if there is none that can be used.
func (op *operation) output(ctx context.Context) json.RawMessage {
	content := op.success()
	for _, media := range sortedKeys(content) {
		if !httpcall.IsJSON(media) || content[media] == nil || content[media].Schema == nil {
			continue
		}
		for _, attempt := range attempts {
			c := newConverter(op.doc, fromAPI, attempt.detail, attempt.depth)
			text, err := encode(c.schema(content[media].Schema), c)
			if err == nil && len(text) <= preferredSchema {
				if _, err := schema.Compile(text); err == nil {
					return text
				}
			}
			if ctx.Err() != nil {
				return nil
			}
		}
	}
	return nil
}

// success returns the content of the first response with a status below 300.
func (op *operation) success() openapi3.Content {
	if op.Responses == nil {
		return nil
	}
	all := op.Responses.Map()
	for _, status := range sortedKeys(all) {
		if r := all[status]; strings.HasPrefix(status, "2") && r != nil && r.Value != nil && len(r.Value.Content) > 0 {
			return r.Value.Content
		}
	}
	return nil
}

// maxAnswers bounds the media types of an operation's answers.
const maxAnswers = 20

// answers are the media types of all successful responses; nil if one of them is not described. One without content is not compared.
func (op *operation) answers() []string {
	if op.Responses == nil || op.method == http.MethodHead {
		return nil
	}
	found := map[string]bool{}
	for status, r := range op.Responses.Map() {
		switch {
		case !strings.HasPrefix(status, "2"), status == "204", status == "205":
			continue
		case r == nil || r.Value == nil || len(r.Value.Content) == 0:
			return nil
		}
		for media := range r.Value.Content {
			found[media] = true
		}
	}
	if len(found) > maxAnswers {
		return nil
	}
	return sortedKeys(found)
}

// accept is the Accept header: the media types that the document names, JSON first, then anything.
func (op *operation) accept() string {
	var other []string
	for _, media := range sortedKeys(op.success()) {
		if httpcall.IsJSON(media) {
			return ""
		}
		if mediaRange.MatchString(media) && len(other) < 4 {
			other = append(other, media)
		}
	}
	if len(other) == 0 || op.method == http.MethodHead {
		return ""
	}
	return strings.Join(append(other, "*/*;q=0.1"), ", ")
}

var mediaRange = regexp.MustCompile(`^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+*-]+$`)
