package toolresult_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/toolresult"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestDataAreReadOnce(t *testing.T) {
	for _, row := range []struct {
		name, structured string
		texts            []string
		unsaid           bool
	}{
		{"a summary", `{"issues":["ISSUE-7731","ISSUE-7732"]}`, []string{"2 issues"}, true},
		{"no text", `{"a":1}`, nil, true},
		{"the same", `{"a":1,"b":[2]}`, []string{`{"b": [2.0], "a": 1}`}, false},
		{"the same beside another text", `{"a":1}`, []string{"found", `{"a":1}`}, false},
		{"the same but for a large number", `{"id":9007199254740993}`, []string{`{"id":9007199254740992}`}, true},
		{"a wrapped text", `{"result":"hello"}`, []string{"hello"}, false},
		{"a wrapped number", `{"result":3}`, []string{"3"}, false},
		{"a wrapped list, each element a text", `{"result":["a",{"b":1}]}`, []string{"a", `{"b":1}`}, false},
		{"a wrapped list of others", `{"result":["a","b"]}`, []string{"a", "c"}, true},
		{"null", `null`, []string{"x"}, false},
		{"a text in two parts", `{"a":1}`, []string{`{"a":`, `1}`}, false},
	} {
		v, err := canon.ParseValue([]byte(row.structured))
		if err != nil {
			t.Fatal(err)
		}
		r := &turnv1.ToolResult{StructuredContent: v}
		for _, text := range row.texts {
			r.Content = append(r.Content, &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}})
		}
		want := ""
		if row.unsaid {
			want = row.structured
		}
		if got := toolresult.Unsaid(r); got != want {
			t.Errorf("%s: %q, want %q", row.name, got, want)
		}
	}
	if got := toolresult.Unsaid(nil); got != "" {
		t.Errorf("no result says %q", got)
	}
}
