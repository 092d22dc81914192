package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// hosted is an executor in sh. It writes down each start (mode, attempt, its id of the session, its process). In its first round
// it tells its session and says a word, and waits for the test's leave; then it calls the tool. With the tool's result it answers
// ten words.
const hosted = `#!/bin/sh
read -r invocation
field() { printf '%s' "$invocation" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
echo "$(field mode) $(field attempt) $(field executor_session_id) $$" >> "$DIR/starts"
case "$invocation" in *'"tool_results":[]'*) ;; *)
	echo '{"type":"answer","text":"'"$ANSWER"'"}'
	exit 0 ;;
esac
echo '{"type":"session","executor_session_id":"mine"}'
echo '{"type":"text.delta","text":"thinking"}'
until [ -e "$DIR/go" ]; do sleep 0.05; done
echo '{"type":"tool_call","id":"c1","name":"faulty__slow_once","arguments":{"call_id":"once","argument":"pay","release_file":"'"$RELEASE"'"}}'
echo '{"type":"end"}'
`

// executorThinks is a mesh with a hosted agent in the middle of its first round: it has told its session, and the watcher has
// seen its word.
func executorThinks(t *testing.T, workers int) (*scene, string) {
	t.Helper()
	slot(t)
	s, dir := &scene{t: t, prop: newProp(t)}, t.TempDir()
	program := filepath.Join(dir, "agent.sh")
	if err := os.WriteFile(program, []byte(hosted), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Mesh = harness.Split(t, harness.SplitOptions{Model: s.model, Workers: workers})
	s.client = s.Client
	s.client.Must("POST", "/v1/sources", harness.JSON{"name": "faulty", "kind": "mcp", "url": s.serveTools(t)})
	s.client.Must("POST", "/v1/agents", harness.JSON{"id": "a", "tools": []string{"faulty__*"}, "executor": harness.JSON{
		"kind": "process", "command": []string{"sh", program}, "env": harness.JSON{"DIR": dir, "RELEASE": s.release, "ANSWER": answer},
	}})
	s.letToolReturn()
	s.begin("hello")
	s.watcher.Until("the executor's word", func(e harness.Event) bool { return e.Type == "message.delta" && e.Data.Str("text") == "thinking" })
	return s, dir
}

// starts lists what the executor wrote down, as fields.
func starts(t testing.TB, dir string) [][]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "starts"))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		all = append(all, strings.Fields(line))
	}
	return all
}

// resumed checks that the round which was broken off was begun again with the executor's session, and the tool acted once.
func (s *scene) resumed(dir string) {
	s.t.Helper()
	s.check(promise{modelCalls: [2]float64{2, 2}, toolCalls: 1, toolText: done})
	got := starts(s.t, dir)
	var short []string
	for _, fields := range got {
		short = append(short, strings.Join(fields[:len(fields)-1], " "))
	}
	if fmt.Sprint(short) != "[start 1 resume 2 mine resume 1 mine]" {
		s.t.Errorf("the executor was started %q", got)
	}
}

func (s *scene) letGo(dir string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func TestExecutorKilledInItsRound(t *testing.T) {
	s, dir := executorThinks(t, 1)
	first := starts(t, dir)[0]
	pid, err := strconv.Atoi(first[len(first)-1])
	if err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.watcher.UntilType("message.reset")
	t.Logf("the executor was started again after %v", since(killed))
	s.letGo(dir)
	s.resumed(dir)
}

func TestWorkerKilledWhileExecutorThinks(t *testing.T) {
	s, dir := executorThinks(t, 2)
	killed := time.Now()
	s.Kill(s.Holder(s.turn))
	s.watcher.UntilType("message.reset")
	t.Logf("the other worker started the executor after %v", since(killed))
	s.letGo(dir)
	s.resumed(dir)
}
