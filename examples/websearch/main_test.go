package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/examples/internal/toolservertest"
	"github.com/windlass-dev/windlass/examples/websearch/search"
)

func TestMain(m *testing.M) { toolservertest.Main(m, main) }

type listing struct {
	Hits   []search.Hit
	Source string
}

func TestTheCorpusIsSearched(t *testing.T) {
	c := toolservertest.Stdio(t)
	for query, want := range map[string]string{
		"retrying with jitter":                "corpus:///backoff.md",
		"circuit breaker":                     "corpus:///circuit-breaker.md",
		"key that makes a request idempotent": "corpus:///idempotency.md",
		`"AND" OR ( anchor* NEAR`:             "corpus:///windlass.md", // operators are words
	} {
		got := toolservertest.Call[listing](t, c, "search", map[string]any{"query": query, "limit": 2})
		if len(got.Hits) == 0 || got.Hits[0].URL != want || len(got.Hits) > 2 || !strings.Contains(got.Source, "not the web") {
			t.Errorf("%s: %+v", query, got)
		}
	}
	if got := toolservertest.Call[listing](t, c, "search", map[string]any{"query": "xylophone"}); len(got.Hits) != 0 {
		t.Errorf("a word that is nowhere: %+v", got)
	}
	for _, query := range []string{"", " ", "?!", strings.Repeat("x", 501)} {
		if text := toolservertest.CallError(t, c, "search", map[string]any{"query": query}); !strings.Contains(text, "query") {
			t.Errorf("%.20q: %s", query, text)
		}
	}
	page := toolservertest.Call[search.Page](t, c, "read", map[string]any{"url": "corpus:///windlass.md"})
	if page.Title != "What a windlass is" || !strings.Contains(page.Text, "anchor") {
		t.Errorf("page: %+v", page)
	}
	text := toolservertest.CallError(t, c, "read", map[string]any{"url": "file:///etc/passwd"})
	if !strings.Contains(text, "there is no page") {
		t.Errorf("a page outside: %s", text)
	}
}

func TestAFolderOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.md": "# Alpha\nfirst letter", "sub/b.txt": "Beta\nsecond letter", "c.bin": "gamma letter"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := toolservertest.Dial(t, toolservertest.HTTP(t, "--corpus", dir))
	got := toolservertest.Call[listing](t, c, "search", map[string]any{"query": "letters"})
	if len(got.Hits) != 2 {
		t.Errorf("found %+v", got)
	}
	if _, err := search.OpenCorpus(t.Context(), t.TempDir()); err == nil {
		t.Error("an empty folder was accepted")
	}
}

// TestTheWeb has an instance of SearXNG answer well and badly.
func TestTheWeb(t *testing.T) {
	status, body := http.StatusOK, ""
	instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/sub/search" || r.FormValue("format") != "json" || r.FormValue("q") != "a & b" {
			t.Errorf("asked %s", r.URL)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer instance.Close()
	s, err := search.NewSearXNG(instance.URL + "/sub/")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	body = `{"results":[{"title":"One","url":"https://one.example","content":"first"},{"title":"Bad","url":"javascript:alert(1)"},` +
		`{"title":"Two","url":"https://two.example"},{"title":"Three","url":"https://three.example"}]}`
	got, err := s.Search(t.Context(), "a & b", 2)
	if err != nil || fmt.Sprint(got) != "[{One https://one.example first} {Two https://two.example }]" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, row := range []struct {
		status     int
		body, want string
	}{
		{http.StatusForbidden, "", "search.formats"},
		{http.StatusBadGateway, "", "status 502"},
		{http.StatusOK, "<html>", "no list"},
		{http.StatusFound, "", "status 302"},
	} {
		status, body = row.status, row.body
		if _, err := s.Search(t.Context(), "a & b", 2); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%d %s: %v", row.status, row.body, err)
		}
	}
	for _, address := range []string{"", "searx.example.com", "ftp://x"} {
		if _, err := search.NewSearXNG(address); err == nil {
			t.Errorf("%q was accepted", address)
		}
	}
}
