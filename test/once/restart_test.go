package once

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpoll"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry"
	"github.com/windlass-dev/windlass/test/harness"
)

const (
	// restarts is how often a source is killed by day, and restartsAtNight by make nightly.
	restarts        = 8
	restartsAtNight = 20
	// callers call without a pause while the source restarts; held calls of each class are in progress when it is killed.
	callers = 4
	held    = 2
)

// killable is a source that is killed and restarted.
type killable struct {
	source  *registryv1.Source
	kill    func()
	restart func()
}

// killables start a source whose server writes each call to a file when it arrives, and answers when another file exists.
var killables = map[string]func(t *testing.T, journal string) killable{
	"MCP over HTTP": func(t *testing.T, journal string) killable {
		args := []string{"--ledger", journal, "--http"}
		p := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), append(args, "127.0.0.1:0")...)
		url := p.Ready["url"].(string)
		address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
		return killable{&registryv1.Source{Url: url}, func() { p.Kill() }, func() {
			p = harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), append(args, address)...)
		}}
	},
	"MCP over stdio": func(t *testing.T, journal string) killable {
		return killable{
			&registryv1.Source{Command: []string{harness.Bin(t, "examples/faulty"), "--ledger", journal}},
			func() { // the bridge starts the next one
				all := arrivals(t, journal)
				harness.Must(t, syscall.Kill(all[len(all)-1].PID, syscall.SIGKILL))
			}, func() {},
		}
	},
	"HTTP API": func(t *testing.T, journal string) killable {
		self, err := os.Executable()
		harness.Must(t, err)
		start := func(address string) *harness.Process {
			return harness.Start(t, "api", []string{"WINDLASS_TEST_SERVER=api", "ACTS=" + journal, "ADDRESS=" + address}, self)
		}
		p := start("127.0.0.1:0")
		address := p.Ready["address"].(string)
		endpoint := func(name, method string) *registryv1.Endpoint {
			e := &registryv1.Endpoint{
				Name: "slow_" + name, Method: method, Path: "/" + name,
				Query: map[string]string{"call_id": "${args.call_id}", "release_file": "${args.release_file}"},
				InputSchema: object(t, map[string]any{"type": "object", "properties": map[string]any{
					"call_id": map[string]any{"type": "string"}, "release_file": map[string]any{"type": "string"},
				}}),
			}
			if method != http.MethodGet {
				e.KeyHeader = "Idempotency-Key"
			}
			return e
		}
		return killable{
			&registryv1.Source{Kind: "http", BaseUrl: "http://" + address, Endpoints: []*registryv1.Endpoint{
				endpoint(read, "GET"), endpoint(idempotent, "PUT"), endpoint(once, "POST"),
			}},
			func() { p.Kill() }, func() { p = start(address) },
		}
	},
}

// arrival is a call that reached the server.
type arrival struct {
	CallID string `json:"call_id"`
	PID    int    `json:"pid"`
	// Cancelled marks a line that is no arrival.
	Cancelled bool `json:"cancelled"`
}

func arrivals(t *testing.T, journal string) (all []arrival) {
	t.Helper()
	raw, err := os.ReadFile(journal)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var a arrival
		if !strings.HasSuffix(line, "\n") {
			continue // it is being written
		}
		harness.Must(t, json.Unmarshal([]byte(line), &a))
		if !a.Cancelled {
			all = append(all, a)
		}
	}
	return all
}

// serveAPI is an HTTP API. A call is written down when it arrives, and answered when its file exists.
func serveAPI() {
	l, err := net.Listen("tcp", os.Getenv("ADDRESS"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("{\"address\":%q}\n", l.Addr())
	panic(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		note(fmt.Sprintf(`{"call_id":%q,"pid":%d}`, q.Get("call_id"), os.Getpid()))
		harness.Eventually(time.Hour, func() bool { // as the tool server of the other rows
			_, err := os.Stat(q.Get("release_file"))
			return err == nil
		})
		fmt.Fprint(w, "{}")
	})))
}

// trial is the calls of a source and what became of them.
type trial struct {
	t       *testing.T
	m       *mesh
	journal string
	began   atomic.Int64

	mu  sync.Mutex
	end map[string]told // by key
}

// call makes a call that the server answers when the file exists. Its key begins with its class.
func (r *trial) call(class, key, file string) {
	r.began.Add(1)
	arguments := fmt.Sprintf(`{"call_id":%q,"release_file":%q}`, key, file)
	got := r.m.callWith("x", "slow_"+class, key, arguments)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end[key] = got
}

// TestARestartUnderLoad kills and restarts a source again and again while calls of all classes are made. No call is lost that may be sent
// again: READ and IDEMPOTENT calls get their answer, and so do ONCE calls that had not been sent. No ONCE call arrives twice, and none that
// arrived and was not answered is taken for one that was not made. The server's journal, the ledger and the answers agree.
func TestARestartUnderLoad(t *testing.T) {
	for name, start := range killables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := &trial{t: t, journal: filepath.Join(dir, "journal"), end: map[string]told{}, m: newMesh(t, func(c *registry.Config) {
				def := config.Default[registry.Config]()
				c.CallRetry, c.BreakerFailures, c.RestartPatience = 20*time.Millisecond, def.BreakerFailures, time.Minute
			})}
			k := start(t, r.journal)
			k.source.Name = "x"
			r.m.source(k.source)
			now := filepath.Join(dir, "now")
			harness.Must(t, os.WriteFile(now, nil, 0o600))
			rounds := restarts
			if testmain.Whole() {
				rounds = restartsAtNight
			}
			for round := range rounds {
				r.restart(k, round, now, filepath.Join(dir, fmt.Sprint("release", round)))
			}
			r.check()
		})
	}
}

// restart has calls of all classes in progress when the server is killed, and others begin until it is back.
func (r *trial) restart(k killable, round int, now, later string) {
	r.t.Helper()
	var waiting, load sync.WaitGroup
	for _, class := range []string{read, idempotent, once} {
		for n := range held {
			waiting.Go(func() { r.call(class, fmt.Sprintf("%s/%d/held%d", class, round, n), later) })
		}
	}
	testpoll.Until(r.t, "the held calls arrive", func() bool {
		n := 0
		for _, a := range arrivals(r.t, r.journal) {
			if strings.Contains(a.CallID, fmt.Sprintf("/%d/held", round)) {
				n++
			}
		}
		return n == 3*held
	})
	stop := make(chan struct{})
	for c := range callers {
		load.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					class := []string{read, idempotent, once}[(c+n)%3]
					r.call(class, fmt.Sprintf("%s/%d/load%d.%d", class, round, c, n), now)
				}
			}
		})
	}
	from := r.began.Load()
	testpoll.Until(r.t, "calls are made", func() bool { return r.began.Load() >= from+3*callers })
	k.kill()
	began := r.began.Load()
	for _, class := range []string{read, idempotent, once} { // all callers may be waiting
		waiting.Go(func() { r.call(class, fmt.Sprintf("%s/%d/late", class, round), now) })
	}
	testpoll.Until(r.t, "calls begin while the server is gone", func() bool { return r.began.Load() >= began+3 })
	harness.Must(r.t, os.WriteFile(later, nil, 0o600))
	k.restart()
	waiting.Wait()
	close(stop)
	load.Wait()
}

func (r *trial) check() {
	r.t.Helper()
	acts := map[string]int{}
	for _, a := range arrivals(r.t, r.journal) {
		acts[a.CallID]++
	}
	rows := r.ledger()
	kinds := map[string]int{}
	for key, got := range r.end {
		class, _, _ := strings.Cut(key, "/")
		n, row := acts[key], rows[key]
		isHeld := strings.Contains(key, "/held")
		wrong := ""
		switch answer := got.String(); {
		case answer == "result" && (n == 0 || enum.Name(row.GetState()) != "done"):
			wrong = "an answer without a call"
		case class == once && n > 1:
			wrong = "a ONCE call was repeated"
		case class == once && answer == "unknown" && enum.Name(row.GetState()) == "unresolved" && !(isHeld && n != 1):
		case class == once && isHeld:
			wrong = "the outcome of a held call is not unknown"
		case answer != "result":
			wrong = "a call was lost"
		case isHeld && n < 2:
			wrong = "a held call was not sent again"
		case int(row.GetAttempts()) < n:
			wrong = "the ledger counts fewer attempts"
		}
		if wrong != "" {
			r.t.Errorf("%s: %s: arrived %d times, told %s %q, ledger %s after %d attempts", key, wrong, n, got, got.text, row.GetState(),
				row.GetAttempts())
		}
		kinds[fmt.Sprintf("%s %s, arrived %d times", class, got, n)]++
	}
	if len(rows) != len(r.end) {
		r.t.Errorf("%d calls have %d rows in the ledger", len(r.end), len(rows))
	}
	r.t.Logf("%d calls: %v", len(r.end), kinds)
}

// ledger returns all rows by key.
func (r *trial) ledger() map[string]*registryv1.Execution {
	r.t.Helper()
	rows := map[string]*registryv1.Execution{}
	for token := ""; ; {
		list, err := r.m.tools.ListExecutions(r.t.Context(), &registryv1.ListExecutionsRequest{PageSize: 1000, PageToken: token})
		harness.Must(r.t, err)
		for _, e := range list.GetExecutions() {
			rows[e.GetKey()] = e
		}
		if token = list.GetNextPageToken(); token == "" {
			return rows
		}
	}
}
