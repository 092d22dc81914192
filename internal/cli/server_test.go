package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

// answer is the fake server's response to one request.
type answer struct {
	status int // 200 when 0
	body   string
}

// fake is a server with recorded API responses.
type fake struct {
	t       *testing.T
	url     string
	answers map[string]answer // by "METHOD path?query"

	mu       sync.Mutex
	requests []string // "METHOD path?query body"
	// hook sees each request first.
	hook func(http.ResponseWriter, *http.Request) bool
}

func newFake(t *testing.T, answers map[string]answer) *fake {
	t.Helper()
	f := &fake{t: t, answers: answers}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	key := r.Method + " " + r.URL.RequestURI()
	f.mu.Lock()
	f.requests = append(f.requests, strings.TrimSpace(key+" "+string(body)))
	hook := f.hook
	f.mu.Unlock()
	if hook != nil && hook(w, r) {
		return
	}
	a, ok := f.answers[key]
	if !ok {
		a = answer{404, `{"code":"not_found","detail":"nothing at ` + strings.ReplaceAll(key, `"`, "'") + `"}`}
	}
	w.Header().Set("Content-Type", "application/json")
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = w.Write([]byte(a.body))
}

func (f *fake) seen(request string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.requests, request)
}

// result is the output of a command.
type result struct {
	code     int
	out, err string
}

// windlass runs a command against the fake server.
func (f *fake) windlass(stdin string, args ...string) result {
	f.t.Helper()
	return f.with(func(*app.App) {}, stdin, args...)
}

func (f *fake) with(change func(*app.App), stdin string, args ...string) result {
	f.t.Helper()
	var out, errs bytes.Buffer
	a := &app.App{
		Version: "1.2.3", Self: "windlass", In: strings.NewReader(stdin), Out: &out, Err: &errs,
		Environ: []string{"WINDLASS_SERVER=" + f.url},
	}
	change(a)
	code := a.Execute(f.t.Context(), New(a), args)
	return result{code, out.String(), errs.String()}
}

// onWrite calls first before the first write.
type onWrite struct {
	io.Writer
	first func()
}

// Write implements io.Writer.
func (w *onWrite) Write(p []byte) (int, error) {
	if w.first != nil {
		first := w.first
		w.first = nil
		first()
	}
	return w.Writer.Write(p)
}
