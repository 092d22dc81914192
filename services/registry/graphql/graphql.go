package graphql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/glob"
	jsonschema "github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/truncate"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
)

// Options say what to make of an API.
type Options struct {
	// URL is the API's endpoint.
	URL string
	// Names selects queries and mutations by globs over their names; empty = all.
	Names []string
	// MaxOperations is the number of them that become tools.
	MaxOperations int
}

// Tool is a query or mutation as a tool.
type Tool struct {
	// Name is that of the field; a mutation that is named like a query is "mutation_NAME".
	Name string `json:"name"`
	// Description is for models.
	Description string `json:"description,omitempty"`
	// Tags are "query" or "mutation".
	Tags []string `json:"tags,omitempty"`
	// Deprecated is set by the API.
	Deprecated bool `json:"deprecated,omitempty"`
	// InputSchema is the JSON Schema of the arguments.
	InputSchema json.RawMessage `json:"inputSchema"`
	// Template says how to call it.
	Template httpcall.Template `json:"template"`
	// Reads is true for a query.
	Reads bool `json:"reads,omitempty"`
}

// Read makes tools of the answer to Introspection, and says which fields are none. An error means that there are no tools.
func Read(ctx context.Context, answer []byte, o Options) (tools []Tool, skipped []string, err error) {
	s, err := parse(answer)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, root := range []struct{ name, kind string }{{s.query, "query"}, {s.mutation, "mutation"}} {
		t := s.types[root.name]
		if t == nil {
			continue
		}
		for _, f := range t.Fields {
			name := f.Name
			if seen[name] {
				name = root.kind + "_" + name
			}
			if len(o.Names) > 0 && !glob.Any(o.Names, name) {
				continue
			}
			tool, err := s.tool(name, root.kind, f, o)
			switch {
			case ctx.Err() != nil:
				return nil, nil, ctx.Err()
			case err != nil:
				skipped = append(skipped, fmt.Sprintf("%s %s: %s", root.kind, truncate.Bytes(f.Name, 100), err))
				continue
			case len(tools) == o.MaxOperations:
				return nil, nil, fmt.Errorf("more than %d operations are selected (registry.openapi.max_operations): select some of them by name",
					o.MaxOperations)
			}
			seen[name] = true
			tools = append(tools, tool)
		}
	}
	if len(tools) == 0 {
		return nil, nil, errors.New("no query or mutation is selected")
	}
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools, skipped, nil
}

// tool makes a tool of a field of the root types.
func (s *schema) tool(name, kind string, f field, o Options) (Tool, error) {
	t := Tool{Name: name, Tags: []string{kind}, Deprecated: f.Deprecated, Reads: kind == "query"}
	if !isName(f.Name) || !s.known(&f.Type) {
		return t, errors.New("its name or its type is not valid")
	}
	for _, a := range f.Args {
		if !isName(a.Name) || !s.known(&a.Type) {
			return t, errors.New("the name or type of an argument is not valid")
		}
	}
	t.Description = truncate.Bytes(strings.TrimSpace(strings.ToValidUTF8(f.Description, "\uFFFD")), 2000)
	if t.Description == "" {
		t.Description = kind + " " + f.Name + ": " + f.Type.String()
	}
	if f.Deprecated {
		t.Description = strings.TrimSpace("Deprecated. "+truncate.Bytes(f.DeprecationReason, 200)) + "\n\n" + t.Description
	}
	text, err := json.Marshal(s.arguments(f.Args))
	if err != nil {
		return t, fmt.Errorf("encode arguments: %w", err)
	}
	if _, err := jsonschema.Compile(text); err != nil {
		return t, fmt.Errorf("the schema of its arguments cannot be used: %w", err)
	}
	t.InputSchema = text
	query, variables := s.document(kind, f)
	t.Template = httpcall.Template{
		Method: http.MethodPost, Base: o.URL, GraphQL: f.Name, Required: f.Type.Kind == nonNull,
		Body: map[string]any{"query": query, "variables": variables},
	}
	return t, nil
}

// document returns the query and its variables, with a placeholder for each argument.
func (s *schema) document(kind string, f field) (string, map[string]any) {
	var declared, passed []string
	variables := map[string]any{}
	for _, a := range f.Args {
		variable := "$" + a.Name + ": " + a.Type.String()
		if a.Type.Kind == nonNull && !a.required() { // an absent variable has the default then
			variable = strings.TrimSuffix(variable, "!") + " = " + *a.DefaultValue
		}
		declared = append(declared, variable)
		passed = append(passed, a.Name+": $"+a.Name)
		variables[a.Name] = "${" + httpcall.Arguments + "." + a.Name + "}"
	}
	call := f.Name
	head := kind + " " + f.Name
	if len(declared) > 0 {
		head += "(" + strings.Join(declared, ", ") + ")"
		call += "(" + strings.Join(passed, ", ") + ")"
	}
	selection := (&selector{schema: s}).of(&f.Type, map[string]bool{}, 1).String()
	if selection == "" && s.types[f.Type.named().Name].Kind != scalar && s.types[f.Type.named().Name].Kind != enum {
		selection = "{__typename}"
	}
	return head + " {" + call + selection + "}", variables
}
