package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/windlass-dev/windlass/libs/regexsize"
)

// Limits of a schema. The compiler's work grows with the square of some of these numbers, and evaluation can grow exponentially with
// references, so each is checked before the compiler sees the document.
const (
	maxBytes      = 1 << 20 // of JSON text
	maxDepth      = 128     // of nested objects and arrays
	maxValues     = 50_000  // JSON values of any kind
	maxSubschemas = 5_000   // objects and booleans: everything that can be a schema
	maxComposite  = 1_000   // objects and arrays in one array
	maxIDs        = 50      // $id
	maxRefs       = 1_000   // $ref
	maxRefWork    = 500_000 // values × distinct $refs to non-schema places: the compiler copies its index for each
	maxExpanded   = 10_000  // schemas that apply to a single value, references followed
	maxChain      = 100     // schemas that lead to one another at a single value
	maxPattern    = 4 << 10 // bytes of one regular expression
	maxProgram    = 10_000  // size of one compiled regular expression
	maxPrograms   = 50_000  // size of all of them
	maxDigits     = 400     // of a number's text, and of its exponent's value: exact arithmetic expands exponents
)

// document checks what can be counted without compiling.
type document struct {
	values, subschemas, ids, refs int
	foreign                       map[string]bool
}

// checkDocument rejects a schema that exceeds a limit or refers to another document.
func checkDocument(doc any) error {
	d := document{foreign: map[string]bool{}}
	if err := d.walk(doc, 1); err != nil {
		return err
	}
	if work := len(d.foreign) * d.values; work > maxRefWork {
		return over("too many $refs to places outside of $defs", work, maxRefWork)
	}
	return nil
}

// ErrLimit means that a schema exceeds a limit. It does not say whether the schema is otherwise valid.
var ErrLimit = errors.New("schema is over a limit")

func over(what string, n, limit int) error {
	return fmt.Errorf("%w: %s (%d, at most %d)", ErrLimit, what, n, limit)
}

func (d *document) walk(v any, depth int) error {
	if depth > maxDepth {
		return over("nested too deeply", depth, maxDepth)
	}
	if d.values++; d.values > maxValues {
		return over("too many values", d.values, maxValues)
	}
	switch v := v.(type) {
	case map[string]any:
		return d.object(v, depth)
	case []any:
		return d.array(v, depth)
	case bool:
		return d.subschema()
	case json.Number:
		return checkNumber(v.String())
	}
	return nil
}

func (d *document) subschema() error {
	if d.subschemas++; d.subschemas > maxSubschemas {
		return over("too many subschemas", d.subschemas, maxSubschemas)
	}
	return nil
}

func (d *document) object(o map[string]any, depth int) error {
	if err := d.subschema(); err != nil {
		return err
	}
	for key, v := range o {
		if text, ok := v.(string); ok {
			if err := d.keyword(key, text); err != nil {
				return err
			}
		}
		if err := d.walk(v, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) array(a []any, depth int) error {
	composite := 0
	for _, v := range a {
		switch v.(type) {
		case map[string]any, []any:
			composite++ // the compiler compares the members of an enum with one another
		}
		if err := d.walk(v, depth+1); err != nil {
			return err
		}
	}
	if composite > maxComposite {
		return over("too many objects in one array", composite, maxComposite)
	}
	return nil
}

// keyword counts a text member as if its object were a schema.
func (d *document) keyword(key, text string) error {
	switch key {
	case "$dynamicRef", "$recursiveRef":
		return fmt.Errorf("%s is not supported: use $ref", key)
	case "$id":
		if d.ids++; d.ids > maxIDs {
			return over("too many $ids", d.ids, maxIDs)
		}
	case "$ref":
		if d.refs++; d.refs > maxRefs {
			return over("too many $refs", d.refs, maxRefs)
		}
		if path, ok := strings.CutPrefix(text, "#/"); ok && !isSchemaPlace(path) {
			d.foreign[text] = true
		}
	}
	return nil
}

// isSchemaPlace reports whether a JSON pointer passes only keywords whose values are schemas.
func isSchemaPlace(path string) bool {
	tokens := strings.Split(path, "/")
	for i := 0; i < len(tokens); i++ {
		switch tokens[i] {
		case "$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "allOf", "anyOf", "oneOf", "prefixItems":
			i++ // a name or an index
			if i == len(tokens) {
				return false
			}
		case "items", "not", "if", "then", "else", "additionalProperties", "contains", "propertyNames", "unevaluatedProperties",
			"unevaluatedItems":
		default:
			return false
		}
	}
	return true
}

// checkNumber rejects a number whose exact value needs too many digits.
func checkNumber(text string) error {
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > maxDigits || n < -maxDigits {
			return fmt.Errorf("%w: a number has an exponent beyond ±%d", ErrLimit, maxDigits)
		}
	}
	if len(digits) > maxDigits {
		return fmt.Errorf("%w: a number has more than %d digits", ErrLimit, maxDigits)
	}
	return nil
}

// pattern is a regular expression with its compiled size.
type pattern struct {
	*regexp.Regexp
	size int
}

// patterns compiles regular expressions within the limits. Go's take time linear in text × size, without backtracking.
type patterns struct{ total int }

func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if len(text) > maxPattern {
		return nil, over("a pattern is too long", len(text), maxPattern)
	}
	expanded, err := regexsize.Of(text)
	if err != nil {
		return nil, err
	}
	size := expanded.Instructions
	p.total += size
	if size > maxProgram || p.total > maxPrograms {
		return nil, over("patterns with too many repetitions", max(size, p.total), maxProgram)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{re, size}, nil
}
