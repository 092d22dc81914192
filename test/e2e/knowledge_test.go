package e2e

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// putDocument adds a document to a bank with a form.
func putDocument(t *testing.T, c *harness.Client, bank, name, text string, fields ...[2]string) harness.JSON {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Must("POST", "/v1/banks/"+bank+"/documents", form.String(), "Content-Type", w.FormDataContentType())
}

// TestKnowledgeOverREST covers a bank and its documents over REST, and that others find neither.
func TestKnowledgeOverREST(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	c := p.Client
	status, bank, err := c.Do(t.Context(), "POST", "/v1/banks", harness.JSON{"id": "handbook"})
	if err != nil || status != http.StatusCreated || bank["mode"] != "lexical" || bank["subject"] != "local" {
		t.Fatalf("the bank is %v, %d, %v", bank, status, err)
	}
	status, d, err := c.Do(t.Context(), "POST", "/v1/banks/handbook/documents", harness.JSON{"name": "a.md", "text": "# One"})
	if err != nil || status != http.StatusCreated || d["state"] != "queued" {
		t.Fatalf("the document is %v, %d, %v", d, status, err)
	}
	path := "/v1/banks/handbook/documents/" + d.Str("id")
	if got := c.Must("GET", path, nil); got["name"] != "a.md" || got["size"] != "5" || got["media_type"] != "text/markdown" {
		t.Errorf("read %v", got)
	}
	if !harness.Eventually(time.Minute, func() bool { return c.Must("GET", path, nil).Str("state") == "ready" }) {
		t.Fatalf("the document is not ingested: %v", c.Must("GET", path, nil))
	}
	found := c.Must("POST", "/v1/banks/handbook:search", harness.JSON{"query": "one", "page_size": 10})
	if results := list(found, "results"); found["mode"] != "lexical" || len(results) != 1 || results[0].Str("document_id") != d.Str("id") ||
		results[0].Str("document_name") != "a.md" || results[0].Str("text") != "One" || results[0].Str("end") != "3" {
		t.Errorf("found %v", found)
	}
	form := putDocument(t, c, "handbook", "b.md", "# Two", [2]string{"labels", "staff"}, [2]string{"attributes", "year=2026"})
	if labels, _ := form["labels"].([]any); form["state"] != "queued" || len(labels) != 1 || labels[0] != "staff" {
		t.Errorf("the document of the form is %v", form)
	}
	again := putDocument(t, c, "handbook", "b.md", "# Two", [2]string{"labels", "staff"}, [2]string{"attributes", "year=2026"})
	if again.Str("id") != form.Str("id") || again.Str("latest_version") != form.Str("latest_version") {
		t.Errorf("the same content makes %v", again)
	}
	if list := list(c.Must("GET", "/v1/banks/handbook/documents", nil), "documents"); len(list) != 2 {
		t.Errorf("listed %v", list)
	}
	alice := p.as("alice")
	if status, body, err := alice.Do(t.Context(), "POST", "/v1/banks/handbook:search", harness.JSON{"query": "one"}); err != nil ||
		status != http.StatusNotFound {
		t.Errorf("another user searches: %d, %v, %v", status, body, err)
	}
	for _, hidden := range []string{"/v1/banks/handbook", "/v1/banks/handbook/documents", path} {
		if status, body, err := alice.Do(t.Context(), "GET", hidden, nil); err != nil || status != http.StatusNotFound {
			t.Errorf("another user gets %s: %d, %v, %v", hidden, status, body, err)
		}
	}
	if banks := list(alice.Must("GET", "/v1/banks", nil), "banks"); len(banks) != 0 {
		t.Errorf("another user sees %v", banks)
	}
	c.Must("DELETE", path, nil)
	if status, _, err := c.Do(t.Context(), "GET", path, nil); err != nil || status != http.StatusNotFound {
		t.Errorf("the deleted document: %d, %v", status, err)
	}
	c.Must("DELETE", "/v1/banks/handbook", nil)
	if status, _, err := c.Do(t.Context(), "GET", "/v1/banks/handbook", nil); err != nil || status != http.StatusNotFound {
		t.Errorf("the deleted bank: %d, %v", status, err)
	}
}

// TestABankIsHybridWithTheScriptedModel: documents get vectors of the built-in provider, for which nothing but its name is configured.
func TestABankIsHybridWithTheScriptedModel(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), []string{
		"WINDLASS_INFERENCE_DETECT=false", "WINDLASS_KNOWLEDGE_EMBEDDING_MODEL=builtin/scripted",
		"WINDLASS_KNOWLEDGE_RERANK_MODEL=builtin/scripted",
	})
	c := up.Client
	c.Must("POST", "/v1/banks", harness.JSON{"id": "handbook"})
	c.Must("POST", "/v1/banks/handbook/documents", harness.JSON{"name": "leave.md", "text": "# Leave\n\nThirty days of leave."})
	c.Must("POST", "/v1/banks/handbook/documents", harness.JSON{"name": "travel.md", "text": "# Travel\n\nTake the train."})
	bank := func() harness.JSON { return c.Must("GET", "/v1/banks/handbook", nil) }
	if !harness.Eventually(time.Minute, func() bool { b := bank(); return b["mode"] == "hybrid" && b["documents"] == "2" }) {
		t.Fatalf("the bank stays %v", bank())
	}
	var found harness.JSON
	search := func() bool {
		found = c.Must("POST", "/v1/banks/handbook:search", harness.JSON{"query": "days of leave"})
		return found["mode"] == "hybrid" && found["reranked"] == true
	}
	if !harness.Eventually(time.Minute, search) {
		t.Fatalf("found %v", found)
	}
	if results := list(found, "results"); len(results) == 0 || results[0].Str("document_name") != "leave.md" {
		t.Errorf("found %v", found)
	}
}
