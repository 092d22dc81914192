package bank

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

const (
	handbook = `{"id":"handbook","description":"How we work","documents":"2","chunks":"7","mode":"lexical"}`
	document = `{"id":"doc_1","name":"docs/a.md","state":"queued","media_type":"text/markdown","size":"3"}`
)

var answers = clitest.Answers{
	"GET /v1/banks?page_size=100":                    {Body: `{"banks":[` + handbook + `],"next_page_token":""}`},
	"GET /v1/banks?page_size=1000":                   {Body: `{"banks":[` + handbook + `],"next_page_token":""}`},
	"POST /v1/banks":                                 {Body: handbook},
	"DELETE /v1/banks/handbook":                      {Body: "{}"},
	"GET /v1/banks/handbook/documents?page_size=100": {Body: `{"documents":[` + document + `],"next_page_token":""}`},
	"DELETE /v1/banks/handbook/documents/doc_1":      {Body: "{}"},
	"POST /v1/banks/handbook:search": {Body: `{"results":[{"document_id":"doc_1","document_name":"a.md","heading":["Leave","Days"],` +
		`"start":"5","end":"25","text":"thirty\ndays","score":2.5}],"mode":"lexical"}`},
	"POST /v1/banks/empty:search": {Body: `{"results":[],"mode":"lexical"}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{
			Args: "bank list",
			Out:  "ID        DOCUMENTS  CHUNKS  MODE     AGE  DESCRIPTION\nhandbook  2          7       lexical       How we work\n",
		},
		{
			Args: "bank create handbook --description d", Sent: `POST /v1/banks {"description":"d","id":"handbook"}`,
			Out: "bank handbook created\n",
		},
		{Args: "bank delete handbook", Sent: "DELETE /v1/banks/handbook"},
		{
			Args: "bank documents handbook",
			Out: "ID     NAME       STATE   TYPE           BYTES  CHUNKS  AGE  LABELS  PROBLEM\n" +
				"doc_1  docs/a.md  queued  text/markdown  3      0\n",
		},
		{Args: "bank remove handbook doc_1", Sent: "DELETE /v1/banks/handbook/documents/doc_1", Out: "document doc_1 deleted\n"},
		{
			Args: "bank search handbook days of leave", Sent: `POST /v1/banks/handbook:search {"page_size":10,"query":"days of leave"}`,
			Out: "SCORE  DOCUMENT  HEADING       BYTES  TEXT\n2.50   a.md      Leave › Days  5–25   thirty days\n",
		},
		{Args: "bank search empty days", Err: []string{"nothing found (lexical)"}},
		{Args: "bank add handbook /nowhere/at/all", Code: 1, Err: []string{"/nowhere/at/all"}},
		{Args: "bank add handbook -", Code: 2, Err: []string{"--name"}},
		{Args: "bank add handbook a b --name c", Code: 2, Err: []string{"one file"}},
	})
}

// TestAdd covers what the server gets of files and of the standard input.
func TestAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		args   []string
		stored string
		labels []string
		kind   string
	}{
		{
			"a file",
			[]string{path, "--label", "hr", "--label", "board", "--attribute", "year=2026"},
			filepath.ToSlash(path),
			[]string{"board", "hr"},
			"",
		},
		{"the standard input", []string{"-", "--name", "notes.md", "--type", "text/markdown"}, "notes.md", nil, "text/markdown"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := clitest.New(t, root, answers)
			s.Hook = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || r.URL.Path != "/v1/banks/handbook/documents" {
					return false
				}
				f, h, err := r.FormFile("file")
				if err != nil {
					t.Error(err)
					return false
				}
				body, err := io.ReadAll(f)
				form := r.MultipartForm.Value
				if err != nil || string(body) != "abc" || h.Header.Get("Content-Type") != row.kind ||
					!slices.Equal(form["name"], []string{row.stored}) || !slices.Equal(form["labels"], row.labels) {
					t.Errorf("got %q of %v with %v, %v", body, h, form, err)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, document)
				return true
			}
			r := s.Run("abc", append([]string{"bank", "add", "handbook"}, row.args...)...)
			if want := "docs/a.md is doc_1, queued\n"; r.Out != want || r.Code != 0 {
				t.Errorf("printed %q with %d, want %q; stderr: %s", r.Out, r.Code, want, r.Err)
			}
		})
	}
}
