// Package openapi builds the OpenAPI 3.1 document of the HTTP API from the generated Swagger 2 document, and adds what that cannot express:
// event streams, problems as errors, headers, enums as served, health endpoints.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed gen/windlass.swagger.json
var swagger []byte

// object is a JSON object.
type object = map[string]any

// source is the part of the Swagger document that is used.
type source struct {
	Tags        []object                     `json:"tags"`
	Paths       map[string]map[string]object `json:"paths"`
	Definitions map[string]object            `json:"definitions"`
}

// builder converts one document to the other.
type builder struct {
	in      source
	api     *api
	schemas object
	paths   map[string]object // by path, then method
	shapes  map[string]string
	tags    map[string]bool
	samples examples
	streams bool
}

// Document returns the document as JSON. It never changes within a process, which builds it when it is asked for first.
func Document() ([]byte, error) { return full() }

// ClientDocument returns the document for generators of clients, which expect one media type per operation: requests that create a turn
// answer with the turn, and its events are read with the operations that only stream. Its schemas leave the names to generators that these
// give to the responses of operations.
func ClientDocument() ([]byte, error) { return client() }

var (
	full   = sync.OnceValues(func() ([]byte, error) { return build(true) })
	client = sync.OnceValues(func() ([]byte, error) { return build(false) })
)

func build(streams bool) ([]byte, error) {
	b := builder{schemas: object{}, paths: map[string]object{}, shapes: map[string]string{}, tags: map[string]bool{}, streams: streams}
	if err := json.Unmarshal(swagger, &b.in); err != nil {
		return nil, fmt.Errorf("read generated OpenAPI document: %w", err)
	}
	if err := json.Unmarshal(exampleText, &b.samples); err != nil {
		return nil, fmt.Errorf("read examples: %w", err)
	}
	var err error
	if b.api, err = describe(b.in); err != nil {
		return nil, fmt.Errorf("describe RPCs: %w", err)
	}
	for _, name := range sortedKeys(b.in.Definitions) {
		short := shortName(name)
		schema := b.schema(short, b.in.Definitions[name])
		b.refine(schema, b.api.message(short), b.api.usedAs(short))
		b.schemas[short] = schema
	}
	b.schemas["Problem"] = problemSchema()
	if err := b.eventSchemas(); err != nil {
		return nil, err
	}
	for _, path := range sortedKeys(b.in.Paths) {
		for method, op := range b.in.Paths[path] {
			b.add(path, method, op)
		}
	}
	b.addPlain()
	b.addAppend()
	b.prune()
	renamed := map[string]string{}
	if !streams {
		renamed = b.freeNames()
	}
	out, err := json.MarshalIndent(object{
		"openapi": "3.1.0", "info": info(), "servers": []object{{"url": "/"}}, "tags": b.usedTags(), "paths": b.paths,
		"security": security(""), "components": object{
			"schemas": b.schemas, "responses": object{"Problem": problemResponse()}, "securitySchemes": object{bearer: bearerScheme()},
		},
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write OpenAPI document: %w", err)
	}
	for name, other := range renamed {
		out = bytes.ReplaceAll(out, []byte(schemaPath+name+`"`), []byte(schemaPath+other+`"`))
	}
	return append(out, '\n'), nil
}

// freeNames renames the schemas that have the name of an operation with "Response" behind it, which oapi-codegen and others give to what
// the operation returns. It returns the new names by the old ones.
func (b *builder) freeNames() map[string]string {
	out := map[string]string{}
	for _, methods := range b.paths {
		for _, op := range methods {
			id := op.(object)["operationId"].(string) // each has one
			name := strings.ToUpper(id[:1]) + id[1:] + "Response"
			if schema, taken := b.schemas[name]; taken {
				out[name] = strings.TrimSuffix(name, "Response") + "Result"
				delete(b.schemas, name)
				b.schemas[out[name]] = schema
			}
		}
	}
	return out
}

func info() object {
	return object{
		"title": "Windlass API", "version": "v1",
		"description": "Durable turns of AI agents over REST. Names are snake_case; lists take page_size and page_token; errors are RFC 9457 " +
			"problems with a stable code.",
		"license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
	}
}

func problemResponse() object {
	return object{
		"description": "What went wrong, as an RFC 9457 problem.",
		"headers": object{"Retry-After": object{
			"description": "Seconds to wait before trying again, where known.",
			"schema":      object{"type": "integer"},
		}},
		"content": object{"application/problem+json": object{"schema": ref("Problem"), "example": object{
			"type": "urn:windlass:problem:not_found", "title": "Not found", "status": 404, "code": "not_found",
			"detail": "there is no session ses_01k0example", "todo": "GET /v1/sessions lists the sessions.",
		}}},
	}
}

func (b *builder) usedTags() []object {
	var out []object
	for _, t := range b.in.Tags {
		if name, _ := t["name"].(string); b.tags[name] {
			out = append(out, t)
		}
	}
	return append(out, object{"name": "Gateway", "description": "What the gateway itself serves."})
}

// shortName drops the package that the generator adds to ambiguous message names.
func shortName(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// schemaPath is where the schemas are in the document.
const schemaPath = "#/components/schemas/"

func ref(name string) object { return object{"$ref": schemaPath + name} }

func problemSchema() object {
	text := func(d string) object { return object{"type": "string", "description": d} }
	props := object{
		"type": text(`"urn:windlass:problem:" and the code.`), "title": text("The kind of problem in a few words."),
		"status": object{"type": "integer", "description": "The HTTP status."}, "detail": text("What happened this time."),
		"instance": text("Path of the request."), "code": text("Stable code for programs."), "todo": text("What to do next."),
		"trace_id":   text("Finds the request in traces and logs."),
		"request_id": text("The header X-Request-Id of the response. Finds the request in logs."),
		"fields": object{"type": "array", "description": "The wrong fields.", "items": object{
			"type": "object", "required": []string{"field", "message"},
			"properties": object{"field": text("Its name as in the request."), "message": text("What is wrong with it.")},
		}},
	}
	return object{
		"type": "object", "description": "An RFC 9457 problem.", "properties": props,
		"required": []string{"type", "title", "status", "detail", "code"},
	}
}

// strs returns the strings of a JSON list.
func strs(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
