package site_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/docs"
	"github.com/windlass-dev/windlass/gateway/site"
)

// serve returns a function that requests a path of a site.
func serve(t *testing.T, files fs.FS) func(path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	s, err := site.New(files, "https://mesh.example/")
	if err != nil {
		t.Fatal(err)
	}
	return func(to string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		switch {
		case r.URL.Path == site.Path:
			s.Home(w, r)
		case r.URL.Path == site.ListPath:
			s.List(w, r)
		case r.URL.Path == site.FullPath:
			s.Full(w, r)
		default:
			s.Page(w, r)
		}
		return w
	}
}

// small is a documentation with what pages may have.
var small = os.DirFS("testdata")

func TestPagesAreRendered(t *testing.T) {
	get := serve(t, small)
	w := get("/docs/how-to/tool")
	body := w.Body.String()
	for _, want := range []string{
		"<title>Add a tool · Windlass docs</title>", `<h1 id="add-a-tool">Add a tool</h1>`, `<h2 id="names--ids">Names &amp; <code>ids</code> <a`,
		`<h2 id="names--ids-1">`, `href="/docs/how-to/use#as-a-program"`, `href="/docs/images/s.json"`, `src="/docs/images/p.png"`,
		`href="https://github.com/windlass-dev/windlass/blob/main/gateway/site#how"`, `href="https://example.com/a"`,
		`<figcaption>tool.yaml</figcaption>`, `name: &lt;b&gt;`, `aria-label="Table"><table>`, `<td align="right">1</td>`,
		`rel="alternate" type="text/markdown" href="/docs/how-to/tool.md"`, `<a href="/docs/how-to/tool" aria-current="page">Add a tool</a>`,
		`<a href="/docs#how-to">How-to</a></li><li><a href="/docs#tools">Tools</a>`, `>As a program</a>`, `Press <kbd>Enter</kbd>.`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, not := range []string{"<script>", "onclick", "style="} {
		if strings.Contains(body, not) {
			t.Errorf("the page has %s", not)
		}
	}
	if t.Failed() {
		t.Log(body)
	}
	if csp := w.Header().Get("Content-Security-Policy"); w.Code != http.StatusOK || !strings.Contains(csp, "script-src 'self'") {
		t.Errorf("status %d, policy %q", w.Code, csp)
	}
}

func TestWhatIsServed(t *testing.T) {
	get := serve(t, small)
	const text, html, plain = "text/markdown; charset=utf-8", "text/html; charset=utf-8", "text/plain; charset=utf-8"
	for _, row := range []struct {
		name, path, accept string
		status             int
		media, want        string
	}{
		{"the list", "/docs", "", 200, html, ">Documentation</h1>"},
		{"a page", "/docs/how-to/use", "text/html,*/*", 200, html, ">Use a tool</h1>"},
		{"a page as Markdown by its name", "/docs/how-to/use.md", "text/html", 200, text, "# Use a tool"},
		{"a page as Markdown by Accept", "/docs/how-to/use", "text/markdown, text/plain;q=0.5", 200, text, "# Use a tool"},
		{"the list as Markdown", "/docs", "text/markdown", 200, text, "# Documentation"},
		{"a browser that also takes Markdown", "/docs/how-to/use", "text/html, text/markdown;q=0.1", 200, html, ">Use a tool</h1>"},
		{"the page of a folder", "/docs/adr", "", 200, html, `href="/docs/adr/0001-tools"`},
		{"a decision", "/docs/adr/0001-tools", "", 200, html, "<details open><summary><h2>Decisions</h2>"},
		{"a picture", "/docs/images/p.png", "", 200, "image/png", "png"},
		{"a schema", "/docs/images/s.json", "", 200, "application/json", "{}"},
		{"no such page", "/docs/how-to/none", "", 404, html, "There is no such page"},
		{"no such page for a program", "/docs/how-to/none", "text/markdown", 404, "application/problem+json", "not_found"},
		{"no such Markdown", "/docs/how-to/none.md", "", 404, "application/problem+json", "not_found"},
		{"a file of another type", "/docs/images/x.html", "", 404, "application/problem+json", "not_found"},
		{"another file", "/docs/how-to/x.proto", "", 404, "application/problem+json", "not_found"},
		{"the page of a folder by its name", "/docs/adr/README", "", 404, html, "There is no such page"},
		{"outside", "/docs/../secret.png", "", 404, "application/problem+json", "not_found"},
		{"nothing", "/docs/", "", 404, html, "There is no such page"},
		{"the list for models", "/llms.txt", "", 200, plain, "# Windlass"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := get(row.path, "Accept", row.accept)
			if w.Code != row.status || w.Header().Get("Content-Type") != row.media || !strings.Contains(w.Body.String(), row.want) {
				t.Fatalf("%d %s\n%s", w.Code, w.Header(), w.Body)
			}
			etag := w.Header().Get("ETag")
			if (etag != "") != (row.status == 200) {
				t.Errorf("the ETag is %q", etag)
			}
			if row.status != http.StatusOK {
				return
			}
			if again := get(row.path, "Accept", row.accept, "If-None-Match", etag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
				t.Errorf("again: %d %s", again.Code, again.Body)
			}
		})
	}
}

func TestListsForModels(t *testing.T) {
	get := serve(t, small)
	list := get("/llms.txt").Body.String()
	_, list, _ = strings.Cut(list, "\n## ")
	const want = `How-to

- [Add a tool](https://mesh.example/docs/how-to/tool.md): A tool is called.
- [Use a tool](https://mesh.example/docs/how-to/use.md): Programs call tools with a gearbox.

## Optional

- [0001. Tools are named](https://mesh.example/docs/adr/0001-tools.md): Tools had no names.
- [Decisions](https://mesh.example/docs/adr/README.md)
`
	if list != want {
		t.Errorf("got\n%s\nwant\n%s", list, want)
	}
	full := get("/llms-full.txt").Body.String()
	if strings.Count(full, "# Use a tool") != 1 || strings.Index(full, "# Add a tool") > strings.Index(full, "# Use a tool") ||
		strings.Contains(full, "0001") {
		t.Errorf("got\n%s", full)
	}
}

func TestSearch(t *testing.T) {
	get := serve(t, small)
	result := regexp.MustCompile(`<li><a href="([^"]+)">([^<]+)</a>\n<p>`)
	for query, want := range map[string][]string{
		"gearbox":   {"/docs/how-to/use#as-a-program"},
		"GEARBOXES": nil, // only a final s is left out
		"gearboxs":  {"/docs/how-to/use#as-a-program"},
		"earbox":    nil,
		"tool names": {
			"/docs/how-to/tool#names--ids", "/docs/how-to/tool#names--ids-1", "/docs/how-to/tool",
			"/docs/adr/0001-tools#context", "/docs/adr/0001-tools",
		},
		"program gearbox": {"/docs/how-to/use#as-a-program"},
		"gearbox nowhere": nil,
		`"?!`:             nil,
		"<b>":             {"/docs/how-to/tool#names--ids"},
	} {
		w := get("/docs?q=" + strings.NewReplacer(" ", "+", `"`, "%22", "?", "%3F", "<", "%3C", ">", "%3E").Replace(query))
		var found []string
		for _, m := range result.FindAllStringSubmatch(w.Body.String(), -1) {
			found = append(found, m[1])
		}
		if w.Code != http.StatusOK || !slices.Equal(found, want) {
			t.Errorf("%s: %d, found %q, want %q", query, w.Code, found, want)
		}
	}
	body := get("/docs?q=gearbox").Body.String()
	if !strings.Contains(body, "Programs call tools with a <mark>gearbox</mark>.") || !strings.Contains(body, `value="gearbox"`) {
		t.Errorf("got %s", body)
	}
	long := strings.Repeat("ü", 4000)
	if w := get("/docs?q=" + long); w.Code != http.StatusOK || strings.Contains(w.Body.String(), long) {
		t.Errorf("a long query: %d", w.Code)
	}
}

// TestTheDocumentation renders the pages of this version: links within lead to pages and headings that are there, and the whole is bounded.
func TestTheDocumentation(t *testing.T) {
	t.Parallel()
	get := serve(t, docs.Files)
	links, ids := regexp.MustCompile(` (?:href|src)="(/docs[^"]*)"`), regexp.MustCompile(` id="([^"]+)"`)
	has, uses := map[string][]string{}, map[string]string{}
	err := fs.WalkDir(docs.Files, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) != ".md" {
			return err
		}
		to := "/docs/" + strings.TrimSuffix(name, ".md")
		if path.Base(name) == "README.md" {
			to = path.Join("/docs", path.Dir(name))
		}
		w := get(to)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: status %d", to, w.Code)
		}
		has[to] = []string{""}
		for _, m := range ids.FindAllStringSubmatch(w.Body.String(), -1) {
			has[to] = append(has[to], m[1])
		}
		for _, m := range links.FindAllStringSubmatch(w.Body.String(), -1) {
			uses[m[1]] = to
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for link, page := range uses {
		to, id, _ := strings.Cut(link, "#")
		if at, ok := has[to]; ok && !slices.Contains(at, id) || !ok && get(to).Code != http.StatusOK {
			t.Errorf("%s links to %s", page, link)
		}
	}
	list, full := get("/llms.txt").Body, get("/llms-full.txt").Body
	for name := range has {
		if file := strings.Replace(name, "/docs/adr", "/docs/adr/README", 1); name != "/docs" && name != "/docs/adr" &&
			!strings.Contains(list.String(), name+".md)") && !strings.Contains(list.String(), file+".md)") {
			t.Errorf("llms.txt has no %s", name)
		}
	}
	if list.Len() > 64<<10 || full.Len() > 2<<20 {
		t.Errorf("llms.txt has %d bytes, llms-full.txt %d", list.Len(), full.Len())
	}
}

// TestQuestionsFindTheirPages: what people type leads to the page that answers it, within the first five results.
func TestQuestionsFindTheirPages(t *testing.T) {
	get := serve(t, docs.Files)
	result := regexp.MustCompile(`<li><a href="([^"#]+)[^"]*">[^<]+</a>\n<p>`)
	for query, want := range map[string]string{
		"approve tool call": "/docs/how-to/approvals", "budget": "/docs/how-to/budgets", "postgres": "/docs/how-to/postgresql",
		"gateway.cors_origins": "/docs/reference/config", "MCP server": "/docs/how-to/mcp-servers", "exit codes": "/docs/reference/cli",
		"webhooks": "/docs/how-to/webhooks", "idempotency-key": "/docs/explanation/durability", "crash": "/docs/explanation/durability",
	} {
		found := result.FindAllStringSubmatch(get("/docs?q="+strings.ReplaceAll(query, " ", "+")).Body.String(), 5)
		if !slices.ContainsFunc(found, func(m []string) bool { return m[1] == want }) {
			t.Errorf("%s: found %q, not %s", query, found, want)
		}
	}
}
