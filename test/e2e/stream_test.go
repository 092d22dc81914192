package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// stepper is a model that says one word for each token it gets, "w1 w2 …".
func stepper(t *testing.T, n int) (*harness.Model, chan struct{}) {
	var words []string
	for i := range n {
		words = append(words, fmt.Sprintf("w%d ", i+1))
	}
	steps := make(chan struct{})
	return harness.NewModel(t, func(int, []any) harness.Answer {
		return harness.Answer{Words: words, Stop: func(sent int, done <-chan struct{}) {
			if sent == 0 {
				return
			}
			select {
			case <-steps:
			case <-done:
			}
		}}
	}), steps
}

func has(word string) func(harness.Event) bool {
	return func(e harness.Event) bool {
		return e.Type == "message.delta" && strings.Contains(" "+e.Data.Str("text"), " "+word+" ")
	}
}

func TestHundredReconnectsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	const reconnects = 100
	model, steps := stepper(t, reconnects)
	up := harness.Up(t, t.TempDir(), model.Env())
	turn := up.Client.Turn(up.Client.Session("assistant"), "count")
	w := up.Client.Watch("/v1/turns/" + turn + "/events")
	for i := range reconnects {
		w.Until(fmt.Sprintf("word %d", i+1), has(fmt.Sprintf("w%d", i+1)))
		w.Cut()
		steps <- struct{}{} // the next word comes while the watcher is away, or just as it is back
	}
	end := up.Client.Wait(turn)
	events := w.End()
	harness.CheckStream(t, events)
	var said strings.Builder
	for _, e := range events {
		said.WriteString(map[bool]string{true: e.Data.Str("text")}[e.Type == "message.delta"])
	}
	if said.String() != end.Str("output") {
		t.Errorf("the deltas make %q, the answer is %q", said.String(), end.Str("output"))
	}
	if n := w.Connects(); n < reconnects {
		t.Errorf("the watcher connected %d times", n)
	}
}

func TestThousandWatchersSeeTheSame(t *testing.T) {
	t.Parallel()
	const watchers = 1000
	model, steps := stepper(t, 20)
	up := harness.Up(t, t.TempDir(), model.Env())
	turn := up.Client.Turn(up.Client.Session("assistant"), "count")
	all := make([]*harness.Watcher, watchers)
	for i := range all {
		all[i] = up.Client.Watch("/v1/turns/" + turn + "/events")
	}
	for _, w := range all {
		w.Until("the first word", has("w1"))
	}
	close(steps) // all are there; the rest comes at once
	end := up.Client.Wait(turn)
	var cut int
	for _, w := range all {
		events := w.End()
		harness.CheckStream(t, events)
		if last := events[len(events)-1]; last.Data.Str("output") != end.Str("output") {
			t.Errorf("a watcher's end says %q", last.Data.Str("output"))
		}
		cut += w.Connects() - 1
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d watchers, %d reconnects", watchers, cut)
}
