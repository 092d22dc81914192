// Package console serves the pages that a browser shows: conversations, the inbox of approvals and questions, and the timeline of a turn.
// The pages are a client of the public REST API like any other. Their source is in app/, `make console` builds it into dist/.
package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// assets is the path of the pages' assets.
const assets = "/assets/"

//go:embed index.html dist/app.js dist/app.css dist/icon.svg
var files embed.FS

// policy lets a page load its own assets and call its own origin, nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// media are the assets and their types.
var media = map[string]string{
	"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
}

// Console serves the pages and their assets.
type Console struct{ page []byte }

// Config says what the pages link to and offer.
type Config struct {
	// TemporalUI is the URL of the Temporal UI, "" for none: pages link each turn to its workflow there, which is in Namespace.
	TemporalUI, Namespace string
	// Login means that browsers can log in, so that the pages offer it.
	Login bool
	// LinkHosts are those to which answers may link besides the gateway's own, in the form of hostname.New.
	LinkHosts []string
	// Kill means that POST KillPath ends the process, so that the pages offer it.
	Kill bool
}

// KillPath is the path that ends the process, where that is offered.
const KillPath = "/debug/kill"

// New renders the document that every page starts from.
func New(cfg Config) (*Console, error) {
	u, err := url.Parse(cfg.TemporalUI)
	if err != nil || cfg.TemporalUI != "" && u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("temporal.ui %q is no http URL", cfg.TemporalUI)
	}
	page := struct{ Temporal, Workflows, Kill, Login, Links string }{
		Temporal: cfg.TemporalUI, Links: strings.ToLower(strings.Join(cfg.LinkHosts, " ")),
	}
	if cfg.Login {
		page.Login = "/login"
	}
	if cfg.TemporalUI != "" {
		page.Workflows = u.JoinPath("namespaces", cfg.Namespace, "workflows").String() + "/"
	}
	if cfg.Kill {
		page.Kill = KillPath
	}
	t, err := template.ParseFS(files, "index.html")
	if err != nil {
		return nil, fmt.Errorf("read the document of the pages: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, page); err != nil {
		return nil, fmt.Errorf("render the document of the pages: %w", err)
	}
	return &Console{page: b.Bytes()}, nil
}

// IsAsset reports whether a path is that of an asset.
func IsAsset(path string) bool {
	name, ok := strings.CutPrefix(path, assets)
	return ok && media[name] != ""
}

// Page serves every page.
func (c *Console) Page(w http.ResponseWriter, _ *http.Request) {
	header(w, "text/html; charset=utf-8")
	_, _ = w.Write(c.page)
}

// Asset serves what pages load, at a path for which IsAsset is true.
func (c *Console) Asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, assets)
	data, err := files.ReadFile("dist/" + name)
	if err != nil {
		http.NotFound(w, r) // what media lists is embedded
		return
	}
	header(w, media[name])
	_, _ = w.Write(data) //nolint:gosec // a built page, whatever its name
}

func header(w http.ResponseWriter, media string) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", media)
}
