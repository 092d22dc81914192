package step

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
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
	w := &work{turn: contract.TurnInput{TurnID: "trn_1"}, ref: &turnv1.StepRef{Key: "infer-3"}}
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
			ids := newCallIDs(w, history, row.truncated)
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

func TestOpenCallsAreAnswered(t *testing.T) {
	call := func(ids ...string) *turnv1.Message {
		m := &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, TurnId: "t"}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, &turnv1.ToolCall{CallId: id})
		}
		return m
	}
	answer := func(id string) *turnv1.Message {
		return &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, TurnId: "t", ToolResult: &turnv1.ToolResult{CallId: id}}
	}
	user := &turnv1.Message{Role: turnv1.Role_ROLE_USER}
	for _, row := range []struct {
		name string
		in   []*turnv1.Message
		want string
	}{
		{"nothing open", []*turnv1.Message{user, call("a"), answer("a"), user}, "user call a user"},
		{"all open, at the end", []*turnv1.Message{user, call("a", "b")}, "user call a! b!"},
		{"one open, behind the answers", []*turnv1.Message{call("a", "b"), answer("b"), user}, "call b a! user"},
		{"two messages", []*turnv1.Message{call("a"), call("b"), answer("b")}, "call a! call b"},
	} {
		var words []string
		for _, m := range withAnswers(row.in) {
			switch {
			case m.GetRole() == turnv1.Role_ROLE_USER:
				words = append(words, "user")
			case m.GetToolResult().GetIsError():
				words = append(words, m.GetToolResult().GetCallId()+"!")
			case m.GetToolResult() != nil:
				words = append(words, m.GetToolResult().GetCallId())
			default:
				words = append(words, "call")
			}
		}
		if got := strings.Join(words, " "); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

func TestCallHash(t *testing.T) {
	hash := func(tool, arguments string) string {
		return contract.CallHash(&turnv1.ToolCall{Tool: tool, ArgumentsJson: arguments})
	}
	if hash("t", `{"a":1,"b":[2.50]}`) != hash("t", ` {"b":[2.50], "a":1 }`) {
		t.Error("order and white space matter")
	}
	for _, other := range []string{`{"a":2}`, `{"a":1}x`, `{"a":1`} {
		if hash("t", `{"a":1}`) == hash("t", other) {
			t.Errorf("%s looks the same", other)
		}
	}
	if hash("t", `{}`) == hash("u", `{}`) {
		t.Error("tools look the same")
	}
}

func TestAWaitMovesTheDeadline(t *testing.T) {
	pinned := time.Unix(1_800_000_000, 0)
	w := &work{ref: &turnv1.StepRef{}, loaded: &sessionsv1.LoadTurnResponse{Surface: &turnv1.Surface{DeadlineMicros: pinned.UnixMicro()}}}
	if got := w.deadline(); !got.Equal(pinned) {
		t.Errorf("deadline %v", got)
	}
	w.ref.DeadlineMicros = pinned.Add(time.Hour).UnixMicro()
	if got := w.deadline(); !got.Equal(pinned.Add(time.Hour)) {
		t.Errorf("moved deadline %v", got)
	}
}

func TestWhatARerunTookOverIsItsOwn(t *testing.T) {
	turns := func(ids ...string) (out []*turnv1.Message) {
		for _, id := range ids {
			out = append(out, &turnv1.Message{TurnId: id})
		}
		return out
	}
	for name, row := range map[string]struct{ given, want []*turnv1.Message }{
		"other turns keep their messages": {turns("a", "b", "own", "own"), turns("a", "b", "own", "own")},
		"what stands behind the request":  {turns("a", "own", "old", "older", "own"), turns("a", "own", "own", "own", "own")},
		"a summary is of no turn":         {turns("", "own", "", "old"), turns("", "own", "", "own")},
		"a request that is not there":     {turns("a", "b"), turns("a", "b")},
	} {
		before := fmt.Sprint(row.given)
		if got := fmt.Sprint(adopted(row.given, "own")); got != fmt.Sprint(row.want) {
			t.Errorf("%s: %v", name, got)
		}
		if before != fmt.Sprint(row.given) {
			t.Errorf("%s: the conversation itself was changed", name)
		}
	}
}
