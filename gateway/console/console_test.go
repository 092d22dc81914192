package console

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
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
