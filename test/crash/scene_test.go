package crash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// slots limits the concurrent meshes: each is nine processes.
var slots = make(chan struct{}, 3)

func slot(t *testing.T) {
	t.Helper()
	t.Parallel()
	slots <- struct{}{}
	t.Cleanup(func() { <-slots })
}

// gate stops a model in the middle of its answer until the test opens it for good.
type gate struct {
	once    sync.Once
	reached chan struct{}
	open    chan struct{}
}

func newGate() *gate { return &gate{reached: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) stopAfter(n int) func(int, <-chan struct{}) {
	return func(sent int, done <-chan struct{}) {
		if sent != n {
			return
		}
		g.once.Do(func() { close(g.reached) })
		select {
		case <-g.open:
		case <-done:
		}
	}
}

var (
	words  = strings.SplitAfter("one two three four five six seven eight nine ten", " ")
	answer = strings.Join(words, "")
)

// scene is a mesh with one agent, and a turn in progress.
type scene struct {
	*harness.Mesh
	t testing.TB
	prop
	client  *harness.Client
	session string
	turn    string
	watcher *harness.Watcher
}

// prop is what turns are about: a model that stops in mid-answer, a tool that acts once and waits.
type prop struct {
	model *harness.Model
	gate  *gate
	// ledger is what the tool server wrote down, release the file that lets the tool return.
	ledger, release string
	tools           *harness.Process
	// final is what the ledger holds once nothing acts any more; nil before.
	final []harness.JSON
}

// useTool is the input that makes the model call the tool first.
const useTool = "use the tool"

// newProp makes a model that speaks ten words and waits after the fourth until the gate opens. Asked to use the tool it calls it, and
// then speaks the words without a stop.
func newProp(t testing.TB) prop {
	dir := t.TempDir()
	p := prop{gate: newGate(), ledger: filepath.Join(dir, "ledger"), release: filepath.Join(dir, "release")}
	call := harness.Call{
		ID: "c1", Tool: "faulty__slow_once",
		Args: harness.JSON{"call_id": "once", "argument": "pay", "release_file": p.release},
	}
	p.model = harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		switch last := lastMessage(messages); {
		case last.Str("role") == "tool":
			return harness.Answer{Words: words}
		case last.Str("content") == useTool:
			return harness.Answer{Calls: []harness.Call{call}}
		default:
			return harness.Answer{Words: words, Stop: p.gate.stopAfter(4)}
		}
	})
	return p
}

func lastMessage(messages []any) harness.JSON {
	m, _ := messages[len(messages)-1].(map[string]any)
	return m
}

// serveTools starts the tool server as a process of its own.
func (p *prop) serveTools(t testing.TB) (url string) {
	p.tools = harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0", "--ledger", p.ledger)
	url, _ = p.tools.Ready["url"].(string)
	return url
}

// begin has the turn begin and watches it.
func (s *scene) begin(input string) {
	s.t.Helper()
	s.session = s.client.Session("a")
	s.turn = s.client.Turn(s.session, input)
	s.watcher = s.client.Watch("/v1/turns/" + s.turn + "/events")
}

// modelStreams is a mesh whose model has said four words, and the watcher has seen them.
func modelStreams(t *testing.T, workers int) *scene {
	t.Helper()
	slot(t)
	s := &scene{t: t, prop: newProp(t)}
	s.Mesh = harness.Split(t, harness.SplitOptions{Model: s.model, Workers: workers})
	s.client = s.Client
	s.client.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	s.begin("tell a story")
	s.awaitWords()
	return s
}

func (s *scene) awaitWords() {
	s.t.Helper()
	<-s.gate.reached
	s.watcher.Until("the fourth word", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "four") })
}

// toolRuns is a mesh with a tool under way, as the tool server's ledger says.
func toolRuns(t *testing.T, workers int) *scene {
	t.Helper()
	slot(t)
	s := &scene{t: t, prop: newProp(t)}
	s.Mesh = harness.Split(t, harness.SplitOptions{Model: s.model, Workers: workers})
	s.client = s.Client
	s.client.Must("POST", "/v1/sources", harness.JSON{"name": "faulty", "kind": "mcp", "url": s.serveTools(t)})
	s.client.Must("POST", "/v1/agents", harness.JSON{"id": "a", "tools": []string{"faulty__*"}})
	s.begin(useTool)
	s.awaitTool()
	return s
}

// awaitTool waits until the tool server has the call.
func (s *scene) awaitTool() {
	s.t.Helper()
	s.watcher.UntilType("tool_call.started")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for len(s.acts()) == 0 {
		select {
		case <-tick.C:
		case <-timeout:
			s.t.Fatalf("the tool server gets no call; there were:\n%s", s.watcher.Summary())
		}
	}
}

// acts lists the calls that reached the tool server.
func (p *prop) acts() []harness.JSON {
	if p.final != nil {
		return p.final
	}
	return p.lines(false)
}

// cancels lists the calls that the tool server was told to stop.
func (p *prop) cancels() []harness.JSON { return p.lines(true) }

func (p *prop) lines(cancelled bool) []harness.JSON {
	raw, err := os.ReadFile(p.ledger)
	if err != nil {
		return nil
	}
	var calls []harness.JSON
	for sc := bufio.NewScanner(bytes.NewReader(raw)); sc.Scan(); {
		var call harness.JSON
		if json.Unmarshal(sc.Bytes(), &call) == nil && (call["cancelled"] == true) == cancelled {
			calls = append(calls, call)
		}
	}
	return calls
}

// letToolReturn creates the file that the tool waits for.
func (s *scene) letToolReturn() {
	s.t.Helper()
	if err := os.WriteFile(s.release, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}
