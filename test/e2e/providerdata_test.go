package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// provided is a credential that comes with requests.
const provided = "canary-provided-6Jx3VnTdR5"

// TestProviderDataIsNowhereInClear has a client send credentials with a call and with a turn whose process is killed in the middle. They
// reach the tool in _meta and in a header, before and after the crash, and are in no file, log or answer.
func TestProviderDataIsNowhereInClear(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]int{} // calls with the right credentials, by tool
	stuck, free := make(chan struct{}, 10), make(chan struct{})
	server := newToolServer(t, map[string]string{"look": ""})
	server.call = func(_ http.ResponseWriter, r *http.Request, tool string) harness.JSON {
		mu.Lock()
		if r.Header.Get("X-Api-Key") == provided && r.Header.Get("X-Meta") == provided {
			got[tool]++
		}
		n := got[tool]
		mu.Unlock()
		if n == 3 { // that of the turn, the first time
			stuck <- struct{}{}
			select {
			case <-free:
			case <-r.Context().Done():
			}
		}
		return said("you sent "+r.Header.Get("X-Api-Key"), false)
	}
	front := metaToHeader(t, server)
	dir := t.TempDir()
	up := harness.Up(t, dir, []string{inClear}, "--verbose")
	c := up.Client
	c.Must("POST", "/v1/sources", harness.JSON{
		"name": "search", "kind": "mcp", "url": front, "effects": harness.JSON{"look": "read"},
		"provider_data": harness.JSON{"meta": []string{"token"}, "headers": harness.JSON{"X-Api-Key": "token"}},
	})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "finder", "model": "builtin/scripted", "tools": []string{"search__*"}})
	header := []string{"X-Windlass-Provider-Data", `{"token":"` + provided + `","undeclared":"` + provided + `"}`}

	status, answer, err := c.Do(t.Context(), "POST", "/v1/tools/search__look:invoke", harness.JSON{})
	if err != nil || status != http.StatusConflict || !strings.Contains(answer.Str("detail"), `"token"`) ||
		!strings.Contains(answer.Str("detail"), "X-Windlass-Provider-Data") {
		t.Errorf("a call without: %d %v %v", status, answer, err)
	}
	direct := c.Must("POST", "/v1/tools/search__look:invoke", harness.JSON{}, header...)
	overGRPC(t, fmt.Sprint(up.Ready["grpc"]), header[0], header[1])
	turn := c.Must("POST", "/v1/sessions/"+c.Session("finder")+"/turns", harness.JSON{"input": "call:search__look then say:done"}, header...).
		Str("id")
	<-stuck
	up.Kill()
	close(free)
	first := up.Log()
	up = harness.Up(t, dir, []string{inClear}, "--verbose")
	c = up.Client
	c.Watch("/v1/turns/" + turn + "/events").End()
	done := c.Wait(turn)
	events := c.Must("GET", "/v1/executions?turn_id="+turn, nil)
	if done.Str("status") != "completed" {
		t.Errorf("the turn: %v", done)
	}
	mu.Lock()
	if got["look"] != 4 {
		t.Errorf("%d calls had the credentials, want 4: one over REST, one over gRPC, one before and one after the crash", got["look"])
	}
	mu.Unlock()
	if code := up.Stop(); code != 0 {
		t.Errorf("a clean stop exits with %d", code)
	}
	for where, text := range map[string]any{"the log": first + up.Log(), "an answer": []any{direct, done, events}} {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range forms(provided) {
			if bytes.Contains(raw, form) {
				t.Errorf("%s holds the credential", where)
			}
		}
	}
	noFileHolds(t, dir, provided)
}

// overGRPC calls the tool as a program does that speaks gRPC: with the credentials in the metadata.
func overGRPC(t *testing.T, addr, name, value string) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx := metadata.AppendToOutgoingContext(t.Context(), name, value)
	r, err := registryv1.NewToolServiceClient(conn).InvokeTool(ctx, &registryv1.InvokeToolRequest{Name: "search__look"})
	if err != nil || strings.Contains(r.String(), provided) {
		t.Errorf("over gRPC: %v, %v", r, err)
	}
}

// metaToHeader serves a tool server that sees the entry "token" of _meta as a header.
func metaToHeader(t *testing.T, next http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var req struct {
			Params struct {
				Meta struct {
					Token string `json:"token"`
				} `json:"_meta"`
			} `json:"params"`
		}
		_ = json.Unmarshal(body, &req)
		r.Header.Set("X-Meta", req.Params.Meta.Token)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

// noFileHolds reads every file of a data directory: databases with their logs, Temporal's, and the bus's.
func noFileHolds(t *testing.T, dir, secret string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, form := range forms(secret) {
			if bytes.Contains(raw, form) {
				t.Errorf("%s holds the credential", path)
			}
		}
		return nil
	})
	if err != nil || files < 3 {
		t.Errorf("%d files in the data directory, %v", files, err)
	}
}
