// Package crash kills the processes of a real mesh in mid-turn and checks what users are promised: the turn ends once, no watcher
// misses or repeats an event, no ONCE tool acts twice.
package crash

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// gate stops a model in the middle of its answer until the test opens it; then it stays open.
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

var words = strings.SplitAfter("one two three four five six seven eight nine ten", " ")

// story is a model that speaks ten words and waits after the fourth until the gate opens.
func story(t testing.TB) (*harness.Model, *gate) {
	g := newGate()
	return harness.NewModel(t, func(int, []any) harness.Answer {
		return harness.Answer{Words: words, Stop: g.stopAfter(4)}
	}), g
}

// checkEnd fails unless the turn completed with the whole answer and both the reconnecting watcher and a late one saw it right.
func checkEnd(t testing.TB, c *harness.Client, w *harness.Watcher, session, turn, answer string) {
	t.Helper()
	end := c.Wait(turn)
	if end.Str("status") != "completed" || end.Str("output") != answer {
		t.Errorf("turn = %v, want completed with %q", end, answer)
	}
	live := w.End()
	harness.CheckStream(t, live)
	late := c.Watch("/v1/turns/" + turn + "/events").End()
	harness.CheckStream(t, late)
	if a, b := durable(live), durable(late); a != b {
		t.Errorf("the live watcher saw\n%s\nthe late one\n%s", a, b)
	}
}

func durable(events []harness.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Durable() {
			b.WriteString(e.ID[:len(e.ID)-len(afterDot(e.ID))] + " " + e.Type + "\n")
		}
	}
	return b.String()
}

// afterDot gives the ".N" of a cursor: a durable event in mid-message carries it for a live watcher only.
func afterDot(id string) string {
	if i := strings.IndexByte(id, '.'); i >= 0 {
		return id[i:]
	}
	return ""
}

func TestWorkerKilledWhileModelStreams(t *testing.T) {
	model, g := story(t)
	m := harness.Split(t, harness.SplitOptions{Model: model, Workers: 2})
	m.Client.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	session := m.Client.Session("a")
	turn := m.Client.Turn(session, "tell a story")
	w := m.Client.Watch("/v1/turns/" + turn + "/events")
	<-g.reached
	w.Until("the fourth word", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "four") })

	victim := m.Holder(turn)
	killed := time.Now()
	m.Kill(victim)
	close(g.open)
	w.UntilType("message.reset")
	t.Logf("%s killed; the other worker went on after %v", victim, time.Since(killed).Round(time.Millisecond))
	checkEnd(t, m.Client, w, session, turn, strings.Join(words, ""))
}
