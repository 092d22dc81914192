package schema

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// replace replaces each subschema of s by the result of a function: samePlace for those that apply to the same value as s, deeper for those
// that apply to values inside it. Maps and slices are copied, so s may be a shallow copy.
func replace(s *jsonschema.Schema, samePlace, deeper func(*jsonschema.Schema) *jsonschema.Schema) {
	for _, one := range []**jsonschema.Schema{&s.Ref, &s.Not, &s.If, &s.Then, &s.Else} {
		replaceOne(one, samePlace)
	}
	s.AllOf, s.AnyOf, s.OneOf = replaceAll(s.AllOf, samePlace), replaceAll(s.AnyOf, samePlace), replaceAll(s.OneOf, samePlace)
	s.DependentSchemas = replaceMap(s.DependentSchemas, samePlace)
	if s.Dependencies != nil {
		out := make(map[string]any, len(s.Dependencies))
		for name, v := range s.Dependencies {
			out[name] = replaceAny(v, samePlace)
		}
		s.Dependencies = out
	}
	for _, one := range []**jsonschema.Schema{
		&s.PropertyNames, &s.UnevaluatedProperties, &s.Contains, &s.Items2020, &s.UnevaluatedItems, &s.ContentSchema,
	} {
		replaceOne(one, deeper)
	}
	s.PrefixItems = replaceAll(s.PrefixItems, deeper)
	s.Properties, s.PatternProperties = replaceMap(s.Properties, deeper), replaceMap(s.PatternProperties, deeper)
	s.AdditionalProperties, s.AdditionalItems, s.Items = replaceAny(s.AdditionalProperties, deeper), replaceAny(s.AdditionalItems, deeper),
		replaceAny(s.Items, deeper)
}

func replaceOne(s **jsonschema.Schema, f func(*jsonschema.Schema) *jsonschema.Schema) {
	if *s != nil {
		*s = f(*s)
	}
}

func replaceAll(list []*jsonschema.Schema, f func(*jsonschema.Schema) *jsonschema.Schema) []*jsonschema.Schema {
	if list == nil {
		return nil
	}
	out := make([]*jsonschema.Schema, len(list))
	for i, s := range list {
		out[i] = f(s)
	}
	return out
}

func replaceMap[K comparable](m map[K]*jsonschema.Schema, f func(*jsonschema.Schema) *jsonschema.Schema) map[K]*jsonschema.Schema {
	if m == nil {
		return nil
	}
	out := make(map[K]*jsonschema.Schema, len(m))
	for key, s := range m {
		out[key] = f(s)
	}
	return out
}

func replaceAny(v any, f func(*jsonschema.Schema) *jsonschema.Schema) any {
	switch v := v.(type) {
	case *jsonschema.Schema:
		return f(v)
	case []*jsonschema.Schema:
		return replaceAll(v, f)
	}
	return v
}

// expansion is how much of a schema applies to a single value.
type expansion struct {
	schemas, chain int
	open           bool // in progress: meeting it again is a loop
}

var errLoop = fmt.Errorf("%w: it refers to itself at one and the same value, without end", ErrLimit)

// checkExpansion rejects a schema of which too much applies to a single value: there the size of the value does not bound the work. It
// returns all schemas of the graph.
func checkExpansion(root *jsonschema.Schema) (map[*jsonschema.Schema]*expansion, error) {
	seen := map[*jsonschema.Schema]*expansion{}
	queue := []*jsonschema.Schema{root}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if seen[s] != nil {
			continue
		}
		if _, err := expand(s, seen, &queue); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func expand(s *jsonschema.Schema, seen map[*jsonschema.Schema]*expansion, queue *[]*jsonschema.Schema) (*expansion, error) {
	if known := seen[s]; known != nil {
		if known.open {
			return nil, errLoop
		}
		return known, nil
	}
	e := &expansion{schemas: 1, open: true}
	seen[s] = e
	var failed error
	read := *s
	replace(&read, func(sub *jsonschema.Schema) *jsonschema.Schema {
		if failed != nil {
			return sub
		}
		inner, err := expand(sub, seen, queue)
		if err != nil {
			failed = err
			return sub
		}
		e.schemas, e.chain = e.schemas+inner.schemas, max(e.chain, inner.chain)
		switch {
		case e.schemas > maxExpanded:
			failed = over("allOf, anyOf, oneOf and $ref expand to too many schemas", e.schemas, maxExpanded)
		case e.chain >= maxChain:
			failed = over("too many $refs in a row", e.chain, maxChain)
		}
		return sub
	}, func(sub *jsonschema.Schema) *jsonschema.Schema {
		*queue = append(*queue, sub)
		return sub
	})
	e.chain++
	e.open = false
	return e, failed
}
