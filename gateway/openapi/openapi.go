// Package openapi builds the OpenAPI 3.1 document of the HTTP API from the generated Swagger 2 document, and adds what that cannot express:
// event streams, problems as errors, headers, enums as served, health endpoints.
package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed gen/windlass.swagger.json
var swagger []byte

// object is a JSON object.
type object = map[string]any

// source is the part of the Swagger document that is used.
type source struct {
	Info        object                       `json:"info"`
	Tags        []object                     `json:"tags"`
	Paths       map[string]map[string]object `json:"paths"`
	Definitions map[string]object            `json:"definitions"`
}

// builder converts one document to the other.
type builder struct {
	in      source
	schemas object
	paths   map[string]object
	tags    map[string]bool
}

// Document returns the document as JSON. It never changes within a process.
func Document() ([]byte, error) {
	b := builder{schemas: object{}, paths: map[string]object{}, tags: map[string]bool{}}
	if err := json.Unmarshal(swagger, &b.in); err != nil {
		return nil, fmt.Errorf("read generated OpenAPI document: %w", err)
	}
	for name, def := range b.in.Definitions {
		b.schemas[shortName(name)] = b.schema(shortName(name), def)
	}
	b.schemas["Problem"] = problemSchema()
	if err := b.eventSchema(); err != nil {
		return nil, err
	}
	for path, ops := range b.in.Paths {
		for method, op := range ops {
			b.add(path, method, op)
		}
	}
	b.addPlain()
	out, err := json.MarshalIndent(object{
		"openapi": "3.1.0", "info": b.in.Info, "servers": []object{{"url": "/"}}, "tags": b.usedTags(), "paths": b.paths,
		"components": object{"schemas": b.schemas, "responses": object{"Problem": object{
			"description": "What went wrong, as an RFC 9457 problem.",
			"headers": object{"Retry-After": object{"description": "Seconds to wait before trying again, where known.",
				"schema": object{"type": "integer"}}},
			"content": object{"application/problem+json": object{"schema": ref("Problem")}},
		}}},
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write OpenAPI document: %w", err)
	}
	return append(out, '\n'), nil
}

func (b *builder) usedTags() []object {
	var out []object
	for _, t := range b.in.Tags {
		if name, _ := t["name"].(string); b.tags[name] {
			out = append(out, t)
		}
	}
	return append(out, object{"name": "Gateway", "description": "What the gateway itself serves. It needs no credentials."})
}

// shortName drops the package that the generator adds to ambiguous message names.
func shortName(name string) string { return name[strings.LastIndex(name, ".")+1:] }

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func problemSchema() object {
	text := func(d string) object { return object{"type": "string", "description": d} }
	props := object{
		"type": text(`"urn:windlass:problem:" and the code.`), "title": text("The kind of problem in a few words."),
		"status": object{"type": "integer", "description": "The HTTP status."}, "detail": text("What happened this time."),
		"instance": text("Path of the request."), "code": text("Stable code for programs."), "todo": text("What to do next."),
		"trace_id": text("Finds the request in traces and logs."),
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
