// Package site serves the documentation: as pages for people, which need no script and no login, and as Markdown and lists of pages for
// programs that read text (https://llmstxt.org).
package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/gateway/problem"
)

// Paths of the site.
const (
	// Path is the page with the list of all pages and, with ?q=, of those that have some words. Pages are at Path/KIND/NAME, their Markdown is
	// at Path/KIND/NAME.md.
	Path = "/docs"
	// Below is what the paths of pages, pictures and schemas begin with.
	Below = "/docs/"
	// ListPath has the list of pages for language models, FullPath the pages in one text, without those that the list calls optional.
	ListPath = "/llms.txt"
	FullPath = "/llms-full.txt"
)

// policy lets a page load its own assets, and send the form of the search to its own origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'"

// Media types of what is served.
const (
	htmlType     = "text/html; charset=utf-8"
	markdownType = "text/markdown; charset=utf-8"
	plainType    = "text/plain; charset=utf-8"
)

//go:embed page.html
var templates embed.FS

// Site serves the documentation. Pages are read and rendered when they are first requested, and kept.
type Site struct {
	files  fs.FS
	layout *template.Template
	menu   []kind
	pages  map[string]*page // by file
	index  func() []section
	list   func() []byte
	full   func() []byte
}

// New reads the list of pages in files, which has the layout of the folder docs. base is the URL by which clients reach the gateway, "" if
// that is not known: texts for programs then have links without a host.
func New(files fs.FS, base string) (*Site, error) {
	layout, err := template.ParseFS(templates, "page.html")
	if err != nil {
		return nil, fmt.Errorf("read the layout of pages: %w", err)
	}
	s := &Site{files: files, layout: layout, pages: map[string]*page{}}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) == suffix {
			s.pages[name] = &page{file: name, address: address(name), load: s.loader(name)}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the documentation: %w", err)
	}
	list, ok := s.pages[home]
	if !ok {
		return nil, fmt.Errorf("the documentation has no %s", home)
	}
	content, err := list.load()
	if err != nil {
		return nil, err
	}
	s.menu = menuOf(content)
	s.index = sync.OnceValue(s.sections)
	s.list = sync.OnceValue(func() []byte { return s.listText(strings.TrimSuffix(base, "/")) })
	s.full = sync.OnceValue(s.fullText)
	return s, nil
}

// Home serves the list of pages, and the results of a search.
func (s *Site) Home(w http.ResponseWriter, r *http.Request) {
	if q := strings.TrimSpace(r.URL.Query().Get("q")); q != "" {
		s.results(w, r, q)
		return
	}
	s.page(w, r, s.pages[home])
}

// Page serves what is below Below: pages, their Markdown, pictures and schemas.
func (s *Site) Page(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Below)
	for _, file := range []string{name + suffix, path.Join(name, home)} {
		if p, ok := s.pages[file]; ok && p.address == r.URL.Path {
			s.page(w, r, p)
			return
		}
	}
	if p, ok := s.pages[name]; ok {
		s.markdown(w, r, p)
		return
	}
	if media := mediaType(name); media != "" && fs.ValidPath(name) {
		if data, err := fs.ReadFile(s.files, name); err == nil {
			serve(w, r, media, data)
			return
		}
	}
	if path.Ext(name) != "" || wantsMarkdown(r) {
		problem.NotFound(w, r)
		return
	}
	s.render(w, r, http.StatusNotFound, view{Title: "No such page", Missing: true})
}

// List serves the list of pages for language models.
func (s *Site) List(w http.ResponseWriter, r *http.Request) { serve(w, r, plainType, s.list()) }

// Full serves the pages in one text.
func (s *Site) Full(w http.ResponseWriter, r *http.Request) { serve(w, r, plainType, s.full()) }

// page serves a page in the form that the request accepts.
func (s *Site) page(w http.ResponseWriter, r *http.Request, p *page) {
	w.Header().Add("Vary", "Accept")
	if wantsMarkdown(r) {
		s.markdown(w, r, p)
		return
	}
	content, err := p.load()
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, view{
		Title: content.title, Anchor: content.anchor, Body: content.html, Contents: content.contents,
		Markdown: Below + p.file, Current: p.address,
	})
}

func (s *Site) markdown(w http.ResponseWriter, r *http.Request, p *page) {
	data, err := fs.ReadFile(s.files, p.file)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	serve(w, r, markdownType, data)
}

// view is what the layout shows.
type view struct {
	// Title is the page's heading and Anchor its id, Body the page below it, Contents its sections.
	Title    string
	Anchor   string
	Body     template.HTML
	Contents []entry
	// Markdown is the address of the page as Markdown, Current that of the page itself; "" for results.
	Markdown, Current string
	// Query is what was searched for, Hits what was found.
	Query string
	Hits  []hit
	// Missing means that there is no such page.
	Missing bool
	// Menu lists all pages, Trail the kind and the group of this one.
	Menu  []kind
	Trail []entry
}

// render writes a page. Only those of the documentation have an ETag: results are as cheap to send as to compare.
func (s *Site) render(w http.ResponseWriter, r *http.Request, status int, v view) {
	v.Menu, v.Trail = place(s.menu, v.Current)
	var b bytes.Buffer
	if err := s.layout.Execute(&b, v); err != nil {
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", policy)
	if status == http.StatusOK {
		serve(w, r, htmlType, b.Bytes())
		return
	}
	w.Header().Set("Content-Type", htmlType)
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// serve writes what the documentation has, or 304 to those who know it. The ETag is weak: the response may be compressed.
func serve(w http.ResponseWriter, r *http.Request, media string, data []byte) {
	digest := sha256.Sum256(data)
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", `W/"`+hex.EncodeToString(digest[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// mediaType returns the type of a file that is not a page, "" if such files are not served.
func mediaType(name string) string {
	return map[string]string{".png": "image/png", ".json": "application/json"}[path.Ext(name)]
}

// wantsMarkdown reports whether a request asks for Markdown, as programs do, and not for HTML, as browsers do.
func wantsMarkdown(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, "text/markdown") && !strings.Contains(accept, "text/html")
}
