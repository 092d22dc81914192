package schema

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// The library cannot be interrupted, but it calls a schema's format check on each evaluation, after the type and before anything that leads
// to other schemas. So evaluation runs on a copy of the graph in which every schema has our format check. The check pays from a budget for
// the evaluation and for everything that the schema leads to directly, and panics when the budget is used up or the context has ended;
// Validate recovers. The check also evaluates enum, const and uniqueItems, on canonical text, because the library's cost for them varies.
// The work between two payments is bounded by the sizes of schema and value, which are limited.

// Budgets of one validation, in evaluations of a schema at a value, about half a microsecond each. Finding out whether an object is valid
// takes almost no memory; collecting all errors keeps each of them.
const (
	maxWork       = 1 << 20
	maxReportWork = 1 << 17
)

// Work that costs as much as one evaluation: bytes of text read, steps of a regular expression, members visited.
const (
	textPerUnit    = 64
	programPerUnit = 64
	membersPerUnit = 16
)

var errWork = errors.New("the work limit is reached")

// stop is the value that the guard panics with.
type stop struct{ err error }

// guard is a copy of a schema that counts evaluations. It serves one validation at a time.
type guard struct {
	root, probe *jsonschema.Schema
	of          *compiled
	copies      map[*jsonschema.Schema]*jsonschema.Schema

	ctx       context.Context // of the validation in progress: the library passes none
	left      int
	unchecked int // since ctx was last checked
}

func (c *compiled) guard() *guard {
	if g, ok := c.guards.Get().(*guard); ok {
		return g
	}
	g := &guard{of: c, copies: make(map[*jsonschema.Schema]*jsonschema.Schema, len(c.values))}
	g.root = g.copy(c.root)
	// Under "not" the library stops at the first error and keeps none.
	g.probe = &jsonschema.Schema{DraftVersion: c.root.DraftVersion, Not: g.root}
	return g
}

func (g *guard) copy(s *jsonschema.Schema) *jsonschema.Schema {
	if known := g.copies[s]; known != nil {
		return known
	}
	out := *s
	g.copies[s] = &out
	if s.Bool != nil {
		return &out
	}
	inPlace := 0
	replace(&out, func(sub *jsonschema.Schema) *jsonschema.Schema { inPlace++; return g.copy(sub) }, g.copy)
	if p, ok := s.Pattern.(*pattern); ok {
		out.Pattern = &meteredPattern{p, g}
	}
	if s.PatternProperties != nil {
		metered := make(map[jsonschema.Regexp]*jsonschema.Schema, len(out.PatternProperties))
		for re, sub := range out.PatternProperties {
			if p, ok := re.(*pattern); ok {
				re = &meteredPattern{p, g}
			}
			metered[re] = sub
		}
		out.PatternProperties = metered
	}
	out.Enum, out.Const, out.UniqueItems = nil, nil, false
	h := &hook{
		guard: g, rules: g.of.values[s], inPlace: 1 + inPlace,
		object: len(s.PatternProperties) + count(s.Properties != nil, isSchema(s.AdditionalProperties), s.PropertyNames != nil,
			s.UnevaluatedProperties != nil),
		array: count(s.Items != nil, s.AdditionalItems != nil, s.Items2020 != nil, s.PrefixItems != nil, s.Contains != nil,
			s.UnevaluatedItems != nil),
		fixed: 1 + inPlace + (len(s.Required)+len(s.Dependencies)+len(s.DependentRequired))/8,
	}
	out.Format = &jsonschema.Format{Name: "value", Validate: h.check}
	return &out
}

func isSchema(v any) bool {
	_, ok := v.(*jsonschema.Schema)
	return ok
}

func count(facts ...bool) int {
	n := 0
	for _, yes := range facts {
		if yes {
			n++
		}
	}
	return n
}

// pay takes units from the budget.
func (g *guard) pay(units int) {
	g.left -= units
	if g.left < 0 {
		panic(stop{errWork})
	}
	if g.unchecked += units; g.unchecked > 4096 {
		g.unchecked = 0
		if err := g.ctx.Err(); err != nil {
			panic(stop{err})
		}
	}
}

// run calls f within a budget.
func (g *guard) run(ctx context.Context, budget int, f func() error) (err, stopped error) {
	g.ctx, g.left, g.unchecked = ctx, budget, 0
	defer func() {
		g.ctx = nil
		if p := recover(); p != nil {
			why, ok := p.(stop)
			if !ok {
				panic(p)
			}
			stopped = why.err
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f(), nil
}

// hook pays for the evaluation of one schema.
type hook struct {
	guard *guard
	rules *valueRules
	// fixed is paid per value, and number per number in addition; inPlace per member of a value if evaluation lists them; object and array per
	// member.
	fixed, number, inPlace, object, array int
}

func (h *hook) check(v any) error {
	units, size := h.fixed, 0
	switch v := v.(type) {
	case map[string]any:
		size = len(v)
		units += size/membersPerUnit + size*h.object
	case []any:
		size = len(v)
		units += size * h.array
	case string:
		units += len(v) / textPerUnit
	case json.Number:
		units += h.number * numberUnits(v)
	case float64:
		units += h.number * numberUnits("")
	}
	if h.guard.of.unevaluated {
		units += size * h.inPlace
	}
	h.guard.pay(units)
	return h.rules.check(h.guard, v)
}

// numberUnits returns the cost of comparing a number exactly.
func numberUnits(n json.Number) int {
	if strings.ContainsAny(n.String(), "eE") {
		return 4 + maxDigits/32
	}
	return 4 + len(n)/32
}

// meteredPattern pays for its matches.
type meteredPattern struct {
	*pattern
	guard *guard
}

// MatchString implements jsonschema.Regexp.
func (p *meteredPattern) MatchString(s string) bool {
	p.guard.pay(1 + len(s)*p.size/programPerUnit)
	return p.Regexp.MatchString(s)
}

// shorten truncates a text that came from a server or a caller.
func shorten(text string) string { return truncate.Bytes(text, 400) }
