package mcpbridge_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestReferenceServer(t *testing.T) {
	for _, mode := range []string{"stdio", "streamableHttp", "sse"} {
		t.Run(mode, func(t *testing.T) {
			s := &mcpbridgev1.Server{Id: "src_everything", Name: mode}
			if mode == "stdio" {
				s.Command = append(testnpm.Program(t, "server-everything"), "stdio")
			} else {
				address := freeAddress(t)
				testnpm.Everything(t, mode, address)
				s.Url = "http://" + address + map[string]string{"streamableHttp": "/mcp", "sse": "/sse"}[mode]
			}
			b := newBridge(t)
			res := b.discover(t, s)
			if len(res.GetTools()) < 8 || res.GetProtocolVersion() != "2025-11-25" {
				t.Errorf("got %d tools, protocol %s", len(res.GetTools()), res.GetProtocolVersion())
			}
			if got := text(b.must(t, s, "echo", `{"message":"hello"}`)); got != "Echo: hello" {
				t.Errorf("echo: got %q", got)
			}
			if got := text(b.must(t, s, "get-sum", `{"a":2,"b":3}`)); !strings.Contains(got, "5") {
				t.Errorf("sum: got %q", got)
			}
			structured := b.must(t, s, "get-structured-content", `{"location":"New York"}`)
			if structured.GetStructuredContent().GetStructValue().GetFields()["temperature"] == nil {
				t.Errorf("structured: got %v", structured)
			}
			if image := b.must(t, s, "get-tiny-image", ""); len(image.GetContent()) < 2 || len(image.GetContent()[1].GetBlob().GetData()) == 0 {
				t.Errorf("image: got %v", image)
			}
			if links := b.must(t, s, "get-resource-links", `{"count":2}`); links.GetContent()[1].GetLink().GetUri() == "" {
				t.Errorf("links: got %v", links)
			}
			for tool, arguments := range map[string]string{"get-sum": `{"a":"x"}`, "nobody": "{}"} {
				if res := b.must(t, s, tool, arguments); !res.GetIsError() {
					t.Errorf("%s: got %v", tool, res)
				}
			}
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					progress, _, err := b.call(t.Context(), s, "trigger-long-running-operation", `{"duration":0.4,"steps":4}`)
					if err != nil || len(progress) != 4 {
						t.Errorf("progress: got %d %v", len(progress), err)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestReferenceServerRestarts(t *testing.T) {
	address := freeAddress(t)
	stop := testnpm.Everything(t, "streamableHttp", address)
	s := &mcpbridgev1.Server{Id: "src_everything", Url: "http://" + address + "/mcp"}
	b := newBridge(t)
	next := b.watch(t)
	b.discover(t, s)
	stop()
	state := func() mcpbridgev1.ServerChange {
		for {
			if e := next(); e.GetChange() != watch.ToolsChanged { // this server says so whenever somebody connects
				return e.GetChange()
			}
		}
	}
	for _, want := range []mcpbridgev1.ServerChange{watch.Connected, watch.Lost} {
		if got := state(); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	testnpm.Everything(t, "streamableHttp", address)
	if got := state(); got != watch.Connected { // by itself: it was discovered
		t.Errorf("got %s", got)
	}
	if got := text(b.must(t, s, "echo", `{"message":"again"}`)); got != "Echo: again" {
		t.Errorf("got %q", got)
	}
}

// eachReference runs a test of a reference server over stdio, and over HTTP and SSE through a proxy.
func eachReference(t *testing.T, env map[string]string, command []string, test func(t *testing.T, s *mcpbridgev1.Server)) {
	t.Run("stdio", func(t *testing.T) { test(t, &mcpbridgev1.Server{Id: "src_x", Command: command, Env: env}) })
	address := freeAddress(t)
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	testnpm.Proxy(t, address, list, command...)
	for _, path := range []string{"/mcp", "/sse"} {
		t.Run(path, func(t *testing.T) { test(t, &mcpbridgev1.Server{Id: "src_x", Url: "http://" + address + path}) })
	}
}

func TestReferenceFileServerKeepsToItsFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("inside"), 0o600); err != nil {
		t.Fatal(err)
	}
	eachReference(t, nil, append(testnpm.Program(t, "server-filesystem"), dir), func(t *testing.T, s *mcpbridgev1.Server) {
		b := newBridge(t)
		b.discover(t, s)
		if got := text(b.must(t, s, "read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "a.txt")))); got != "inside" {
			t.Errorf("got %q", got)
		}
		if got := text(b.must(t, s, "list_allowed_directories", "")); !strings.Contains(got, dir) {
			t.Errorf("got %q", got)
		}
		if res := b.must(t, s, "read_text_file", `{"path":"/etc/passwd"}`); !res.GetIsError() {
			t.Errorf("outside: got %v", res)
		}
	})
}

func TestReferenceMemoryServerKeepsWhatItIsTold(t *testing.T) {
	env := map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	eachReference(t, env, testnpm.Program(t, "server-memory"), func(t *testing.T, s *mcpbridgev1.Server) {
		b := newBridge(t)
		b.discover(t, s)
		name := strings.ReplaceAll(t.Name(), "/", "-")
		b.must(t, s, "create_entities", fmt.Sprintf(`{"entities":[{"name":%q,"entityType":"test","observations":["likes pears"]}]}`, name))
		if _, err := b.Release(t.Context(), &mcpbridgev1.ReleaseRequest{ServerId: s.GetId()}); err != nil {
			t.Fatal(err)
		}
		found := b.must(t, s, "open_nodes", fmt.Sprintf(`{"names":[%q]}`, name)) // of another process over stdio
		if !strings.Contains(text(found), "likes pears") || found.GetStructuredContent() == nil {
			t.Errorf("found %v", found)
		}
	})
}
