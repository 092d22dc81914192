package registry_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testpoll"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry"
)

// TestBadSourcesLeaveGoodOnesAlone: beside nine good sources, one that is dead, one that is slow and one that lies. The nine are there
// while the slow one still has not answered, and each error names its source. At a restart the nine can be called at once, and are synced
// while the slow one still has not answered.
func TestBadSourcesLeaveGoodOnesAlone(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	waiting := make(chan struct{}, 100) // requests that the slow source has
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		waiting <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done(): // the registry stopped
		}
	}))
	t.Cleanup(func() { close(release); slow.Close() })
	lying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/x":{"get":{"parameters":[{"$ref":"#/nowhere"}]}}}}`)
	}))
	t.Cleanup(lying.Close)

	cfg := config()
	bad := map[string]string{"dead": "http://" + closed.Addr().String(), "slow": slow.URL, "lying": lying.URL}
	for name, url := range bad {
		cfg.Sources = append(cfg.Sources, registry.SourceConfig{Source: &registryv1.Source{
			Name: name, Kind: "openapi", Url: url + "/openapi.json",
		}})
	}
	cfg.Sources = append(cfg.Sources, registry.SourceConfig{Source: &registryv1.Source{
		Name: "deadflow", Kind: "workflow", Temporal: &registryv1.Temporal{Address: closed.Addr().String()},
		Workflows: []*registryv1.Workflow{{Name: "w", TaskQueue: "q"}},
	}})
	good := newPetAPI(t)
	for i := range 9 {
		cfg.Sources = append(cfg.Sources, registry.SourceConfig{Source: &registryv1.Source{
			Name: fmt.Sprint("good", i), Kind: "openapi", Url: good.URL + "/openapi.json",
		}})
	}
	w := newWorld(t)
	r := w.start(cfg)
	for i := range 9 {
		name := fmt.Sprint("good", i)
		testpoll.Until(t, name+" is ready", func() bool { return r.state(name) == "ready" })
		r.callsPet(name)
	}
	<-waiting
	if state := r.state("slow"); state != "pending" {
		t.Errorf("the slow source is %s", state)
	}
	r.badSourcesAreNamed()
	r.stop()

	begin, synced := time.Now(), time.Now()
	r = w.start(config()) // they are stored
	for i := range 9 {
		r.callsPet(fmt.Sprint("good", i))
	}
	called := time.Since(begin)
	<-waiting
	for i := range 9 {
		name := fmt.Sprint("good", i)
		testpoll.Until(t, name+" is synced", func() bool { return r.source(name).GetSyncTime().AsTime().After(synced) })
	}
	if state := r.state("slow"); state == "ready" || state == "unreachable" {
		t.Errorf("after the restart the slow source is %s", state)
	}
	t.Logf("restarted with three bad sources: the nine good ones were called after %v and synced after %v", called, time.Since(begin))
	r.badSourcesAreNamed()
}

// source returns a source, nil if it is not there yet.
func (r *replica) source(name string) *registryv1.Source {
	r.w.t.Helper()
	got, err := r.sources.GetSource(r.w.t.Context(), &registryv1.GetSourceRequest{SourceId: name})
	if err != nil {
		return nil
	}
	return got
}

func (r *replica) callsPet(source string) {
	r.w.t.Helper()
	if s := r.callAPI(source+"__getPet", `{"id":1}`); s.completed.GetCode() != "" || s.completed.GetResult().GetIsError() {
		r.w.t.Errorf("%s: %s", source, s.text())
	}
}

func (r *replica) badSourcesAreNamed() {
	r.w.t.Helper()
	for name, want := range map[string][2]string{
		"dead": {"unreachable", "connection refused"}, "deadflow": {"unreachable", "connection refused"}, "lying": {"invalid", "cannot be read"},
	} {
		testpoll.Until(r.w.t, name+" is "+want[0], func() bool { return r.state(name) == want[0] })
		if why := r.source(name).GetLastError(); !strings.Contains(why, want[1]) || !strings.Contains(why, `"`+name+`"`) {
			r.w.t.Errorf("%s: %s", name, why)
		}
	}
}
