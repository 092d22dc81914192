package source_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress/egresstest"
	"github.com/windlass-dev/windlass/services/knowledge/source/fetch"
	"github.com/windlass-dev/windlass/services/knowledge/source/sitemap"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// newSite serves what answers says by path; HOST in it is the site's own address. It returns the kind and the source.
func newSite(t *testing.T, answers map[string]string) (sitemap.Kind, store.SourceSpec) {
	t.Helper()
	base := egresstest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
		case text == "broken":
			w.WriteHeader(http.StatusBadGateway)
		case r.Header.Get("If-None-Match") == `"1"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", `"1"`)
			fmt.Fprint(w, strings.ReplaceAll(text, "HOST", "http://"+r.Host))
		}
	}))
	return sitemap.Kind{Client: fetch.Client{Egress: egresstest.Public(t, nil), MaxBytes: maxBytes}},
		store.SourceSpec{Kind: "sitemap", URL: base + "/sitemap.xml"}
}

// pages is a sitemap of pages.
func pages(addresses ...string) string {
	return `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>` +
		strings.Join(addresses, "</loc><priority>0.5</priority></url><url><loc>\n ") + `</loc></url></urlset>`
}

// index is a sitemap of sitemaps.
func index(addresses ...string) string {
	return `<sitemapindex><sitemap><loc>` + strings.Join(addresses, "</loc></sitemap><sitemap><loc>") + `</loc></sitemap></sitemapindex>`
}

func TestASite(t *testing.T) {
	t.Parallel()
	kind, spec := newSite(t, map[string]string{
		"/sitemap.xml": index("HOST/1.xml", "HOST/2.xml", "HOST/1.xml", "HOST/sitemap.xml"),
		"/1.xml":       pages("HOST/a", "HOST/b", "HOST/a#part", "HOST/gone", "HOST/broken"),
		"/2.xml":       pages("HOST/b", "HOST/c", "http://127.0.0.1/x", "ftp://good.example/x", "HOST:1/x"),
		"/a":           "A", "/b": "B", "/c": "C", "/broken": "broken",
	})
	v := read(t, kind, spec, newVisitor())
	var found []string
	for key, item := range v.found {
		found = append(found, key[strings.LastIndex(key, "/"):]+string(item.Data))
	}
	slices.Sort(found)
	if want := []string{"/aA", "/bB", "/cC"}; !slices.Equal(found, want) || len(v.failed) != 4 || v.total != 8 {
		t.Errorf("found %v, failed %v of %d", found, v.failed, v.total)
	}
	if again := read(t, kind, spec, v.next()); len(again.found) != 0 || len(again.same) != 3 {
		t.Errorf("the second time %+v", again)
	}
}

func TestHostileSitemaps(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range sitemap.MaxPages + 1 {
		many = append(many, fmt.Sprintf("HOST/%d", i))
	}
	var away []string
	for i := range 12 {
		away = append(away, fmt.Sprintf("HOST/away/%d", i))
	}
	deep := map[string]string{
		"/sitemap.xml": index("HOST/1"), "/1": index("HOST/2"), "/2": index("HOST/3"), "/3": index("HOST/4"), "/4": pages("HOST/a"),
	}
	wide := map[string]string{}
	var lists []string
	for i := range 201 {
		lists = append(lists, fmt.Sprintf("HOST/m%d", i))
		wide[fmt.Sprintf("/m%d", i)] = pages()
	}
	wide["/sitemap.xml"] = index(lists...)
	broken := map[string]string{"/sitemap.xml": pages(away...)}
	for i := range 12 {
		broken[fmt.Sprintf("/away/%d", i)] = "broken"
	}
	one := func(text string) map[string]string { return map[string]string{"/sitemap.xml": text} }
	for _, row := range []struct {
		name    string
		answers map[string]string
		want    string
	}{
		{"none", map[string]string{}, "does not exist"},
		{"an empty one", one(pages()), "lists no pages"},
		{"no XML", one("<html><body><p>no"), "is not XML"},
		{"a page in its place", one("<html><body></body></html>"), "lists no pages"},
		{"too many pages", one(pages(many...)), "more than 5000 pages"},
		{"too many sitemaps", wide, "more than 200 sitemaps"},
		{"a chain of sitemaps", deep, "3 deep"},
		{"a sitemap elsewhere", one(index("http://127.0.0.1/sitemap.xml")), "another host"},
		{"a sitemap with a password", one(index("http://a:b@good.example/sitemap.xml")), "another host"},
		{"a part that is missing", one(index("HOST/none.xml")), "does not exist"},
		{"entities", one(`<!DOCTYPE a [<!ENTITY x "yyyyyyyyyy"><!ENTITY z "&x;&x;&x;">]>` + pages("HOST/&z;")), "is not XML"},
		{"an entity of a file", one(`<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + pages("HOST/&x;")), "is not XML"},
		{"elements in elements", one("<urlset>" + strings.Repeat("<url>", 100_000)), "nested too deep"},
		{"an address that is too long", one(pages("HOST/" + strings.Repeat("x", 3000))), "more than 2048 bytes"},
		{"a site that is away", broken, "10 pages in a row"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			kind, spec := newSite(t, row.answers)
			unreadable(t, kind, spec, row.want)
		})
	}
}
