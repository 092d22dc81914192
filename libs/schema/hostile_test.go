package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/canon"
)

// repeat joins the texts that format returns for 0 to n-1.
func repeat(n int, format func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = format(i)
	}
	return strings.Join(parts, ",")
}

// doubling returns n definitions, each of which applies the next one twice through keyword; the last is leaf.
func doubling(n int, keyword, leaf string) string {
	return `"$defs":{` + repeat(n, func(i int) string {
		return fmt.Sprintf(`"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1, i+1)
	}) + fmt.Sprintf(`,"d%d":%s}`, n, leaf)
}

func nested(n int, open, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func TestS9HostileSchemasAreRefused(t *testing.T) {
	for _, row := range []struct{ name, schema, want string }{
		{
			"each applies the next twice, allOf", `{"$ref":"#/$defs/d0",` + doubling(30, "allOf", `{"type":"object"}`) + `}`,
			"expand to too many schemas",
		},
		{"each applies the next twice, anyOf", `{"$ref":"#/$defs/d0",` + doubling(30, "anyOf", `false`) + `}`, "expand to too many schemas"},
		{
			"the same below properties", `{"properties":{"a":{"$ref":"#/$defs/d0"}},` + doubling(30, "oneOf", `true`) + `}`,
			"expand to too many schemas",
		},
		{"a long way of references", `{"$ref":"#/$defs/d0","$defs":{` + repeat(500, func(i int) string {
			return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1)
		}) + `,"d500":true}}`, "too many $refs in a row"},
		{"a loop", `{"$ref":"#"}`, "without end"},
		{
			"a loop through allOf", `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/a"}]}}}`,
			"without end",
		},
		{"nested too deeply", nested(5000, `{"not":`, `true`, `}`), "nested too deeply"},
		{
			"too many subschemas", `{"properties":{` + repeat(6000, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`,
			"too many subschemas",
		},
		{
			"too many booleans", `{"properties":{` + repeat(6000, func(i int) string { return fmt.Sprintf(`"p%d":true`, i) }) + `}}`,
			"too many subschemas",
		},
		{
			"too many references", `{"allOf":[` + repeat(1200, func(int) string { return `{"$ref":"#/$defs/a"}` }) + `],"$defs":{"a":true}}`,
			"too many",
		},
		{"references to odd places", `{"properties":{` + repeat(900, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/x/%d"}`, i, i) }) +
			`},"x":[` + repeat(900, func(int) string { return `{"type":"string"}` }) + `]}`, "outside of $defs"},
		{"too many values", `{"enum":[` + repeat(60_000, func(i int) string { return fmt.Sprint(i) }) + `]}`, "too many values"},
		{
			"an enum of many objects", `{"enum":[` + repeat(2000, func(i int) string { return fmt.Sprintf(`[%d]`, i) }) + `]}`,
			"too many objects in one array",
		},
		{"too many bytes", `{"description":"` + strings.Repeat("x", 2<<20) + `"}`, "too many bytes"},
		{"a large exponent", `{"maximum":1e400000000}`, "exponent"},
		{"an exponent beyond an integer", `{"const":1e99999999999999999999}`, "exponent"},
		{"a number of many digits", `{"multipleOf":` + strings.Repeat("7", 5000) + `}`, "digits"},
		{"a long pattern", `{"pattern":"` + strings.Repeat("a", 5000) + `"}`, "pattern is too long"},
		{"repetitions of repetitions", `{"pattern":"` + strings.Repeat(`(a{900})`, 100) + `"}`, "repetitions"},
		{
			"many patterns", `{"allOf":[` + repeat(100, func(i int) string { return fmt.Sprintf(`{"pattern":"a{%d}"}`, 900+i%90) }) + `]}`,
			"repetitions",
		},
		{"a pattern as a property's name", `{"patternProperties":{"` + strings.Repeat(`(a{900})`, 100) + `":true}}`, "repetitions"},
		{"a dynamic reference", `{"$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x"}}}`, "not supported"},
		{"a reference to a meta-schema with one", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "not supported"},
		{"a reference to the network", `{"$ref":"http://127.0.0.1:1/s.json"}`, "other documents"},
		{"a reference to a file", `{"$ref":"file:///etc/passwd"}`, "other documents"},
		{"a relative reference", `{"$ref":"other.json#/a"}`, "other documents"},
		{"an id elsewhere and a reference to it", `{"$id":"file:///etc/","$ref":"passwd"}`, "other documents"},
		{"a meta-schema elsewhere", `{"$schema":"http://127.0.0.1:1/meta"}`, "other documents"},
		{"not JSON", `{"type":`, "parse schema"},
		{"JSON nested beyond the parser", nested(20_000, `[`, ``, `]`), "parse schema"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var err error
			if got := allocated(func() { _, err = Compile([]byte(row.schema)) }); got > 64<<20 {
				t.Errorf("allocated %d MiB", got>>20)
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

// TestS9HostileObjectsAreBounded checks objects against schemas that are within the limits: each check ends within its budget.
func TestS9HostileObjectsAreBounded(t *testing.T) {
	const budget = maxWork / 16 // a small budget keeps the test fast: work grows only with the budget
	const work, numbers = "more work to check", "cannot be checked"
	colliding := func(n int) string { // lists of strings whose concatenations collide
		return repeat(n, func(i int) string {
			var b strings.Builder
			for bit := range 15 {
				b.WriteString("x")
				if i>>bit&1 == 1 {
					b.WriteString(`","`)
				} else {
					b.WriteString(`\u0004`)
				}
			}
			return `["` + b.String() + `"]`
		})
	}
	for _, row := range []struct{ name, schema, object, want string }{
		{
			"two ways at each level", `{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/n"}},"not":{}},
				{"properties":{"a":{"$ref":"#/$defs/n"}},"not":true}]}}}`, nested(40, `{"a":`, `{}`, `}`), work,
		},
		{
			"two ways at each level, under not", `{"not":{"$ref":"#/$defs/n"},"$defs":{"n":{"dependentSchemas":{"a":{"properties":{"a":{"$ref":"#/$defs/n"}}},
				"b":{"properties":{"a":{"$ref":"#/$defs/n"}}}}, "minProperties":9}}}`, nested(40, `{"b":1,"a":`, `{}`, `}`), "",
		},
		{
			"many schemas for many items", `{"properties":{"a":{"items":{"allOf":[` +
				repeat(1000, func(i int) string { return fmt.Sprintf(`{"minimum":%d}`, -i) }) + `]}}}}`,
			`{"a":[` + repeat(5000, func(i int) string { return fmt.Sprint(i) }) + `]}`, work,
		},
		{
			"a large enum for many items", `{"properties":{"a":{"items":{"enum":[` + repeat(20_000, func(i int) string { return fmt.Sprint(i) }) +
				`]}}}}`,
			`{"a":[` + repeat(5_000, func(i int) string { return fmt.Sprintf("%d.5", i) }) + `]}`, "value must be one of",
		},
		{"items that collide", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + colliding(8_000) + `]}`, ""},
		{"a slow pattern", `{"properties":{"a":{"pattern":"(x{1,150}y?){1,5}z"}}}`, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, work},
		{
			"a pattern for many names", `{"patternProperties":{"^(a|b|c){1,100}$":{"type":"string"}}}`,
			`{` + repeat(30_000, func(i int) string { return fmt.Sprintf(`"abcabcabc%d":1`, i) }) + `}`, work,
		},
		{"a large exponent", `{"properties":{"a":{"type":"integer"}}}`, `{"a":1e400000000}`, numbers},
		{"a small exponent", `{"properties":{"a":{"multipleOf":0.1}}}`, `{"a":1e-400000000}`, numbers},
		{"many digits", `{"properties":{"a":{"minimum":0}}}`, `{"a":` + strings.Repeat("9", 1<<20) + `}`, numbers},
		{"deep", `{"type":"object"}`, nested(5000, `{"a":`, `1`, `}`), "nested too deeply"},
		{"many values", `{"type":"object"}`, `{"a":[` + repeat(300_000, func(int) string { return "0" }) + `]}`, ""},
		{
			"everything is wrong", `{"properties":{"a":{"items":{"type":"string"}}}}`,
			`{"a":[` + repeat(100_000, func(int) string { return "0" }) + `]}`, work,
		},
		{
			"everything is unknown", `{"additionalProperties":false}`,
			`{` + repeat(30_000, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }) + `}`, "is not known",
		},
		{
			"a regular expression as a value", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"regex"}}}`,
			`{"a":"` + strings.Repeat(`(a{900})`, 10_000) + `"}`, "regular expression",
		},
		{
			"members are listed again and again", `{"unevaluatedProperties":true,"allOf":[` +
				repeat(500, func(int) string { return `{"allOf":[{},{"minProperties":0}]}` }) + `]}`,
			`{` + repeat(20_000, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }) + `}`, work,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			v, err := Compile([]byte(row.schema))
			if err != nil {
				t.Fatal(err)
			}
			v.budget = budget
			object, err := canon.Parse([]byte(row.object))
			if err != nil {
				t.Fatal(err)
			}
			var faults []Fault
			if got := allocated(func() { faults = validate(t, v, object) }); got > 512<<20 { // in total, not at one time
				t.Errorf("allocated %d MiB", got>>20)
			}
			if text := fmt.Sprint(faults); !strings.Contains(text, row.want) || row.want == "" && faults != nil {
				t.Errorf("%.300s, want %q", text, row.want)
			}
		})
	}
}

func TestLargeArgumentsAreChecked(t *testing.T) {
	v, err := Compile([]byte(`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","required":["id"],
		"properties":{"id":{"type":"string","pattern":"^[a-z0-9-]{1,40}$"},"n":{"type":"integer"},"tags":{"type":"array","items":{"enum":["a","b"]}}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	object, err := canon.Parse([]byte(`{"rows":[` +
		repeat(15_000, func(i int) string { return fmt.Sprintf(`{"id":"row-%d","n":%d,"tags":["a","b"]}`, i, i) }) + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if faults := validate(t, v, object); faults != nil {
		t.Error(faults)
	}
}

// ending is a context that ends after a number of Err calls, in the middle of a validation on any machine.
type ending struct {
	context.Context
	asked int
}

func (e *ending) Err() error {
	if e.asked++; e.asked > 3 {
		return context.Canceled
	}
	return nil
}

func TestACheckEndsWithItsContext(t *testing.T) {
	v, err := Compile([]byte(`{"properties":{"a":{"items":{"type":"integer"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	list := make([]any, 100_000)
	for i := range list {
		list[i] = json.Number("1")
	}
	if faults, err := v.Validate(&ending{Context: t.Context()}, map[string]any{"a": list}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", faults, err)
	}
	if faults := validate(t, v, map[string]any{"a": list}); faults != nil { // the next validation is unaffected
		t.Error(faults)
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
