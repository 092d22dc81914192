package crash

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// upScene is `windlass up` on a data directory that outlives its process.
type upScene struct {
	*scene
	process *harness.Embedded
	dir     string
	env     []string
	url     string
}

func newUp(t *testing.T) *upScene {
	t.Helper()
	slot(t)
	u := &upScene{scene: &scene{t: t, prop: newProp(t)}, dir: t.TempDir()}
	u.env = u.model.Env()
	u.process = harness.Up(t, u.dir, u.env)
	u.url = u.process.Client.Base
	u.client = u.process.Client
	return u
}

// again restarts it at the same addresses, so that watchers find it.
func (u *upScene) again() {
	u.t.Helper()
	u.process = harness.Up(u.t, u.dir, u.env, "--http-addr", u.url[len("http://"):])
}

func TestUpKilledWhileModelStreams(t *testing.T) {
	u := newUp(t)
	u.client.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	u.begin("tell a story")
	u.awaitWords()
	u.process.Kill()
	close(u.gate.open)
	killed := time.Now()
	u.again()
	t.Logf("ready again %v after the kill", since(killed))
	u.watcher.UntilType("message.reset")
	t.Logf("it went on %v after the kill", since(killed))
	u.check(promise{modelCalls: [2]float64{1, 2}})
}

// The tool server dies with its bridge here, as stdio servers do: the outcome of the call is unknown.
func TestUpKilledWhileToolRuns(t *testing.T) {
	u := newUp(t)
	u.client.Must("POST", "/v1/sources", harness.JSON{
		"name": "faulty", "kind": "mcp", "command": []string{harness.Bin(t, "examples/faulty"), "--ledger", u.ledger},
	})
	u.client.Must("POST", "/v1/agents", harness.JSON{"id": "a", "tools": []string{"faulty__*"}})
	u.begin(useTool)
	u.awaitTool()
	killed := time.Now()
	u.process.Kill()
	u.again()
	t.Logf("ready again %v after the kill", since(killed))
	u.check(promise{modelCalls: [2]float64{2, 2}, toolCalls: 1, toolCode: unknown, toolText: "not known"})
	t.Logf("the turn ended %v after the kill", since(killed))
}
