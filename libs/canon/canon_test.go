package canon

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSameArgumentsHaveOneHash(t *testing.T) {
	for _, same := range [][]string{
		{`{}`, ``, " \n", `{ }`},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, "{\n\t\"b\" : 2 , \"a\":1}"},
		{`{"n":1}`, `{"n":1.0}`, `{"n":1e0}`, `{"n":10e-1}`},
		{`{"n":0}`, `{"n":-0}`, `{"n":0.0}`, `{"n":-0.0}`},
		{`{"n":100000000000000000000.5}`, `{"n":100000000000000000000.50}`},
		{`{"s":"é\u2028/<"}`, `{"s":"\u00e9\u2028\/\u003c"}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
	} {
		want := hash(t, same[0])
		for _, text := range same[1:] {
			if hash(t, text) != want {
				t.Errorf("%q and %q differ", same[0], text)
			}
		}
	}
	for _, different := range [][2]string{
		{`{"a":1}`, `{"a":"1"}`},
		{`{"a":null}`, `{}`},
		{`{"a":[1,2]}`, `{"a":[2,1]}`},
		{`{"id":12345678901234567890}`, `{"id":12345678901234567891}`},
	} {
		if hash(t, different[0]) == hash(t, different[1]) {
			t.Errorf("%q and %q are the same", different[0], different[1])
		}
	}
}

func hash(t *testing.T, text string) string {
	t.Helper()
	o, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return o.Hash()
}

// TestCanonicalForm uses the example of RFC 8785, section 3.2.
func TestCanonicalForm(t *testing.T) {
	o, err := Parse([]byte(`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
		"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
		`"string":"€$\u000f\nA'B\"\\\\\"/"}`
	if got := string(AppendValue(nil, map[string]any(o), canonical)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	o, err = Parse([]byte(`{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"\r":4,"1":5,"\u0080":6,"\u00f6":7}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(o.JSON()); got != `{"\r":4,"1":5,"`+"\u0080"+`":6,"ö":7,"€":3,"😀":2,"`+"\ufb33"+`":1}` {
		t.Errorf("order of keys: %s", got)
	}
}

func TestNumbersArriveAsTheyCame(t *testing.T) {
	text := `{"a":1.0,"b":12345678901234567890,"c":1e400,"d":0.10}`
	o, err := Parse([]byte(text))
	if err != nil || string(o.JSON()) != text {
		t.Errorf("%s, %v", o.JSON(), err)
	}
	if o.Hash() == "" {
		t.Error("no hash")
	}
}

func TestWrongTextIsExplained(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":`:            "ends too early",
		`{"a" 1}`:          "byte 6",
		`[1]`:              "an array",
		`"x"`:              "a string",
		`null`:             "null",
		`3`:                "a number",
		`true`:             "a boolean",
		`{} {}`:            "more text",
		`{}x`:              "more text",
		`{"a":01}`:         "not valid JSON",
		`{'a':1}`:          "not valid JSON",
		"```json\n{}\n```": "not valid JSON",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestRoundTrip: the JSON of any value parses to the same value.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.String(), rapid.OneOf(
			rapid.String().AsAny(), rapid.Float64().AsAny(), rapid.Int64().AsAny(), rapid.Bool().AsAny(),
			rapid.SliceOf(rapid.String()).AsAny(),
		)).Draw(t, "value")
		text, err := json.Marshal(value)
		if err != nil {
			t.Skip(err)
		}
		o, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(o.JSON())
		if err != nil || !reflect.DeepEqual(o, again) || o.Hash() != again.Hash() {
			t.Fatalf("%s became %s, %v", text, o.JSON(), err)
		}
		canonicalText := AppendValue(nil, map[string]any(o), canonical)
		if c, err := Parse(canonicalText); err != nil || c.Hash() != o.Hash() {
			t.Fatalf("the canonical form %s is not stable: %v", canonicalText, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(o.JSON()); err != nil || again.Hash() != o.Hash() {
			t.Fatalf("%q became %q: %v", text, o.JSON(), err)
		}
	})
}
