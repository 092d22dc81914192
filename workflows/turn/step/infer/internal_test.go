package infer

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

func TestDeltasAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []*turnv1.Event
		d := &deltas{pause: 25 * time.Millisecond, messageID: "msg", publish: func(e *turnv1.Event) { got = append(got, e) }}
		published := func() []*turnv1.Event {
			d.mu.Lock()
			defer d.mu.Unlock()
			return got
		}
		d.add(chunk{text: "a"}) // at once
		synctest.Wait()
		if first := published(); len(first) != 1 || first[0].GetMessageDelta().GetText() != "a" {
			t.Fatalf("first = %v", first)
		}
		d.add(chunk{text: "b"})
		d.add(chunk{text: ""}) // nothing
		d.add(chunk{text: "c"})
		d.add(chunk{what: reasoningChunk, text: "r"})
		d.add(chunk{text: "d"})
		synctest.Wait()
		if early := published(); len(early) != 1 {
			t.Fatalf("published before the pause was over: %v", early)
		}
		time.Sleep(25 * time.Millisecond)
		synctest.Wait()
		var texts []string
		for _, e := range published() {
			texts = append(texts, e.GetMessageDelta().GetText()+e.GetReasoningDelta().GetText())
		}
		if strings.Join(texts, " ") != "a bc r d" {
			t.Errorf("published %v", texts)
		}
		time.Sleep(time.Second)
		d.add(chunk{text: "e"}) // after a silence at once again
		if n, first := d.close(); n != 5 || first.IsZero() || published()[4].GetDelta() != 5 {
			t.Errorf("closed with %d deltas, %v", n, got)
		}
	})
}

func TestWhatIsPendingGoesOutAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n int
		d := &deltas{pause: time.Hour, publish: func(*turnv1.Event) { n++ }}
		d.add(chunk{text: "a"})
		d.add(chunk{what: argumentsChunk, callID: "1", text: "b"})
		d.add(chunk{what: argumentsChunk, callID: "2", text: "c"})
		if total, _ := d.close(); total != 3 || n != 3 {
			t.Errorf("%d published, %d counted", n, total)
		}
	})
}

func TestCallIDs(t *testing.T) {
	w := &infer{Work: &step.Work{Turn: contract.TurnInput{TurnID: "trn_1"}, Ref: &turnv1.StepRef{Key: "infer-3"}}}
	history := []*turnv1.Message{
		{TurnId: "trn_1", ToolCalls: []*turnv1.ToolCall{{CallId: "used"}}},
		{TurnId: "trn_0", ToolCalls: []*turnv1.ToolCall{{CallId: "old"}}},
	}
	for _, row := range []struct {
		name, own, want string
		truncated       bool
	}{
		{name: "a good id is kept", own: "call_Ab12-x", want: "call_Ab12-x"},
		{name: "an empty id is replaced", want: "call_3_1"},
		{name: "an id of this turn is replaced", own: "used", want: "call_3_1"},
		{name: "another turn's id may come again", own: "old", want: "old"},
		{name: "an id like ours is replaced", own: "call_9_9", want: "call_3_1"},
		{name: "an id that providers refuse is replaced", own: "a b", want: "call_3_1"},
		{name: "a long id is replaced", own: strings.Repeat("x", 65), want: "call_3_1"},
		{name: "without the whole history only ours are sure", own: "fresh", truncated: true, want: "call_3_1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ids := w.newCallIDs(history, row.truncated)
			if got := ids.id(1, row.own); got != row.want {
				t.Errorf("id = %q, want %q", got, row.want)
			}
			if again := ids.id(1, "something else"); again != row.want {
				t.Errorf("the same call is now %q", again)
			}
			if other := ids.id(2, row.own); other == row.want {
				t.Errorf("two calls are %q", other)
			}
		})
	}
}
