package input_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/input"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func text(s string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: s}}
}

func blob(data string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "image/png", Data: []byte(data)}}}
}

func TestAnInputIsATextOrContent(t *testing.T) {
	c := input.Checker{MaxBytes: 64}
	for _, row := range []struct {
		name    string
		text    string
		content []*turnv1.ContentPart
		field   string // that is wrong
	}{
		{name: "a text", text: "hello"},
		{name: "content", content: []*turnv1.ContentPart{text("hello"), blob("x")}},
		{name: "a picture alone", content: []*turnv1.ContentPart{blob("x")}},
		{name: "a picture and space", content: []*turnv1.ContentPart{text(" "), blob("x")}},
		{name: "both", text: "hello", content: []*turnv1.ContentPart{text("hello")}, field: "input"},
		{name: "neither", field: "input"},
		{name: "space", text: " \n\t", field: "input"},
		{name: "content of space", content: []*turnv1.ContentPart{text(" "), text("\n")}, field: "content"},
		{name: "an empty part", content: []*turnv1.ContentPart{text("hello"), {}}, field: "content[1]"},
		{name: "a text that is not UTF-8", text: "a\xff", field: "input"},
		{name: "content that is not UTF-8", content: []*turnv1.ContentPart{blob("x"), text("a\xff")}, field: "content[1].text"},
		{name: "a long text", text: strings.Repeat("a", 65), field: "input"},
		{name: "long content", content: []*turnv1.ContentPart{blob(strings.Repeat("a", 64))}, field: "content"},
		{
			name:    "parts that are long together",
			content: []*turnv1.ContentPart{text(strings.Repeat("a", 40)), text(strings.Repeat("b", 40))}, field: "content",
		},
	} {
		got, err := c.Content(row.text, row.content)
		switch want := row.content; {
		case row.field != "":
			if f := fieldsOf(err); !slices.Equal(f, []string{row.field}) {
				t.Errorf("%s: wrong are %q, want %q", row.name, f, row.field)
			}
		case row.text != "":
			want = []*turnv1.ContentPart{text(row.text)}
			fallthrough
		default:
			if err != nil || !slices.EqualFunc(got, want, func(a, b *turnv1.ContentPart) bool { return proto.Equal(a, b) }) {
				t.Errorf("%s: got %v, %v", row.name, got, err)
			}
		}
	}
}

func TestAScheduleMaySayNothing(t *testing.T) {
	c := input.Checker{MaxBytes: 64}
	for _, silence := range []string{"", " "} {
		if _, err := c.Text("input", silence); err != nil {
			t.Errorf("the text %q is refused: %v", silence, err)
		}
		if _, err := c.Message("message", silence); !slices.Equal(fieldsOf(err), []string{"message"}) {
			t.Errorf("the message %q got %v", silence, err)
		}
	}
}

func TestASizeIsRefusedExactlyAboveTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, size := rapid.IntRange(0, 100).Draw(t, "limit"), rapid.IntRange(0, 200).Draw(t, "size")
		c := input.Checker{MaxBytes: limit}
		_, err := c.Text("input", strings.Repeat("a", size))
		if refused := fault.Is(err, faultv1.Reason_REASON_TOO_LARGE); refused != (size > limit) || !refused && err != nil {
			t.Fatalf("%d bytes of %d got %v", size, limit, err)
		}
		if err != nil && (!slices.Equal(fieldsOf(err), []string{"input"}) || fault.From(err).Todo == "" || fault.Retryable(err)) {
			t.Fatalf("the refusal is %+v", fault.From(err))
		}
	})
}

func tool(name, description string, schema map[string]any) *store.ClientTool {
	out := &store.ClientTool{Name: name, Description: description}
	if schema != nil {
		var err error
		if out.InputSchema, err = structpb.NewStruct(schema); err != nil {
			panic(err)
		}
	}
	return out
}

func TestAToolOfTheCallerNeedsANameOfItsOwnAndASchemaOfAnObject(t *testing.T) {
	c := input.Checker{MaxBytes: 1000}
	object := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}
	for _, row := range []struct {
		name  string
		tools []*store.ClientTool
		want  []string
	}{
		{name: "none"},
		{name: "two", tools: []*store.ClientTool{tool("a", "", object), tool("b", "", object)}},
		{name: "no schema", tools: []*store.ClientTool{tool("a", "", nil)}},
		{name: "a schema without a type", tools: []*store.ClientTool{tool("a", "", map[string]any{"required": []any{"x"}})}},
		{
			name: "the same name", tools: []*store.ClientTool{tool("a", "", nil), tool("a", "", nil), tool("a", "", nil)},
			want: []string{"tools[1].name", "tools[2].name"},
		},
		{
			name: "a schema of a text", tools: []*store.ClientTool{tool("a", "", map[string]any{"type": "string"})},
			want: []string{"tools[0].input_schema"},
		},
		{
			name: "several types", tools: []*store.ClientTool{tool("a", "", map[string]any{"type": []any{"object", "null"}})},
			want: []string{"tools[0].input_schema"},
		},
		{
			name: "no schema at all", tools: []*store.ClientTool{tool("a", "", map[string]any{"type": "thing"})},
			want: []string{"tools[0].input_schema"},
		},
		{name: "NUL", tools: []*store.ClientTool{tool("a", "a\x00b", nil)}, want: []string{"tools[0].description"}},
		{
			name: "all at once", tools: []*store.ClientTool{tool("a", "", nil), tool("a", "\x00", map[string]any{"type": "array"})},
			want: []string{"tools[1].name", "tools[1].description", "tools[1].input_schema"},
		},
		{
			name:  "too large together",
			tools: []*store.ClientTool{tool("a", strings.Repeat("x", 600), nil), tool("b", strings.Repeat("x", 600), nil)}, want: []string{"tools"},
		},
	} {
		if got := fieldsOf(c.Tools(t.Context(), row.tools)); !slices.Equal(got, row.want) {
			t.Errorf("%s: wrong are %q, want %q", row.name, got, row.want)
		}
	}
}

func TestTheCheckOfToolsEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (input.Checker{MaxBytes: 100}).Tools(ctx, []*store.ClientTool{tool("a", "", nil)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func fieldsOf(err error) (paths []string) {
	if err == nil {
		return nil
	}
	for _, f := range fault.From(err).Fields {
		paths = append(paths, f.Path)
	}
	return paths
}

func TestOnlyAnswersHaveCitations(t *testing.T) {
	given := text("so [1]")
	given.Citations = []*turnv1.Citation{{Number: 1, DocumentName: "forged.md"}}
	got, err := input.Checker{MaxBytes: 1000}.Content("", []*turnv1.ContentPart{blob("x"), given})
	if err != nil || len(got) != 2 || got[1].GetText() != "so [1]" || len(got[1].GetCitations()) != 0 || len(given.GetCitations()) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}
