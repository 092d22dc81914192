// Package graphql makes tools of the queries and mutations of a GraphQL API, from its introspection.
package graphql

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// Introspection is the query that asks for the schema (GraphQL, October 2021, section 4). Eight levels of types are what deep lists of
// required values need.
const Introspection = `query IntrospectionQuery{__schema{queryType{name} mutationType{name} types{kind name description ` +
	`fields(includeDeprecated:true){name description isDeprecated deprecationReason args{...v} type{...t}} ` +
	`inputFields{...v} enumValues(includeDeprecated:true){name} possibleTypes{name}}}} ` +
	`fragment v on __InputValue{name description type{...t} defaultValue} ` +
	`fragment t on __Type{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name}}}}}}}`

// Kinds of types.
const (
	scalar    = "SCALAR"
	enum      = "ENUM"
	input     = "INPUT_OBJECT"
	object    = "OBJECT"
	iface     = "INTERFACE"
	union     = "UNION"
	list      = "LIST"
	nonNull   = "NON_NULL"
	typeNames = 65 // longest name of a type that is taken
)

type typeRef struct {
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	OfType *typeRef `json:"ofType"`
}

// named returns the type below lists and "!".
func (r *typeRef) named() *typeRef {
	for r != nil && r.OfType != nil {
		r = r.OfType
	}
	return r
}

// String is the type as it is written: "[ID!]!".
func (r *typeRef) String() string {
	switch {
	case r == nil:
		return ""
	case r.Kind == nonNull:
		return r.OfType.String() + "!"
	case r.Kind == list:
		return "[" + r.OfType.String() + "]"
	default:
		return r.Name
	}
}

type inputValue struct {
	Name         string  `json:"name"`
	Description  string  `json:"description"`
	Type         typeRef `json:"type"`
	DefaultValue *string `json:"defaultValue"`
}

// literal matches the defaults that are repeated in a query: numbers, names and plain strings.
var literal = regexp.MustCompile(`^(-?[0-9][0-9.eE+-]*|[A-Za-z_][A-Za-z0-9_]*|"[^"\\\x00-\x1f]*"|\[\])$`)

// required reports whether a value must be given. A default that is no plain value is not used.
func (v inputValue) required() bool {
	return v.Type.Kind == nonNull && (v.DefaultValue == nil || !literal.MatchString(*v.DefaultValue))
}

type field struct {
	Name              string       `json:"name"`
	Description       string       `json:"description"`
	Deprecated        bool         `json:"isDeprecated"`
	DeprecationReason string       `json:"deprecationReason"`
	Args              []inputValue `json:"args"`
	Type              typeRef      `json:"type"`
}

type namedType struct {
	Kind          string                  `json:"kind"`
	Name          string                  `json:"name"`
	Description   string                  `json:"description"`
	Fields        []field                 `json:"fields"`
	InputFields   []inputValue            `json:"inputFields"`
	EnumValues    []struct{ Name string } `json:"enumValues"`
	PossibleTypes []struct{ Name string } `json:"possibleTypes"`
}

// schema is an API's schema.
type schema struct {
	types           map[string]*namedType
	query, mutation string
}

// parse reads the answer to Introspection.
func parse(answer []byte) (*schema, error) {
	var a struct {
		Data struct {
			Schema *struct {
				QueryType    *struct{ Name string }
				MutationType *struct{ Name string }
				Types        []*namedType
			} `json:"__schema"`
		}
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, errors.New("the answer to the introspection is not the JSON of GraphQL")
	}
	if a.Data.Schema == nil {
		why := "it has no schema"
		if len(a.Errors) > 0 {
			why = truncate.Bytes(strings.ToValidUTF8(a.Errors[0].Message, "\uFFFD"), 300)
		}
		return nil, fmt.Errorf("the API does not answer the introspection: %s", why)
	}
	s := &schema{types: map[string]*namedType{}}
	for _, t := range a.Data.Schema.Types {
		if t != nil && isName(t.Name) {
			s.types[t.Name] = t
		}
	}
	if q := a.Data.Schema.QueryType; q != nil {
		s.query = q.Name
	}
	if m := a.Data.Schema.MutationType; m != nil {
		s.mutation = m.Name
	}
	return s, nil
}

// isName reports whether a text is a GraphQL name. What an API calls its types and fields becomes a part of our queries.
func isName(s string) bool {
	if s == "" || len(s) > typeNames*4 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for _, c := range []byte(s) {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// known reports whether a type is fully known: its names are names, and its kinds make sense.
func (s *schema) known(r *typeRef) bool {
	for depth := 0; r != nil && depth < 10; depth++ {
		if r.Kind != list && r.Kind != nonNull {
			return r.OfType == nil && isName(r.Name) && s.types[r.Name] != nil
		}
		r = r.OfType
	}
	return false
}
