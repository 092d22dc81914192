package mcpbridge

import (
	"slices"
	"testing"
)

func TestAWatcherThatFallsBehindIsCutOff(t *testing.T) {
	h := newHub()
	_, slow := h.watch()
	_, quick := h.watch()
	for range watchBuffer + 1 {
		h.publish(event{server: "a", change: connected})
		<-quick.events
	}
	n := 0
	for range slow.events {
		n++
	}
	if n != watchBuffer || !h.leave(slow) {
		t.Errorf("got %d events, behind %v", n, slow.behind)
	}
	if h.leave(quick) {
		t.Error("the quick watcher fell behind")
	}
}

func TestAWatchBeginsWithThePresentState(t *testing.T) {
	h := newHub()
	h.publish(event{server: "b", change: connected})
	h.publish(event{server: "a", change: connected})
	h.publish(event{server: "a", change: toolsChanged})
	h.publish(event{server: "a", change: lost, detail: "gone"})
	h.publish(event{server: "c", change: connected})
	h.forget("c")
	state, w := h.watch()
	want := []event{{server: "a", change: lost, detail: "gone"}, {server: "b", change: connected}}
	if !slices.Equal(state, want) {
		t.Errorf("got %v", state)
	}
	h.close()
	if _, ok := <-w.events; ok {
		t.Error("the watcher outlives the hub")
	}
}

func TestRetryAfterIsRead(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "7": 7, "-3": 0, "soon": 0, "99999999": 86400, "Mon, 02 Jan 2006 15:04:05 GMT": 0} {
		if got := retryAfter(text).Seconds(); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
