package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// uploaded uploads a file with a form and returns the answer.
func uploaded(t *testing.T, c *harness.Client, name string, data []byte) harness.JSON {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Must("POST", "/v1/files", form.String(), "Content-Type", w.FormDataContentType())
}

// TestFilesReachTheModel covers files of a user: uploaded with a form, named by a turn's input, and deleted.
func TestFilesReachTheModel(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, fmt.Sprint(messages))
		return harness.Answer{Words: []string{"I see."}}
	})
	up := harness.Up(t, t.TempDir(), model.Env())
	c := up.Client
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 3))); err != nil {
		t.Fatal(err)
	}
	f := uploaded(t, c, "cat.png", picture.Bytes())
	id, _ := f["id"].(string)
	if !strings.HasPrefix(id, "fil_") || f["media_type"] != "image/png" || f["width"] != 4.0 || f["height"] != 3.0 ||
		f["size"] != fmt.Sprint(picture.Len()) {
		t.Fatalf("the file is %v", f)
	}
	note, _ := uploaded(t, c, "notes.md", []byte("# The nonce is 4711\n"))["id"].(string)

	c.Must("POST", "/v1/agents", harness.JSON{"id": "eye"})
	session := c.Session("eye")
	ask := func(input ...any) {
		t.Helper()
		turn := c.Must("POST", "/v1/sessions/"+session+"/turns", harness.JSON{"input": input})
		if end := c.Wait(turn["id"].(string)); end["status"] != "completed" {
			t.Fatalf("the turn is %v", end)
		}
	}
	last := func() string {
		mu.Lock()
		defer mu.Unlock()
		return asked[len(asked)-1]
	}
	ask(harness.JSON{"text": "what is it?"}, harness.JSON{"file": harness.JSON{"file_id": id}},
		harness.JSON{"file": harness.JSON{"file_id": note}})
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes())
	if got := last(); !strings.Contains(got, url) || !strings.Contains(got, "The nonce is 4711") || !strings.Contains(got, "what is it?") {
		t.Errorf("the model was asked %.500s", got)
	}

	if got, header := bytesOf(t, c, "/v1/files/"+id+"/content"); got != picture.String() || header.Get("Content-Type") != "image/png" {
		t.Errorf("the content is %d bytes, %v", len(got), header)
	}
	c.Must("DELETE", "/v1/files/"+id, nil)
	if status, _, err := c.Do(t.Context(), "GET", "/v1/files/"+id, nil); err != nil || status != http.StatusNotFound {
		t.Errorf("the deleted file is answered with %d, %v", status, err)
	}
	fork := c.Must("POST", "/v1/sessions/"+session+":fork", harness.JSON{})
	session, _ = fork["id"].(string)
	ask(harness.JSON{"text": "and again?"})
	if got := last(); !strings.Contains(got, url) || !strings.Contains(got, "and again?") {
		t.Errorf("in the fork, after the file was deleted, the model was asked %.500s", got)
	}
}
