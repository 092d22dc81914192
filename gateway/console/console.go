// Package console serves the pages that a browser shows: conversations, turns, the inbox of what waits for people, and administration.
// The pages are a client of the public REST API like any other. Their source is in app/, `make console` builds it into dist/.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// assets is the path of the pages' assets.
const assets = "/assets/"

//go:embed index.html dist
var files embed.FS

// Pages lists the paths of the pages, in which {id} stands for a segment. All are the same document, which finds its page by the path. The
// routes in app/src/route.ts are the same.
func Pages() []string {
	return []string{
		"/", "/sessions", "/sessions/{id}", "/shared/{id}", "/inbox", "/inbox/{id}", "/turns", "/turns/{id}", "/agents", "/agents/{id}", "/tools",
		"/tools/{id}", "/sources", "/sources/{id}", "/knowledge", "/knowledge/{id}", "/access", "/usage", "/system", "/api", "/ui",
	}
}

// policy lets a page load its own assets and call its own origin, nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// media are the types of assets by the ends of their names.
var media = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// hashed matches the names of assets that contain a hash of their content: a changed one has another name, so browsers keep them for a
// year.
var hashed = regexp.MustCompile(`-[A-Z0-9]{8}\.js$`)

// Console serves the pages and their assets.
type Console struct {
	page []byte
	// tags are the entity tags of assets by their names: a browser asks at every visit for those whose names stay the same over versions,
	// and gets only what has changed.
	tags map[string]string
}

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
	tags, err := entityTags()
	if err != nil {
		return nil, err
	}
	return &Console{page: b.Bytes(), tags: tags}, nil
}

// entityTags returns an entity tag of each asset.
func entityTags() (map[string]string, error) {
	all, err := fs.ReadDir(files, "dist")
	if err != nil {
		return nil, fmt.Errorf("list the assets of the pages: %w", err)
	}
	tags := map[string]string{}
	for _, file := range all {
		data, err := files.ReadFile("dist/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("read an asset of the pages: %w", err)
		}
		sum := sha256.Sum256(data)
		tags[file.Name()] = `"` + hex.EncodeToString(sum[:12]) + `"`
	}
	return tags, nil
}

// IsAsset reports whether a path is that of an asset.
func IsAsset(p string) bool {
	name, ok := strings.CutPrefix(p, assets)
	if !ok || media[path.Ext(name)] == "" {
		return false
	}
	_, err := fs.Stat(files, "dist/"+name) // refuses names that are no plain ones
	return err == nil
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
		http.NotFound(w, r) // IsAsset has found it
		return
	}
	header(w, media[path.Ext(name)])
	if hashed.MatchString(name) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("ETag", c.tags[name])
	if r.Header.Get("If-None-Match") == c.tags[name] {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(data) //nolint:gosec // a built page, whatever its name
}

func header(w http.ResponseWriter, media string) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", media)
}
