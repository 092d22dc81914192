package passage_test

import (
	"reflect"
	"regexp"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
)

func TestResultsAreReadAsTheyAreWritten(t *testing.T) {
	want := []passage.Passage{
		{
			Bank: "handbook", Document: "doc_1", Version: "ver_1", Name: "a.md", Start: 10, End: 14, Quote: "text", Heading: []string{"A", "B"},
			Page: 3, Score: 1.5,
		},
		{Bank: "handbook", Document: "doc_2", Version: "ver_2", Name: "b.md", End: 1, Quote: "x"},
	}
	passage.Marks("trn_1/tool-1", want)
	if !regexp.MustCompile(`^k[0-9a-f]{6}\.1$`).MatchString(want[0].Mark) {
		t.Errorf("the mark is %q", want[0].Mark)
	}
	r := &turnv1.ToolResult{Tool: passage.SearchTool, StructuredContent: passage.Structured(want, "lexical", []string{"gone"})}
	if got := passage.Of(r); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for name, other := range map[string]*turnv1.ToolResult{
		"another tool": {Tool: "x__search_knowledge", StructuredContent: r.GetStructuredContent()},
		"an error":     {Tool: passage.SearchTool, StructuredContent: r.GetStructuredContent(), IsError: true},
		"no data":      {Tool: passage.SearchTool},
	} {
		if got := passage.Of(other); got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestMarksAreThoseOfTheCall(t *testing.T) {
	mark := func(key string) string {
		one := []passage.Passage{{}}
		passage.Marks(key, one)
		return one[0].Mark
	}
	if one, again, other := mark("trn_1/a"), mark("trn_1/a"), mark("trn_1/b"); one != again || one == other {
		t.Errorf("marks %s, %s and %s", one, again, other)
	}
}
