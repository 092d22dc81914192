package question

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/mcpbridge/server"
)

func TestQuestionsThatAreNotPassedOn(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 1000) + `{}` + strings.Repeat("}", 1000)
	for name, row := range map[string]struct {
		form form
		want string
	}{
		"a form":               {form{Message: "?", Schema: json.RawMessage(`{"type":"object"}`)}, ""},
		"no schema":            {form{Message: "?"}, ""},
		"another mode":         {form{Mode: "url"}, "only forms"},
		"a long text":          {form{Message: strings.Repeat("?", maxQuestion+1)}, "too large"},
		"a large schema":       {form{Schema: json.RawMessage(`"` + strings.Repeat("x", maxForm) + `"`)}, "too large"},
		"a deep schema":        {form{Schema: json.RawMessage(deep)}, "nested too deeply"},
		"a schema with a loop": {form{Schema: json.RawMessage(`{"$ref":"#"}`)}, "without end"},
	} {
		if got := row.form.wrong(); row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// A caller that answers questions itself gets those that it can, whatever its server sends.
func TestRequestsThatAreNotPassedOn(t *testing.T) {
	in := Caller{Accepts: []string{"elicitation/create", "roots/list"}}
	for name, row := range map[string]struct {
		request serverRequest
		want    string
	}{
		"a form":          {serverRequest{"elicitation/create", json.RawMessage(`{"message":"?","requestedSchema":{"type":"object"}}`)}, ""},
		"a URL":           {serverRequest{"elicitation/create", json.RawMessage(`{"mode":"url","message":"?","url":"javascript:alert(1)"}`)}, "only forms"},
		"no parameters":   {serverRequest{Method: "elicitation/create"}, "cannot be read"},
		"allowed roots":   {serverRequest{Method: "roots/list"}, ""},
		"another request": {serverRequest{Method: "sampling/createMessage"}, "not passed on"},
	} {
		s := &server.Spec{ClientRequests: []string{"roots"}}
		asked, got := in.passOn(s, map[string]serverRequest{"q": row.request}, State{})
		if (asked != nil) != (row.want == "") || row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s: %v, %q, want %q", name, asked, got, row.want)
		}
	}
}
