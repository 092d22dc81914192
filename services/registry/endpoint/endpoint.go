// Package endpoint makes tools of operations of an HTTP API that are written by hand.
package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/placeholder"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Tool is an endpoint as a tool.
type Tool struct {
	// Name is the endpoint's.
	Name string `json:"name"`
	// Description is for models.
	Description string `json:"description,omitempty"`
	// Tags and Deprecated are the endpoint's.
	Tags       []string `json:"tags,omitempty"`
	Deprecated bool     `json:"deprecated,omitempty"`
	// InputSchema and OutputSchema are JSON Schemas; OutputSchema is optional.
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Template says how to call it.
	Template httpcall.Template `json:"template"`
}

// FieldError is a mistake in a field of an endpoint.
type FieldError struct {
	// Field is its name in the API, and Message what is wrong.
	Field, Message string
}

// Error names the field.
func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

func bad(field, format string, args ...any) error {
	return &FieldError{Field: field, Message: fmt.Sprintf(format, args...)}
}

var (
	name    = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	methods = []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
)

// New returns the tool of an endpoint below a base URL. The error is a *FieldError.
func New(base string, e store.Endpoint) (Tool, error) {
	t := Tool{Name: e.Name, Description: e.Description, Tags: e.Tags, Deprecated: e.Deprecated, Template: httpcall.Template{
		Method: strings.ToUpper(e.Method), Base: strings.TrimRight(base, "/"), Path: e.Path, Query: e.Query, Headers: e.Headers, Form: e.Form,
		Body: e.Body, Text: e.Text, MediaType: e.MediaType, KeyHeader: e.KeyHeader,
	}}
	if t.Template.Method == "" {
		t.Template.Method = http.MethodGet
	}
	if t.Description == "" {
		t.Description = t.Template.Method + " " + e.Path
	}
	if err := t.check(); err != nil {
		return t, err
	}
	return t, t.schemas(e)
}

// check checks all but the schemas.
func (t *Tool) check() error {
	m := &t.Template
	switch {
	case !name.MatchString(t.Name):
		return bad("name", "use letters, digits, \"_\", \"-\" and \".\", at most 64")
	case !slices.Contains(methods, m.Method):
		return bad("method", "use one of %s", strings.Join(methods, ", "))
	case !strings.HasPrefix(m.Path, "/"):
		return bad("path", "it begins with \"/\" and is appended to base_url")
	case strings.ContainsAny(withoutPlaceholders(m.Path), "?#"):
		return bad("path", "write the query as fields of \"query\"")
	case m.KeyHeader != "" && !httpguts.ValidHeaderFieldName(m.KeyHeader):
		return bad("key_header", "not a valid header")
	}
	bodies := 0
	for _, set := range []bool{m.Body != nil, m.Form != nil, m.Text != ""} {
		if set {
			bodies++
		}
	}
	if bodies > 1 {
		return bad("body", "give at most one of body, form and text")
	}
	for h := range m.Headers {
		if !httpguts.ValidHeaderFieldName(h) || slices.Contains([]string{"Host", "Content-Length", "Content-Type"}, http.CanonicalHeaderKey(h)) {
			return bad("headers", "%q cannot be set here", h)
		}
	}
	return nil
}

// withoutPlaceholders is a text with each placeholder as "x".
func withoutPlaceholders(text string) string {
	plain, wrong := placeholder.Resolve(text, func(placeholder.Ref) (string, *placeholder.Error) { return "x", nil })
	if len(wrong) > 0 {
		return text
	}
	return plain
}

// schemas sets the schemas. Without one, each placeholder is an argument, and those of the path are required.
func (t *Tool) schemas(e store.Endpoint) error {
	inPath := map[string]bool{}
	path := httpcall.Template{Path: t.Template.Path}
	if err := path.Check(func(p string) error { inPath[first(p)] = true; return nil }); err != nil {
		return bad("path", "%s", err)
	}
	if len(e.OutputSchema) > 0 {
		text, err := usable(e.OutputSchema)
		if err != nil {
			return bad("output_schema", "%s", err)
		}
		t.OutputSchema = text
		t.Template.Answers = []string{"application/json"}
	}
	if len(e.InputSchema) == 0 {
		return t.derive(inPath)
	}
	text, err := usable(e.InputSchema)
	if err != nil {
		return bad("input_schema", "%s", err)
	}
	var have struct {
		Type       string
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal(text, &have); err != nil || have.Type != "object" {
		return bad("input_schema", "its \"type\" is \"object\"")
	}
	t.InputSchema = text
	for arg := range inPath {
		if !slices.Contains(have.Required, arg) {
			return bad("input_schema", "%q is a part of the path, so it is \"required\"", arg)
		}
	}
	err = t.Template.Check(func(p string) error {
		if _, ok := have.Properties[first(p)]; !ok {
			return errors.New("is no argument: add it to the properties of input_schema")
		}
		return nil
	})
	if err != nil {
		return bad("input_schema", "%s", err)
	}
	return nil
}

func (t *Tool) derive(inPath map[string]bool) error {
	properties := map[string]any{}
	err := t.Template.Check(func(p string) error {
		kind := map[string]any{"type": "string"}
		if strings.Contains(p, ".") {
			kind["type"] = "object"
		}
		if properties[first(p)] == nil {
			properties[first(p)] = kind
		}
		return nil
	})
	if err != nil {
		return bad("path", "%s", err)
	}
	root := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(inPath) > 0 {
		root["required"] = slices.Sorted(maps.Keys(inPath))
	}
	t.InputSchema, err = json.Marshal(root)
	return err
}

func first(path string) string {
	argument, _, _ := strings.Cut(path, ".")
	return argument
}

func usable(schemaOf map[string]any) (json.RawMessage, error) {
	text, err := json.Marshal(schemaOf)
	if err != nil {
		return nil, err
	}
	_, err = schema.Compile(text)
	return text, err
}
