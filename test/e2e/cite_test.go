package e2e

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestAnswersCiteDocuments: an agent with a bank answers from it, with citations that are what the document says, in its
// message and its export.
func TestAnswersCiteDocuments(t *testing.T) {
	t.Parallel()
	c := harness.Up(t, t.TempDir(), nil).Client
	const text = "# Leave\n\nEmployees have thirty days of leave a year.\n\n# Hours\n\nThe office opens at eight.\n"
	c.Must("POST", "/v1/banks", harness.JSON{"id": "handbook"})
	doc := c.Must("POST", "/v1/banks/handbook/documents", harness.JSON{"name": "handbook.md", "text": text}).Str("id")
	path := "/v1/banks/handbook/documents/" + doc
	if !harness.Eventually(time.Minute, func() bool { return c.Must("GET", path, nil).Str("state") == "ready" }) {
		t.Fatalf("the document is not ingested: %v", c.Must("GET", path, nil))
	}
	c.Must("POST", "/v1/agents", harness.JSON{"id": "desk", "model": "builtin/scripted", "banks": []string{"handbook"}})
	session := c.Session("desk")
	turn := c.Turn(session, "cite: days of leave")
	if end := c.Wait(turn); end.Str("status") != "completed" {
		t.Fatalf("turn %v", end)
	}
	var answer harness.JSON
	for _, msg := range list(c.Must("GET", "/v1/sessions/"+session+"/messages", nil), "messages") {
		if msg.Str("role") == "assistant" {
			answer = msg
		}
	}
	parts := list(answer, "content")
	if len(parts) != 1 || !strings.HasSuffix(parts[0].Str("text"), "[1]") {
		t.Fatalf("the answer is %v", answer)
	}
	cited := list(parts[0], "citations")
	if len(cited) != 1 || cited[0].Str("document_id") != doc || !strings.Contains(cited[0].Str("quote"), "thirty days") {
		t.Fatalf("the citations are %v", cited)
	}
	span := fmt.Sprintf("?version=%s&start=%s&end=%s", cited[0].Str("version"), cmp.Or(cited[0].Str("start"), "0"), cited[0].Str("end"))
	if read := c.Must("GET", path+"/text"+span, nil); read.Str("text") != cited[0].Str("quote") {
		t.Errorf("the quote is %q, the document says %q", cited[0].Str("quote"), read.Str("text"))
	}
	export, _ := bytesOf(t, c, "/v1/sessions/"+session+":export?format=markdown")
	if !strings.Contains(export, "[^1]: handbook.md") {
		t.Errorf("the export has no footnote:\n%s", export)
	}
	if got := c.Must("GET", "/v1/turns/"+turn, nil); len(list(got, "citations")) != 1 {
		t.Errorf("the turn has no citation of its output: %v", got)
	}
	subAgentsAreCited(t, c, doc)
	direct := harness.JSON{"id": "d2", "strategy": "direct", "banks": []string{"handbook"}}
	if code, _, err := c.Do(t.Context(), http.MethodPost, "/v1/agents", direct); code != http.StatusBadRequest {
		t.Errorf("an agent that calls no tools may have banks: %d, %v", code, err)
	}
}

// subAgentsAreCited checks that an answer which takes over what the agent "desk" has cited cites it as well, and so does a call of that
// agent as a tool.
func subAgentsAreCited(t *testing.T, c *harness.Client, doc string) {
	t.Helper()
	c.Must("POST", "/v1/agents", harness.JSON{"id": "boss", "model": "builtin/scripted", "agents": []string{"desk"}})
	turn := c.Turn(c.Session("boss"), `call:agent__desk {"message":"cite: days of leave"}`)
	c.Wait(turn)
	got := c.Must("GET", "/v1/turns/"+turn, nil)
	cited := list(got, "citations")
	if len(cited) != 1 || cited[0].Str("document_id") != doc || strings.Count(got.Str("output"), "[") != 1 ||
		!strings.Contains(got.Str("output"), "[1]") {
		t.Errorf("the answer of the caller is %q with %v", got.Str("output"), cited)
	}
	c.Must("POST", "/v1/sources", harness.JSON{"name": "desks", "kind": "agent", "agents": []string{"desk"}})
	result := invoke(c, "desks__desk", harness.JSON{"message": "cite: days of leave"})
	structured, _ := result["structured_content"].(map[string]any)
	if all := list(structured, "citations"); len(all) != 1 || all[0].Str("document_id") != doc {
		t.Errorf("the result of the agent as a tool is %v", result)
	}
}
