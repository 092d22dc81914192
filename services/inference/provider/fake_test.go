package provider_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/secret"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// Control pieces of a stream that are not sent.
const (
	hold = "\x00hold" // say nothing more until the client leaves
	cut  = "\x00cut"  // break the connection
)

// fake is a provider's server that plays what the test sets.
type fake struct {
	*httptest.Server
	answer http.HandlerFunc

	mu       sync.Mutex
	requests []seen
}

// seen is a request as it arrived.
type seen struct {
	path   string
	header http.Header
	body   string
}

func newFake(t *testing.T, answer http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{answer: answer}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		f.mu.Lock()
		f.requests = append(f.requests, seen{r.URL.Path, r.Header, string(body)})
		answer := f.answer
		f.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// respond replaces the answer of a server that may be serving.
func (f *fake) respond(answer http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func (f *fake) seen() []seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

// stream responds with a stream of events, piece by piece; pieces may end anywhere.
func stream(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		play(w, r, pieces)
	}
}

func play(w http.ResponseWriter, r *http.Request, pieces []string) {
	for _, p := range pieces {
		switch p {
		case hold:
			<-r.Context().Done()
			return
		case cut:
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, p)
		w.(http.Flusher).Flush()
	}
}

// refuse responds with a status and a body; header is "Name: value".
func refuse(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// provide serves the inference service with one provider, "test", of the kind.
func provide(t *testing.T, kind, baseURL string, change ...func(*inference.Config)) inferencev1.InferenceServiceClient {
	t.Helper()
	cfg := inferencetest.Config()
	cfg.FirstTokenTimeout, cfg.IdleTimeout = 30*time.Second, 30*time.Second
	cfg.Providers = []catalog.ProviderConfig{{
		Name: "test", Kind: kind, BaseURL: baseURL, APIKey: secret.New(inferencetest.Key), Models: []string{"model-1"},
	}}
	for _, f := range change {
		f(&cfg)
	}
	return inferencetest.Serve(t, cfg, nil)
}

// noPatience waits only briefly for the first token, noSilence between tokens. The other timeout is long, so that a busy machine does not
// change which one ends first.
func noPatience(cfg *inference.Config) { cfg.FirstTokenTimeout = 100 * time.Millisecond }
func noSilence(cfg *inference.Config)  { cfg.IdleTimeout = 100 * time.Millisecond }

// golden compares JSON with a file; UPDATE_GOLDEN=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(got), &value); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	pretty, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	pretty = append(pretty, '\n')
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, pretty, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(pretty) {
		t.Errorf("%s: got\n%s", name, pretty)
	}
}
