package registry_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/testpoll"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry"
)

// TestBadSourcesLeaveGoodOnesAlone: beside nine good sources, one that is dead, one that is slow and one that lies. The nine are there
// while the slow one still has not answered, and each error names its source.
func TestBadSourcesLeaveGoodOnesAlone(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); slow.Close() })
	lying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/x":{"get":{"parameters":[{"$ref":"#/nowhere"}]}}}}`)
	}))
	t.Cleanup(lying.Close)

	cfg := config()
	bad := map[string]string{"dead": "http://" + closed.Addr().String(), "slow": slow.URL, "lying": lying.URL}
	for name, url := range bad {
		cfg.Sources = append(cfg.Sources, registry.SourceConfig{Name: name, Kind: "openapi", URL: url + "/openapi.json"})
	}
	good := newPetAPI(t)
	for i := range 9 {
		cfg.Sources = append(cfg.Sources, registry.SourceConfig{
			Name: fmt.Sprint("good", i), Kind: "openapi", URL: good.URL + "/openapi.json",
		})
	}
	r := newWorld(t).start(cfg)
	source := func(name string) *registryv1.Source {
		got, err := r.sources.GetSource(t.Context(), &registryv1.GetSourceRequest{SourceId: name})
		if err != nil {
			return nil // it is not there yet
		}
		return got
	}
	for i := range 9 {
		name := fmt.Sprint("good", i)
		testpoll.Until(t, name+" is ready", func() bool { return enum.Name(source(name).GetState()) == "ready" })
		if s := r.callAPI(name+"__getPet", `{"id":1}`); s.completed.GetCode() != "" || s.completed.GetResult().GetIsError() {
			t.Errorf("%s: %s", name, s.text())
		}
	}
	if state := enum.Name(source("slow").GetState()); state != "pending" {
		t.Errorf("the slow source is %s", state)
	}
	for name, want := range map[string]string{"dead": "connection refused", "lying": "cannot be read"} {
		testpoll.Until(t, name+" is unreachable", func() bool { return enum.Name(source(name).GetState()) == "unreachable" })
		if why := source(name).GetLastError(); !strings.Contains(why, want) || !strings.Contains(why, `"`+name+`"`) {
			t.Errorf("%s: %s", name, why)
		}
	}
}
