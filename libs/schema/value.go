package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/windlass-dev/windlass/libs/canon"
)

const (
	maxInstanceDepth = 512 // of nested objects and arrays in a validated value
	maxShownValues   = 20  // of an enum, in a message
)

var errLargeNumber = fmt.Errorf("is a number that cannot be checked: more than %d digits, or an exponent beyond ±%d", maxDigits, maxDigits)

var errTooDeep = errors.New("is nested too deeply to be checked")

// measure pays for the values in v, and returns the location and error of one that cannot be evaluated.
func (g *guard) measure(v any, depth int) (where []string, err error) {
	if depth > maxInstanceDepth {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case map[string]any:
		g.pay(1 + len(v)/membersPerUnit)
		for key, member := range v {
			if where, err := g.measure(member, depth+1); err != nil {
				return append(where, key), err
			}
		}
	case []any:
		g.pay(1 + len(v)/membersPerUnit)
		for i, member := range v {
			if where, err := g.measure(member, depth+1); err != nil {
				return append(where, index(i)), err
			}
		}
	default:
		return nil, checkScalar(v)
	}
	return nil, nil
}

func checkScalar(v any) error {
	if n, ok := v.(json.Number); ok {
		if err := checkNumber(n.String()); err != nil {
			return errLargeNumber
		}
	}
	return nil
}

func index(i int) string { return strconv.Itoa(i) }

// valueRules are the rules of one schema that compare whole values.
type valueRules struct {
	constant *string
	enum     map[string]struct{}
	unique   bool
	format   *jsonschema.Format
	// enumError and constError say what is allowed.
	enumError, constError error
}

// valueError describes a violated rule.
type valueError string

func (e valueError) Error() string { return string(e) }

func newValueRules(s *jsonschema.Schema) *valueRules {
	r := &valueRules{unique: s.UniqueItems, format: s.Format}
	if s.Const != nil {
		text := canonical(*s.Const)
		r.constant, r.constError = &text, valueError("value must be "+formatValue(*s.Const))
	}
	if s.Enum == nil {
		return r
	}
	r.enum = make(map[string]struct{}, len(s.Enum.Values))
	words := make([]string, 0, maxShownValues)
	for i, v := range s.Enum.Values {
		r.enum[canonical(v)] = struct{}{}
		switch {
		case i < maxShownValues:
			words = append(words, formatValue(v))
		case i == maxShownValues:
			words = append(words, fmt.Sprintf("… (%d in all)", len(s.Enum.Values)))
		}
	}
	r.enumError = valueError(shorten("value must be one of " + strings.Join(words, ", ")))
	if len(words) == 1 {
		r.enumError = valueError("value must be " + words[0])
	}
	return r
}

// check returns the first rule that v violates.
func (r *valueRules) check(g *guard, v any) error {
	if r.constant != nil || r.enum != nil {
		text := g.canonical(v)
		if r.constant != nil && text != *r.constant {
			return r.constError
		}
		if _, ok := r.enum[text]; r.enum != nil && !ok {
			return r.enumError
		}
	}
	if list, ok := v.([]any); ok && r.unique {
		if err := g.unique(list); err != nil {
			return err
		}
	}
	if r.format == nil {
		return nil
	}
	if text, ok := v.(string); ok && r.format.Name == "regex" {
		g.pay(1 + len(text)/8)
		if _, err := (&patterns{}).compile(text); err != nil {
			return valueError("is not a regular expression that can be used")
		}
		return nil
	}
	if err := r.format.Validate(v); err != nil {
		return valueError(fmt.Sprintf("%s is not valid %s: %s", formatValue(v), r.format.Name, shorten(err.Error())))
	}
	return nil
}

func (g *guard) unique(list []any) error {
	seen := make(map[string]int, len(list))
	for i, v := range list {
		text := g.canonical(v)
		if j, ok := seen[text]; ok {
			return valueError(fmt.Sprintf("items at %d and %d are equal", j, i))
		}
		seen[text] = i
	}
	return nil
}

func (g *guard) canonical(v any) string {
	text := canonical(v)
	g.pay(1 + len(text)/textPerUnit)
	return text
}

// canonical writes equal values as equal texts: numbers by exact value, members sorted by name.
func canonical(v any) string {
	return string(canon.AppendValue(nil, v, func(n json.Number) string {
		exact, ok := new(big.Rat).SetString(n.String()) // bounded by checkNumber
		if !ok {
			return n.String()
		}
		return exact.RatString()
	}))
}

// formatValue formats a value for a message.
func formatValue(v any) string {
	switch v := v.(type) {
	case string:
		return "'" + strings.ReplaceAll(shorten(v), "'", `\'`) + "'"
	case []any, map[string]any:
		return "the given list or object"
	default:
		return shorten(canonical(v))
	}
}
