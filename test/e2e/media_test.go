package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// photo is a JPEG image, held by a turned camera if so.
func photo(t *testing.T, w, h int, turned bool) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = byte(i)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	if !turned {
		return b.Bytes()
	}
	exif := "\xff\xe1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	return []byte(string(b.Bytes()[:2]) + exif + string(b.Bytes()[2:]))
}

// noise is a PNG image that cannot be compressed.
func noise(t *testing.T, w, h int) []byte {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			v := random.Uint32()
			m.SetNRGBA(x, y, color.NRGBA{byte(v), byte(v >> 8), byte(v >> 16), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFilesAreFittedToTheModel gives a model images of all ways to come in: large and turned, too large for a call, at an address, and from
// tools; and documents, as texts. Hostile ones are named, and the mesh goes on.
func TestFilesAreFittedToTheModel(t *testing.T) {
	t.Parallel()
	large, result := noise(t, 2000, 1500), noise(t, 1000, 700) // more than a call takes, and than a result holds
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/openapi.json":
			fmt.Fprint(w, `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/small":{"get":{"operationId":"small"}},`+
				`"/large":{"get":{"operationId":"large"}}}}`)
		case "/small", "/picture.jpg":
			w.Header().Set("Content-Type", "image/jpeg")
			_, _ = w.Write(photo(t, 40, 20, false))
		case "/large":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(result)
		case "/moved":
			http.Redirect(w, r, "/picture.jpg", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_EGRESS_ALLOW=127.0.0.1/32"}) // where the links lead
	c := up.Client
	c.Must("POST", "/v1/sources", harness.JSON{"name": "camera", "kind": "openapi", "url": web.URL + "/openapi.json"})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "eye", "tools": []string{"camera__*"}})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "strict", "degrade": "fail"})
	turn := func(agent string, input ...any) harness.JSON {
		t.Helper()
		made := c.Must("POST", "/v1/sessions/"+c.Session(agent)+"/turns", harness.JSON{"input": input})
		return c.Wait(made["id"].(string))
	}
	file := func(name string, data []byte) any {
		t.Helper()
		return harness.JSON{"file": harness.JSON{"file_id": uploaded(t, c, name, data)["id"]}}
	}
	say := func(text string) any { return harness.JSON{"text": text} }
	for _, row := range []struct {
		name, want string
		input      []any
	}{
		{"a turned photo", "image/jpeg of 30 × 40 pixels", []any{say("image:all"), file("a.jpg", photo(t, 40, 30, true))}},
		{"a large photo", "image/jpeg of 2048 × 1024 pixels", []any{say("image:all"), file("a.jpg", photo(t, 3000, 1500, false))}},
		{"one that is too large for a call", "image/jpeg of ", []any{say("image:all"), file("a.png", large)}},
		{"inline bytes of another type", "image/png of 4 × 4 pixels", []any{say("image:all"), harness.JSON{"blob": harness.JSON{
			"media_type": "image/bmp",
			"data":       "Qk1mAAAAAAAAADYAAAAoAAAABAAAAAQAAAABABgAAAAAADAAAAATCwAAEwsAAAAAAAAAAAAA" + strings.Repeat("/wAA", 16),
		}}}},
		{"an address", "image/jpeg of 40 × 20 pixels", []any{say("image:all"), harness.JSON{"link": harness.JSON{
			"uri": web.URL + "/picture.jpg", "fetch": true,
		}}}},
		{"a tool's image", "image/jpeg of 40 × 20 pixels", []any{say("call:camera__small then image:all")}},
		{"a tool's large image", "image/png of 1000 × 700 pixels", []any{say("call:camera__large then image:all")}},
		{"a document", "read it", []any{say("image:all"), file("a.pdf", []byte(document("say:\"read it\"")))}},
	} {
		end := turn("eye", row.input...)
		if got := fmt.Sprint(end["output"], end["answer"], end); end["status"] != "completed" || !strings.Contains(got, row.want) {
			t.Errorf("%s: %.600s", row.name, got)
		}
	}
	for name, data := range map[string]string{"scan.pdf": "%PDF-1.4 nothing", "song.wav": "RIFF\x24\x00\x00\x00WAVEfmt "} {
		end := turn("strict", say("image:all"), file(name, []byte(data)))
		if name == "scan.pdf" && (end["status"] != "failed" || !strings.Contains(fmt.Sprint(end), "scan.pdf")) {
			t.Errorf("%s: %v", name, end)
		}
	}
	for uri, want := range map[string]string{
		web.URL + "/absent": "404", web.URL + "/moved": "redirected", "ftp://example.com/a": "http",
		"http://169.254.169.254/a": "may not be reached",
	} {
		_, out, err := c.Do(t.Context(), "POST", "/v1/sessions/"+c.Session("eye")+"/turns", harness.JSON{"input": []any{
			say("a"), harness.JSON{"link": harness.JSON{"uri": uri, "fetch": true}},
		}})
		if err != nil || !strings.Contains(fmt.Sprint(out), want) || !strings.Contains(fmt.Sprint(out), "content[1].link.uri") {
			t.Errorf("%s: %v, %v", uri, out, err)
		}
	}
}

// document is a PDF document of one page with a text.
func document(text string) string {
	content := "BT /F1 12 Tf 72 720 Td (" + text + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 4 0 R >> >> /Contents 5 0 R >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
	}
	b, table := "%PDF-1.4\n", ""
	for i, o := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(b))
		b += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return b + fmt.Sprintf("xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", table, len(b))
}
