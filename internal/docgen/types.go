package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/gateway/openapi"
)

// schema is what the types of the console need of a schema of the OpenAPI document.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       typeNames         `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Values     *schema           `json:"additionalProperties"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
	Enum       []string          `json:"enum"`
	Const      string            `json:"const"`
}

// typeNames is "string", or ["string", "null"].
type typeNames []string

func (t *typeNames) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// writeTypes writes the messages of the REST API as types of TypeScript, which the console's code is checked against.
func writeTypes(w *writer, _ string) error {
	data, err := openapi.Document()
	if err != nil {
		return err
	}
	var document struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	w.line("// Written by internal/docgen from the OpenAPI document. Do not edit: run 'go generate ./internal/docgen'.")
	w.line("// Numbers of 64 bits are text. What is null is unset.\n")
	schemas := document.Components.Schemas
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		w.line("export type %s = %s;", name, schemas[name].typescript())
	}
	return nil
}

// typescript returns a schema as a type expression.
func (s schema) typescript() string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case len(s.AnyOf)+len(s.OneOf) > 0:
		return union(append(s.AnyOf, s.OneOf...), schema.typescript)
	case s.Const != "":
		return strconv.Quote(s.Const)
	case len(s.Enum) > 0:
		return union(s.Enum, strconv.Quote)
	default:
		return union(s.Type, s.typeNamed)
	}
}

func (s schema) typeNamed(name string) string {
	switch {
	case name == "integer":
		return "number"
	case name == "array" && s.Items != nil:
		return "(" + s.Items.typescript() + ")[]"
	case name == "object" && len(s.Properties) > 0:
		var fields []string
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			mark := "?"
			if slices.Contains(s.Required, field) {
				mark = ""
			}
			fields = append(fields, fmt.Sprintf("%s%s: %s", field, mark, s.Properties[field].typescript()))
		}
		return "{ " + strings.Join(fields, "; ") + " }"
	case name == "object" && s.Values != nil:
		return "Record<string, " + s.Values.typescript() + ">"
	case name == "object":
		return "Record<string, unknown>"
	default:
		return name
	}
}

// union joins types, "unknown" if there are none.
func union[E any](types []E, write func(E) string) string {
	if len(types) == 0 {
		return "unknown"
	}
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = write(t)
	}
	return strings.Join(out, " | ")
}
