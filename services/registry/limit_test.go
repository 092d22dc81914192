package registry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// held is an API that answers when it is told to, and counts the calls that run.
type held struct {
	*httptest.Server
	release chan struct{}
	arrived chan struct{}
	mu      sync.Mutex
	running int
	most    int
}

func newHeld(t *testing.T) *held {
	t.Helper()
	h := &held{release: make(chan struct{}), arrived: make(chan struct{}, 100)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h.count(1)
		h.arrived <- struct{}{}
		<-h.release
		h.count(-1)
		fmt.Fprint(w, "done")
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *held) count(by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running += by
	h.most = max(h.most, h.running)
}

// TestCallsOfASourceAreLimited: what is too much for one source waits or is refused, and leaves other sources alone.
func TestCallsOfASourceAreLimited(t *testing.T) {
	w, slow := newWorld(t), newHeld(t)
	cfg := config()
	cfg.QueueTimeout = time.Minute
	r := w.start(cfg)
	endpoints := []*registryv1.Endpoint{{Name: "call", Path: "/"}}
	r.createHTTP(&registryv1.Source{Name: "slow", BaseUrl: slow.URL, MaxCalls: 2, Endpoints: endpoints})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if s := r.callAPI("slow__call", `{}`); s.text() != "done" {
				t.Errorf("called: %s", s.text())
			}
		})
	}
	<-slow.arrived
	<-slow.arrived
	quick := newPetAPI(t)
	r.createHTTP(&registryv1.Source{Name: "quick", BaseUrl: quick.URL, Endpoints: endpoints})
	if s := r.callAPI("quick__call", `{}`); s.completed.GetCode() != "" {
		t.Errorf("another source: %s", s.text())
	}
	close(slow.release)
	all.Wait()
	if slow.most != 2 {
		t.Errorf("%d calls ran at once", slow.most)
	}
}

func TestACallDoesNotWaitForEver(t *testing.T) {
	w, slow := newWorld(t), newHeld(t)
	cfg := config()
	cfg.QueueTimeout = 20 * time.Millisecond
	r := w.start(cfg)
	endpoints := []*registryv1.Endpoint{{Name: "call", Path: "/"}}
	r.createHTTP(&registryv1.Source{Name: "slow", BaseUrl: slow.URL, MaxCalls: 1, Endpoints: endpoints})
	first := make(chan story, 1)
	go func() { first <- r.callAPI("slow__call", `{}`) }()
	<-slow.arrived
	if s := r.callAPI("slow__call", `{}`); s.completed.GetCode() != "tool_unavailable" || !strings.Contains(s.text(), "has 1 calls running") {
		t.Errorf("a second call: %s %s", s.completed.GetCode(), s.text())
	}
	close(slow.release)
	if s := <-first; s.text() != "done" {
		t.Errorf("the first call: %s", s.text())
	}

	r.createHTTP(&registryv1.Source{Name: "rated", BaseUrl: slow.URL, MaxCallsPerSecond: 0.001, Endpoints: endpoints})
	if s := r.callAPI("rated__call", `{}`); s.text() != "done" {
		t.Errorf("within the rate: %s", s.text())
	}
	s := r.callAPI("rated__call", `{}`)
	if s.completed.GetCode() != "tool_unavailable" || !strings.Contains(s.text(), "may be called 0.001 times per second") {
		t.Errorf("above the rate: %s %s", s.completed.GetCode(), s.text())
	}
}

func (r *replica) createHTTP(src *registryv1.Source) {
	r.w.t.Helper()
	src.Kind = "http"
	if _, err := r.sources.CreateSource(r.w.t.Context(), &registryv1.CreateSourceRequest{Source: src}); err != nil {
		r.w.t.Fatal(err)
	}
}
