package watch

import (
	"slices"
	"testing"
)

func TestAWatcherThatFallsBehindIsCutOff(t *testing.T) {
	h := NewHub()
	_, slow := h.Watch()
	_, quick := h.Watch()
	for range buffer + 1 {
		h.Publish(Event{Server: "a", Change: Connected})
		<-quick.events
	}
	n := 0
	for range slow.events {
		n++
	}
	if n != buffer || !h.Leave(slow) {
		t.Errorf("got %d events, behind %v", n, slow.behind)
	}
	if h.Leave(quick) {
		t.Error("the quick watcher fell behind")
	}
}

func TestAWatchBeginsWithThePresentState(t *testing.T) {
	h := NewHub()
	h.Publish(Event{Server: "b", Change: Connected})
	h.Publish(Event{Server: "a", Change: Connected})
	h.Publish(Event{Server: "a", Change: ToolsChanged})
	h.Publish(Event{Server: "a", Change: Lost, Detail: "gone"})
	h.Publish(Event{Server: "c", Change: Connected})
	h.Forget("c")
	state, w := h.Watch()
	want := []Event{{Server: "a", Change: Lost, Detail: "gone"}, {Server: "b", Change: Connected}}
	if !slices.Equal(state, want) {
		t.Errorf("got %v", state)
	}
	h.Close()
	if _, ok := <-w.events; ok {
		t.Error("the watcher outlives the hub")
	}
}

func TestTopicsAreDeliveredToTheirWatchers(t *testing.T) {
	var u Updates
	one, list := Topic{URI: "a"}, Topic{List: Prompts}
	both, lists := u.Add([]Topic{one, list}), u.Add([]Topic{list})
	u.Deliver(one)
	u.Deliver(Topic{URI: "of nobody"})
	u.Deliver(list)
	if a, b, c := <-both, <-both, <-lists; a != one || b != list || c != list || len(both)+len(lists) > 0 {
		t.Errorf("got %v, %v and %v", a, b, c)
	}
	for range buffer + 1 {
		u.Deliver(one) // a slow watcher does not hold it up
	}
	if len(both) != buffer {
		t.Errorf("%d changes wait", len(both))
	}
	if last := u.Remove([]Topic{list}, lists); last != nil {
		t.Errorf("left without watchers: %v", last)
	}
	if last := u.Remove([]Topic{one, list}, both); !slices.Equal(last, []string{"a"}) {
		t.Errorf("left without watchers: %v", last)
	}
}
