package console

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesAreThoseOfTheApplication: a page that only one of them knows is not found, by a click or by a reload.
func TestPagesAreThoseOfTheApplication(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("app/src/route.ts")
	if err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, m := range regexp.MustCompile(`(?m)^  \{ path: "([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
		routes = append(routes, m[1])
	}
	pages := Pages()
	slices.Sort(pages)
	slices.Sort(routes)
	if !slices.Equal(pages, routes) {
		t.Errorf("the gateway serves\n%v, the application has\n%v", pages, routes)
	}
}

// TestPermissionsOfThePagesExist: a control that needs a permission which no call has would never be shown.
func TestPermissionsOfThePagesExist(t *testing.T) {
	t.Parallel()
	named := func(dir, ext, expression string) map[string]bool {
		found := map[string]bool{}
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ext) {
				return err
			}
			text, err := os.ReadFile(filepath.Join(dir, path))
			for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(string(text), -1) {
				found[m[1]] = true
			}
			return err
		})
		if err != nil || len(found) < 20 {
			t.Fatalf("%d permissions in %s, %v", len(found), dir, err)
		}
		return found
	}
	calls := named("../../proto/windlass", ".proto", `options\.v1\.permission\) = "([^"]+)"`)
	for permission := range named("app/src", ".tsx", `(?:can\(|permission=)"([^"]+)"`) {
		if !calls[permission] {
			t.Errorf("no call needs %q", permission)
		}
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path, tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		c.Asset(w, r)
		return w
	}
	all, err := fs.ReadDir(files, "dist")
	if err != nil || len(all) < 4 {
		t.Fatalf("%d assets, %v", len(all), err)
	}
	for _, file := range all {
		path := assets + file.Name()
		first := get(path, "")
		tag := first.Header().Get("ETag")
		if !IsAsset(path) || first.Code != http.StatusOK || first.Body.Len() == 0 || tag == "" || first.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d, %d bytes, tag %q", path, first.Code, first.Body.Len(), tag)
		}
		kept := strings.Contains(first.Header().Get("Cache-Control"), "immutable")
		if named := strings.Contains(file.Name(), "-") && strings.HasSuffix(file.Name(), ".js"); kept != named {
			t.Errorf("%s: kept without a question: %t, want %t", path, kept, named)
		}
		if again := get(path, tag); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s again: %d with %d bytes", path, again.Code, again.Body.Len())
		}
	}
	for _, path := range []string{
		"/assets/", "/assets/none.js", "/assets/../index.html", "/assets/../dist/app.js", "/app.js", "/assets/app", "/assets//app.js",
	} {
		if IsAsset(path) {
			t.Errorf("%s is an asset", path)
		}
	}
}

// sizes are budgets in bytes, compressed: of what the first view loads, and of all pages but that of the API.
const (
	firstView = 60_000
	allPages  = 220_000
)

// TestTheFirstViewIsSmall: who opens the console waits for what the first view needs, and not for the other pages.
func TestTheFirstViewIsSmall(t *testing.T) {
	t.Parallel()
	imported := regexp.MustCompile(`(?:from|import)"\./([^"]+\.js)"`)
	sizes := map[string]int{}
	var load func(name string)
	load = func(name string) {
		if _, ok := sizes[name]; ok {
			return
		}
		data, err := files.ReadFile("dist/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = compressed(t, data)
		for _, m := range imported.FindAllSubmatch(data, -1) {
			load(string(m[1]))
		}
	}
	all, err := fs.Glob(files, "dist/*.*s")
	if err != nil {
		t.Fatal(err)
	}
	load("app.css")
	load("app.js")
	total := 0
	for _, path := range all {
		name := strings.TrimPrefix(path, "dist/")
		if strings.HasPrefix(name, "chat-") {
			load(name)
		}
		data, err := files.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, "api-") {
			total += compressed(t, data)
		}
	}
	first := 0
	for _, size := range sizes {
		first += size
	}
	t.Logf("the first view has %d bytes in %d files, all pages %d", first, len(sizes), total)
	if first > firstView || total > allPages {
		t.Errorf("the first view has %d bytes in %d files, at most %d are allowed; all pages %d, at most %d",
			first, len(sizes), firstView, total, allPages)
	}
}

func compressed(t *testing.T, data []byte) int {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// TestAssetsStayTheirOwn: what is built asks no other server, and has no code in text that the page's policy would refuse.
func TestAssetsStayTheirOwn(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(files, "dist", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".js") && !strings.HasSuffix(path, ".css") {
			return err
		}
		data, err := files.ReadFile(path)
		if found := regexp.MustCompile(`import\("https?:|@import\s+url|new Function\(|\beval\(`).Find(data); found != nil {
			t.Errorf("%s has %s", path, found)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
