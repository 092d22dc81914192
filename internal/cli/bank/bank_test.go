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
	source   = `{"id":"bsr_1","bank_id":"handbook","kind":"url","url":"https://example.com/","state":"synced","progress":` +
		`{"added":1,"updated":2,"unchanged":3,"removed":4,"failed":1,"total":7},"problems":[{"item":"a\u001b","problem":"away"}]}`
	waiting  = `{"id":"bsr_1","bank_id":"still","kind":"url","state":"queued"}`
	failed   = `{"id":"bsr_2","kind":"folder","folder":"/srv","state":"failed","problem":"The folder is away.","paused":true}`
	document = `{"id":"doc_1","name":"docs/a.md","state":"queued","media_type":"text/markdown","size":"3"}`
)

var answers = clitest.Answers{
	"GET /v1/banks?page_size=100":                    {Body: `{"banks":[` + handbook + `],"next_page_token":""}`},
	"GET /v1/banks?page_size=1000":                   {Body: `{"banks":[` + handbook + `],"next_page_token":""}`},
	"POST /v1/banks":                                 {Body: handbook},
	"DELETE /v1/banks/handbook":                      {Body: "{}"},
	"GET /v1/banks/still":                            {Body: `{"id":"still","paused":true}`},
	"POST /v1/banks/still/sources/bsr_1:sync":        {Body: waiting},
	"GET /v1/banks/still/sources/bsr_1":              {Body: waiting},
	"POST /v1/banks/still/documents":                 {Body: document},
	"GET /v1/banks/handbook/documents?page_size=100": {Body: `{"documents":[` + document + `],"next_page_token":""}`},
	"DELETE /v1/banks/handbook/documents/doc_1":      {Body: "{}"},
	"POST /v1/banks/handbook/sources":                {Body: source},
	"GET /v1/banks/handbook/sources?page_size=100":   {Body: `{"sources":[` + source + `,` + failed + `],"next_page_token":""}`},
	"GET /v1/banks/handbook/sources/bsr_1":           {Body: source},
	"GET /v1/banks/handbook/sources/bsr_2":           {Body: failed},
	"POST /v1/banks/handbook/sources/bsr_1:sync":     {Body: source},
	"POST /v1/banks/handbook/sources/bsr_2:sync":     {Body: failed},
	"POST /v1/banks/handbook/sources/bsr_1:pause":    {Body: source},
	"POST /v1/banks/handbook/sources/bsr_1:resume":   {Body: source},
	"POST /v1/banks/handbook:pause":                  {Body: handbook},
	"POST /v1/banks/handbook:resume":                 {Body: handbook},
	"DELETE /v1/banks/handbook/sources/bsr_1":        {Body: "{}"},
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
		{
			Args: "bank follow handbook sitemap https://example.com/s.xml --every 1m --label hr --attribute a=b",
			Sent: `POST /v1/banks/handbook/sources {"attributes":{"a":"b"},"interval_seconds":60,"kind":"sitemap","labels":["hr"],` +
				`"url":"https://example.com/s.xml"}`,
			Out: "bank handbook follows bsr_1\n",
		},
		{
			Args: "bank follow handbook folder /srv", Sent: `POST /v1/banks/handbook/sources {"folder":"/srv","kind":"folder"}`,
			Out: "bank handbook follows bsr_1\n",
		},
		{
			Args: "bank follow handbook mcp notes --uri notes://team/",
			Sent: `POST /v1/banks/handbook/sources {"kind":"mcp","mcp_source":"notes","uri":"notes://team/"}`,
		},
		{Args: "bank follow handbook docs --every 1ms", Code: 2, Err: []string{"whole seconds"}},
		{
			Args: "bank follow handbook docs --wait", Out: "bsr_1: 1 added, 2 updated, 3 unchanged, 4 removed, 1 failed\n",
			Err: []string{": away"},
		},
		{
			Args: "bank sources handbook",
			Out: "ID     KIND    FROM                  STATE           ITEMS  FAILED  SYNCED  PROBLEM\n" +
				"bsr_1  url     https://example.com/  synced          7      1\n" +
				"bsr_2  folder  /srv                  failed, paused  0      0               The folder is away.\n",
		},
		{Args: "bank sync handbook bsr_1", Out: "bsr_1: 1 added, 2 updated, 3 unchanged, 4 removed, 1 failed\n"},
		{Args: "bank sync handbook bsr_1 --no-wait", Out: "sync of bsr_1 is synced\n"},
		{
			Args: "bank sync handbook bsr_2", Code: 1, Out: "bsr_2: 0 added, 0 updated, 0 unchanged, 0 removed, 0 failed\n",
			Err: []string{"the source could not be read: The folder is away"},
		},
		{Args: "bank sync still bsr_1", Err: []string{"bank still is paused: see windlass bank resume still"}},
		{
			Args: "bank add still bank_test.go --wait", Out: "docs/a.md is doc_1, queued\n",
			Err: []string{"bank still is paused: see windlass bank resume still"},
		},
		{Args: "bank unfollow handbook bsr_1", Out: "source bsr_1 deleted, with its documents\n"},
		{Args: "bank pause handbook", Out: "bank handbook paused\n"},
		{Args: "bank resume handbook", Out: "bank handbook resumed\n"},
		{Args: "bank pause handbook bsr_1", Out: "source bsr_1 paused\n"},
		{Args: "bank resume handbook bsr_1", Out: "source bsr_1 resumed\n"},
		{Args: "bank add handbook a b --name c", Code: 2, Err: []string{"one file"}},
	})
}

func TestBar(t *testing.T) {
	for _, row := range []struct {
		done, total int32
		want        string
	}{
		{3, 0, "syncing 3"},
		{0, 4, "[..............................] 0/4 syncing"},
		{2, 4, "[###############...............] 2/4 syncing"},
		{9, 4, "[##############################] 4/4 syncing"},
	} {
		if got := barText(row.done, row.total, "syncing"); got != row.want {
			t.Errorf("%d of %d: %q, want %q", row.done, row.total, got, row.want)
		}
	}
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
