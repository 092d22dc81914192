package schema_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/schema"
)

func TestSchemasOfObjects(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    `{"type":"object"}`,
		`null`:                                `{"type":"object"}`,
		`true`:                                `{"type":"object"}`,
		`{}`:                                  `{"type":"object"}`,
		`[]`:                                  `{"type":"object"}`,
		`{"type":"object", "x":1.50}`:         `{"type":"object", "x":1.50}`,
		`{"properties":{"a":{}}}`:             `{"properties":{"a":{}},"type":"object"}`,
		`{"type":null}`:                       `{"type":"object"}`,
		`{"type":["object","null"]}`:          `{"type":"object"}`,
		`{"type":"object","properties":[]}`:   `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":null}`: `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":{"a":true,"b":false,"c":{}}}`: `{"properties":{"a":{},"b":{"not":{}},"c":{}},"type":"object"}`,
		`{"type":"object","required":null}`:                          `{"type":"object"}`,
		`{"type":"object","required":true}`:                          `{"type":"object"}`,
		`{"type":"object","required":{}}`:                            `{"type":"object"}`,
		`{"type":"object","required":"a"}`:                           `{"required":["a"],"type":"object"}`,
		`{"type":"object","required":["a",1,null]}`:                  `{"required":["a"],"type":"object"}`,
		`{"type":"object","required":[]}`:                            `{"type":"object","required":[]}`,
		`{"type":"object","required":["a"]}`:                         `{"type":"object","required":["a"]}`,
		`{"type":"object","$schema":7}`:                              `{"type":"object"}`,
		`{"type":"object","anyOf":[{"required":["a"]}],"$defs":[]}`:  `{"type":"object","anyOf":[{"required":["a"]}],"$defs":[]}`,
		`false`:                                "error: it is not an object",
		`"object"`:                             "error: it is not an object",
		`[{}]`:                                 "error: it is not an object",
		`{"type":"string"}`:                    `error: its "type" is "string"`,
		`{"type":["string","null"]}`:           `error: its "type" is`,
		`{"type":{}}`:                          `error: its "type" is {}`,
		`{"type":"object","properties":"a"}`:   `error: its "properties"`,
		`{"type":"object","properties":["a"]}`: `error: its "properties"`,
		`{"type":"object","properties":{"a":"string"}}`: `error: its property "a"`,
	} {
		got, err := schema.Object([]byte(text))
		shown := string(got)
		if err != nil {
			shown = "error: " + err.Error()
		}
		if shown != want && (err == nil || !strings.HasPrefix(shown, want)) {
			t.Errorf("%s\ngot  %s\nwant %s", text, shown, want)
		}
		if err != nil {
			continue
		}
		if again, err := schema.Object(got); err != nil || string(again) != shown || !schema.IsObject(again) {
			t.Errorf("%s, mended: %s, %v", text, again, err)
		}
	}
	for text, want := range map[string]bool{
		`{"type":"object"}`: true, `{"description":"anything"}`: false, `{"type":["object"]}`: false, `{"type":"array"}`: false, `x`: false,
	} {
		if got := schema.IsObject([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
