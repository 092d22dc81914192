package output_test

import (
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/windlass-dev/windlass/internal/cli/output"
)

const value = `{"id":"a","number":"007","yes":"yes","null":null,"count":12345678901234567890,"empty":{},"list":[],"items":[{"x":1.5,` +
	`"y":true},"two\nlines","😀 \ud83d\ude00 \u001b"],"date":"2026-01-02"}`

func TestYAMLKeepsOrderAndTypes(t *testing.T) {
	var b strings.Builder
	if err := output.Value(&b, output.YAML, json.RawMessage(value)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), "id: a\nnumber: \"007\"\n") {
		t.Errorf("YAML begins\n%s", b.String())
	}
	var got, want map[string]any
	if err := yaml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	dec := json.NewDecoder(strings.NewReader(value))
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"id", "number", "yes", "null", "date"} {
		if got[key] != want[key] {
			t.Errorf("%s is %#v, want %#v", key, got[key], want[key])
		}
	}
	items, ok := got["items"].([]any)
	if !ok || len(items) != 3 || items[1] != "two\nlines" || items[2] != "😀 😀 \x1b" {
		t.Errorf("items are %#v", got["items"])
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := output.List(&b, output.JSON, []json.RawMessage{json.RawMessage(`{"a":1}`)}); err != nil ||
		b.String() != "[\n  {\n    \"a\": 1\n  }\n]\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	b.Reset()
	if err := output.List(&b, output.YAML, nil); err != nil || b.String() != "[]\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestFormats(t *testing.T) {
	for _, s := range []string{"table", "json", "yaml", "name"} {
		if f, err := output.Parse(s); err != nil || string(f) != s {
			t.Errorf("Parse(%q) = %q, %v", s, f, err)
		}
	}
	if _, err := output.Parse("xml"); err == nil {
		t.Error("xml is taken")
	}
}

func TestRowsAlignAndHoldControlCharacters(t *testing.T) {
	var b strings.Builder
	err := output.Rows(&b, []string{"A", "B", "C"}, [][]string{{"größe", "", "x\ny"}, {"\x1b[2J", "bb", ""}})
	if err != nil || b.String() != "A      B   C\ngröße      x y\n\uFFFD[2J   bb\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc":      "a\tb\nc",
		"a\r\nb":       "a\nb",
		"\x1b]0;x\x07": "\uFFFD]0;x\uFFFD",
		"a\u202eb":     "a\uFFFDb",
		"\x9b2J":       "\uFFFD2J",
		"\u009b2J":     "\uFFFD2J",
		"grüße 😀":      "grüße 😀",
	} {
		if got := output.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := output.Short("häßlich und lang", 8); got != "häßlich…" {
		t.Errorf("Short = %q", got)
	}
}

func TestFieldsRefuseWhatIsNoObject(t *testing.T) {
	var b strings.Builder
	for _, raw := range []string{`[]`, `"x"`, ``} {
		if err := output.Fields(&b, json.RawMessage(raw)); err == nil {
			t.Errorf("Fields(%q) takes it", raw)
		}
	}
}

func TestAVeryLongFieldIsShortened(t *testing.T) {
	var b strings.Builder
	raw := `{"name":"x","document":"` + strings.Repeat("line\\n", 3000) + `","kind":"openapi"}`
	if err := output.Fields(&b, json.RawMessage(raw)); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); len(got) > 2000 || !strings.Contains(got, "(14999 bytes; -o yaml shows all)\nkind      openapi\n") {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}
