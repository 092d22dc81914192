package registry_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	configfile "github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestSourcesOfAConfigurationFile: what the file says about APIs and credentials is in force, and starting again changes nothing.
func TestSourcesOfAConfigurationFile(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	w, api := newWorld(t), newPetAPI(t)
	api.set(func() {
		api.answer = func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, r.Header.Get("Authorization"), r.URL) }
	})
	w.bridge.set(func() {
		w.bridge.tools["remote"] = []*mcpbridgev1.Tool{tool("kept", "read"), tool("delete_all", "read")}
	})
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	text := strings.NewReplacer("URL", api.URL, "$", "$$").Replace(`
sources:
  - name: remote
    url: http://127.0.0.1:1/mcp
    pin: true
    exclude: ["delete_*"]
    max_calls: 3
    max_calls_per_second: 2.5
    auth: {kind: bearer, secret: "${env:WINDLASS_TOOL_SECRET}"}
  - name: hand
    kind: http
    base_url: URL
    auth: {kind: basic, username: ann, secret: "${env:WINDLASS_TOOL_SECRET}"}
    endpoints:
      - name: note
        method: PUT
        path: /notes/7
        query: {q: now}
        body: {n: 1, nested: {list: [1, two, true]}}
        input_schema: {type: object, properties: {}, maxProperties: 3}
  - name: pets
    kind: openapi
    base_url: URL
    operations: {names: [getPet]}
    document: |
      openapi: 3.1.0
      info: {title: Pets, version: "1"}
      paths: {"/pets": {get: {operationId: getPet}, post: {operationId: addPet}}}
`)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config()
	if err := configfile.Load(configfile.Options{File: file, Into: &cfg}); err != nil {
		t.Fatal(err)
	}
	ready := func(r *replica, name string) (src *registryv1.Source) {
		testpoll.Until(t, name+" is ready", func() bool {
			var err error
			src, err = r.sources.GetSource(t.Context(), &registryv1.GetSourceRequest{SourceId: name})
			return err == nil && src.GetState() == registryv1.SourceState_SOURCE_STATE_READY
		})
		return src
	}
	one := w.start(cfg)
	src := ready(one, "remote")
	if !src.GetPin() || src.GetMaxCalls() != 3 || src.GetMaxCallsPerSecond() != 2.5 || src.GetToolCount() != 1 {
		t.Errorf("remote: %v", src)
	}
	if got := one.callAPI("remote__kept", `{"text":"x"}`); got.completed.GetResult().GetIsError() {
		t.Fatalf("remote__kept: %+v", got)
	}
	calls := w.bridge.seen()
	if a := calls[len(calls)-1].GetServer().GetAuth(); a.GetKind() != "bearer" || a.GetSecret() != "${env:WINDLASS_TOOL_SECRET}" {
		t.Errorf("the bridge got the credential %v", a)
	}
	ready(one, "hand")
	if got := one.callAPI("hand__note", "{}"); got.text() != "Basic ***/notes/7?q=now" {
		t.Errorf("hand__note: %q", got.text())
	}
	api.set(func() {
		if want := `PUT /notes/7?q=now {"n":1,"nested":{"list":[1,"two",true]}}`; api.requests[len(api.requests)-1] != want {
			t.Errorf("sent %q", api.requests)
		}
	})
	if src := ready(one, "pets"); src.GetToolCount() != 1 || src.GetDocument() == "" {
		t.Errorf("pets: %v", src)
	}
	one.stop()

	two := w.start(cfg)
	for _, name := range []string{"remote", "hand", "pets"} {
		if src := ready(two, name); src.GetRevision() != 1 {
			t.Errorf("%s has revision %d after a restart", name, src.GetRevision())
		}
	}
	two.stop()
	cfg.Sources[2].Document = strings.ReplaceAll(cfg.Sources[2].Document, "getPet", "getPetAgain")
	cfg.Sources[2].Operations = nil
	three := w.start(cfg)
	testpoll.Until(t, "the changed document is read", func() bool {
		_, err := three.tools.GetTool(t.Context(), &registryv1.GetToolRequest{Name: "pets__getPetAgain"})
		return err == nil
	})
}
