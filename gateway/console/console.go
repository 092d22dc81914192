// Package console serves the start page: what is running, and a form to try an agent and watch its events.
package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Assets is the path of the page's assets.
const Assets = "/assets/"

//go:embed page.html page.css page.js icon.svg
var files embed.FS

// policy lets the page load its own assets and call its own origin, nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// Console serves the start page at / and its assets below Assets.
type Console struct{ page []byte }

// New renders the page. The URL of the Temporal UI may be empty.
func New(temporalUI string) (*Console, error) {
	if u, err := url.Parse(temporalUI); err != nil || temporalUI != "" && u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("temporal.ui %q is no http URL", temporalUI)
	}
	t, err := template.ParseFS(files, "page.html")
	if err != nil {
		return nil, fmt.Errorf("read start page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, struct{ TemporalUI string }{temporalUI}); err != nil {
		return nil, fmt.Errorf("render start page: %w", err)
	}
	return &Console{page: b.Bytes()}, nil
}

// Has reports whether an asset is served at a path.
func (c *Console) Has(p string) bool {
	name, ok := strings.CutPrefix(p, Assets)
	_, known := media(name)
	return ok && known
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Path == "/" {
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(c.page)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, Assets)
	kind, ok := media(name)
	data, err := files.ReadFile(path.Base(name))
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	h.Set("Content-Type", kind)
	_, _ = w.Write(data)
}

func media(name string) (string, bool) {
	switch name {
	case "page.css":
		return "text/css; charset=utf-8", true
	case "page.js":
		return "text/javascript; charset=utf-8", true
	case "icon.svg":
		return "image/svg+xml", true
	}
	return "", false
}
