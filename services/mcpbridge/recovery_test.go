package mcpbridge_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testpoll"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// restartable is an HTTP server that can stop and restart at the same address.
type restartable struct {
	t       testing.TB
	address string
	server  *httptest.Server
}

func newRestartable(t testing.TB, h http.Handler) *restartable {
	r := &restartable{t: t, address: "127.0.0.1:0"}
	r.start(h)
	t.Cleanup(r.stop)
	return r
}

func (r *restartable) start(h http.Handler) {
	r.t.Helper()
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.address = l.Addr().String()
	r.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	r.server.Start()
}

func (r *restartable) stop() {
	if r.server != nil {
		r.server.CloseClientConnections()
		r.server.Close()
		r.server = nil
	}
}

func TestAServerThatRestartedIsUsedAgain(t *testing.T) {
	for _, era := range []string{"legacy", "modern", "sse"} {
		t.Run(era, func(t *testing.T) {
			handler := func() http.Handler {
				switch s := newToolServer(); era {
				case "legacy":
					return s.legacy()
				case "sse":
					return s.sse()
				default:
					return s.modern()
				}
			}
			r := newRestartable(t, handler())
			s := &mcpbridgev1.Server{Id: "src_x", Name: era, Url: "http://" + r.address + "/"}
			if era == "sse" {
				s.Url += "sse"
			}
			b := newBridge(t)
			next := b.watch(t)
			b.discover(t, s)
			r.stop()
			r.start(handler())
			testpoll.Until(t, "the server answers again", func() bool {
				_, res, err := b.call(t.Context(), s, "echo", `{"text":"back"}`)
				return err == nil && text(res) == "back"
			})
			if e := next(); e.GetChange() != watch.Connected {
				t.Errorf("got %v", e)
			}
		})
	}
}

func TestALostSessionIsMendedWithoutANoticeToTheCaller(t *testing.T) {
	// The same tools behind a new session manager: like a quick restart, or an expired session.
	for name, refuse := range map[string]func(http.ResponseWriter){
		"404": func(w http.ResponseWriter) { http.Error(w, "Invalid session ID", http.StatusNotFound) },
		"400 in JSON-RPC": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tools := newToolServer()
			current := tools.legacy()
			var lost sync.Map
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, gone := lost.Load(r.Header.Get("Mcp-Session-Id")); gone {
					refuse(w)
					return
				}
				current.ServeHTTP(w, r)
			})
			var session atomic.Value
			front := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if id := r.Header.Get("Mcp-Session-Id"); id != "" {
					session.Store(id)
				}
				h.ServeHTTP(w, r)
			})
			s := &mcpbridgev1.Server{Id: "src_x", Name: "forgetful", Url: serve(t, front).URL}
			b := newBridge(t)
			b.discover(t, s)
			for range 3 {
				lost.Store(session.Load(), true)
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() {
						if _, res, err := b.call(t.Context(), s, "echo", `{"text":"on"}`); err != nil || text(res) != "on" {
							t.Errorf("got %v %v", res, err)
						}
					})
				}
				wg.Wait()
				b.discover(t, s)
			}
		})
	}
}

func TestARunningCallOfALostServerHasAnUnknownOutcome(t *testing.T) {
	for _, era := range []string{"legacy", "modern", "sse", "stdio"} {
		t.Run(era, func(t *testing.T) {
			tools := newToolServer()
			t.Cleanup(func() { close(tools.quit) })
			h := map[string]http.Handler{"legacy": tools.legacy(), "modern": tools.modern(), "sse": tools.sse(), "stdio": nil}[era]
			var s *mcpbridgev1.Server
			var kill func()
			if era == "stdio" {
				s = stdioServer(t, "modern")
			} else {
				r := newRestartable(t, h)
				s = &mcpbridgev1.Server{Id: "src_x", Name: era, Url: "http://" + r.address + "/"}
				kill = r.stop
				if era == "sse" {
					s.Url += "sse"
				}
			}
			b := newBridge(t)
			b.discover(t, s)
			if era == "stdio" {
				pid, err := strconv.Atoi(text(b.must(t, s, "pid", "{}")))
				if err != nil {
					t.Fatal(err)
				}
				kill = func() {
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
						t.Error(err)
					}
				}
			}
			file := filepath.Join(t.TempDir(), "notes")
			ended := make(chan error, 1)
			go func() {
				_, _, err := b.call(t.Context(), s, "wait", fmt.Sprintf(`{"file":%q}`, file))
				ended <- err
			}()
			testpoll.Until(t, "the file has started", func() bool { return contains(file, "started") })
			kill()
			if err := <-ended; !fault.Is(err, faultv1.Reason_REASON_OUTCOME_UNKNOWN) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAKilledProcessIsStartedAgain(t *testing.T) {
	s := stdioServer(t, "modern")
	b := newBridge(t)
	next := b.watch(t)
	b.discover(t, s)
	seen := map[string]bool{}
	for range 3 {
		pid := text(b.must(t, s, "pid", "{}"))
		if seen[pid] {
			t.Fatal("the killed process answers")
		}
		seen[pid] = true
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, want := range []mcpbridgev1.ServerChange{watch.Connected, watch.Lost} {
			if e := next(); e.GetChange() != want {
				t.Fatalf("got %v, want %s", e, want)
			}
		}
	}
	if e := next(); e.GetChange() != watch.Connected { // without a call: it was discovered and reports changes
		t.Errorf("got %v", e)
	}
}

func TestACrashIsQuotedAndNotRepeated(t *testing.T) {
	s := stdioServer(t, "modern")
	b := newBridge(t)
	_, _, err := b.call(t.Context(), s, "crash", "{}")
	if f := fault.From(err); f == nil || f.Reason != faultv1.Reason_REASON_OUTCOME_UNKNOWN || !strings.Contains(f.Message, "exit status 3") ||
		!strings.Contains(f.Message, "last words") {
		t.Errorf("got %v", err)
	}
}

func TestReleaseEndsTheProcess(t *testing.T) {
	s := stdioServer(t, "modern")
	b := newBridge(t)
	b.discover(t, s)
	pid, err := strconv.Atoi(text(b.must(t, s, "pid", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Release(t.Context(), &mcpbridgev1.ReleaseRequest{ServerId: s.GetId()}); err != nil {
		t.Fatal(err)
	}
	testpoll.Until(t, "the process ends", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	if _, err := b.Release(t.Context(), &mcpbridgev1.ReleaseRequest{ServerId: "nobody"}); err != nil {
		t.Errorf("an unknown server: %v", err)
	}
	if got := text(b.must(t, s, "echo", `{"text":"again"}`)); got != "again" {
		t.Errorf("got %q", got)
	}
}

func TestAChangedEntryReplacesTheConnection(t *testing.T) {
	s := stdioServer(t, "modern")
	b := newBridge(t)
	file := filepath.Join(t.TempDir(), "notes")
	running := make(chan error, 1)
	s.CallTimeout = durationpb.New(150 * time.Second) // the start of the process is a part of it
	go func() {
		_, _, err := b.call(t.Context(), stdioServer(t, "modern"), "progress", `{"n":50,"tag":"`+file+`"}`)
		running <- err
	}()
	first := text(b.must(t, s, "pid", "{}"))
	s.Name, s.CallTimeout = "other name", durationpb.New(300*time.Second)
	if again := text(b.must(t, s, "pid", "{}")); again != first {
		t.Error("a new name made a new process")
	}
	s.Env["MORE"] = "1"
	second := text(b.must(t, s, "pid", "{}"))
	if second == first {
		t.Error("a new environment did not make a new process")
	}
	if err := <-running; err != nil {
		t.Errorf("the call on the old connection: %v", err)
	}
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	testpoll.Until(t, "the process ends", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
}

func TestUnusedConnectionsAreClosedUnlessWanted(t *testing.T) {
	b := newBridge(t, func(c *mcpbridge.Config) { c.IdleTimeout = 60 * time.Millisecond })
	unused, wanted := stdioServer(t, "modern"), stdioServer(t, "modern")
	unused.Id, wanted.Id = "src_unused", "src_wanted"
	b.discover(t, wanted)
	kept := text(b.must(t, wanted, "pid", "{}"))
	pid, err := strconv.Atoi(text(b.must(t, unused, "pid", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	testpoll.Until(t, "the process ends", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	if got := text(b.must(t, wanted, "pid", "{}")); got != kept {
		t.Error("the wanted connection was closed")
	}
}

func TestConcurrentFirstCallsShareOneProcess(t *testing.T) {
	s := stdioServer(t, "modern")
	b := newBridge(t)
	var pids sync.Map
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			_, res, err := b.call(t.Context(), s, "pid", "{}")
			if err != nil {
				t.Error(err)
			}
			pids.Store(text(res), true)
		})
	}
	wg.Wait()
	n := 0
	pids.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("got %d processes", n)
	}
}

func TestTheEnvironmentOfAProcessIsClean(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "leak-me")
	t.Setenv("WINDLASS_TOOL_ONE", "granted")
	s := stdioServer(t, "modern")
	s.Env["ONE"] = "<${env:WINDLASS_TOOL_ONE}>"
	b := newBridge(t)
	for line := range strings.SplitSeq(text(b.must(t, s, "environ", "{}")), "\n") {
		name, value, _ := strings.Cut(line, "=")
		switch name {
		case "PATH", "HOME", "LANG", "TMPDIR":
			if value != os.Getenv(name) {
				t.Errorf("%s is %q", name, value)
			}
		case "WINDLASS_TEST_STDIO":
		case "ONE":
			if value != "<granted>" {
				t.Errorf("ONE is %q", value)
			}
		default:
			t.Errorf("the process sees %s", name)
		}
	}
}

func TestACallWhoseStreamCannotBeResumedIsNotRepeated(t *testing.T) {
	server := &script{call: func(w http.ResponseWriter, _ json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: 1\nretry: 10\ndata:\n\n") // and ends: the client must come back for the response
	}}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-ID") != "" {
			http.Error(w, "Session terminated", http.StatusNotFound)
			return
		}
		server.ServeHTTP(w, r)
	})
	s := &mcpbridgev1.Server{Id: "src_x", Url: serve(t, h).URL}
	_, _, err := newBridge(t).call(t.Context(), s, "x", "{}")
	if !fault.Is(err, faultv1.Reason_REASON_OUTCOME_UNKNOWN) || server.calls.Load() != 1 {
		t.Errorf("got %v after %d calls", err, server.calls.Load())
	}
}
