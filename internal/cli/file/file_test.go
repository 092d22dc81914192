package file

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

const picture = `{"id":"fil_1","name":"cat.png","media_type":"image/png","size":"3","width":2,"height":1}`

var answers = clitest.Answers{
	"GET /v1/files?page_size=100":  {Body: `{"files":[` + picture + `],"next_page_token":""}`},
	"GET /v1/files/fil_1/content":  {Body: "a\u001b[2J\n"},
	"DELETE /v1/files/fil_1":       {Body: "{}"},
	"GET /v1/files?page_size=1000": {Body: `{"files":[` + picture + `],"next_page_token":""}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{Args: "file list", Out: "ID     NAME     TYPE       BYTES  PIXELS  AGE\nfil_1  cat.png  image/png  3      2×1\n"},
		{Args: "file read fil_1", Out: "a\uFFFD[2J\n"},
		{Args: "file read fil_1 --file -", Out: "a\u001b[2J\n"},
		{Args: "file delete fil_1", Sent: "DELETE /v1/files/fil_1"},
		{Args: "file upload /nowhere/at/all", Code: 1, Err: []string{"/nowhere/at/all"}},
	})
}

// TestUpload covers what the server gets of a file, and of the standard input.
func TestUpload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cat.png")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name             string
		args             []string
		fileName, ofType string
	}{
		{"a file", []string{"file", "upload", path, "--type", "image/png"}, "cat.png", "image/png"},
		{"the standard input", []string{"file", "upload", "-", "--name", "notes.md"}, "notes.md", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := clitest.New(t, root, answers)
			s.Hook = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || r.URL.Path != "/v1/files" {
					return false
				}
				f, h, err := r.FormFile("file")
				if err != nil {
					t.Error(err)
					return false
				}
				body, err := io.ReadAll(f)
				if err != nil || string(body) != "abc" || h.Filename != row.fileName || h.Header.Get("Content-Type") != row.ofType {
					t.Errorf("got %q of %v, %v", body, h, err)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, picture)
				return true
			}
			r := s.Run("abc", row.args...)
			if want := "cat.png is fil_1, image/png, 3 bytes\n"; r.Out != want || r.Code != 0 {
				t.Errorf("printed %q with %d, want %q; stderr: %s", r.Out, r.Code, want, r.Err)
			}
		})
	}
}
