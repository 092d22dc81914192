package conversation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// said returns what messages say; the results of calls stand in brackets.
func said(messages []*turnv1.Message) (out []string) {
	for _, m := range messages {
		if r := m.GetToolResult(); r != nil {
			out = append(out, "["+conversation.Text(r.GetContent())+"]")
		} else {
			out = append(out, conversation.Text(m.GetContent()))
		}
	}
	return out
}

func call(id string) *turnv1.ToolCall {
	return &turnv1.ToolCall{CallId: id, Tool: "calc__add", ArgumentsJson: "{}"}
}

// result has a tool step done with a result.
func result(k *sessionstest.Kit, t store.Turn, key, id, text string) {
	k.Helper()
	k.Commit(t, key, func(c *step.Commit) {
		c.Messages = []*turnv1.Message{{
			Role:       turnv1.Role_ROLE_TOOL,
			ToolResult: &turnv1.ToolResult{CallId: id, Content: executiontest.Text(text)},
		}}
	})
}

func window(k *sessionstest.Kit, t store.Turn, limit int) conversation.Window {
	k.Helper()
	w, err := k.Conversations.Window(k.Ctx(), k.Read(t.ID), k.ReadSession(t.SessionID), limit)
	k.Must(err)
	return w
}

func TestTextPartsStandOnLinesOfTheirOwn(t *testing.T) {
	blob := &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{}}}
	parts := slices.Concat(executiontest.Text("a"), []*turnv1.ContentPart{blob}, executiontest.Text(""), executiontest.Text("b\nc"))
	if got := conversation.Text(parts); got != "a\nb\nc" {
		t.Errorf("got %q", got)
	}
	if got := conversation.Text(nil); got != "" {
		t.Errorf("nothing says %q", got)
	}
}

func TestAResultStandsBehindItsCallAndACallWithoutOneGetsOne(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	k.Answer(own, "infer-1", "let me see", call("c1"), call("c2"), call("c3"))
	result(k, own, "tool-1.2", "c2", "two")
	result(k, own, "tool-1.1", "c1", "one")
	w := window(k, own, 0)
	want := []string{"hello", "let me see", "[one]", "[two]", "[not executed: the turn ended before this call]"}
	if got := said(w.Messages); !slices.Equal(got, want) || w.Truncated {
		t.Errorf("a model reads %q", got)
	}
}

func TestModelsReadWhatTheirProviderWantsBackAndNoEventHasIt(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	back := &turnv1.Verbatim{Issuer: "x", ReasoningFields: []string{"reasoning_content"}, Opaque: []byte("signature")}
	k.Commit(own, "infer-1", func(c *step.Commit) {
		m := &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("hi"), Verbatim: back}
		c.Messages = []*turnv1.Message{m}
		c.Events = []*turnv1.Event{{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m}}}}
	})
	if m := window(k, own, 0).Messages[1]; !proto.Equal(m.GetVerbatim(), back) {
		t.Errorf("a model reads %v", m)
	}
	seen := 0
	for _, e := range k.Events(own.SessionID) {
		if m := e.GetMessageCompleted().GetMessage(); m != nil {
			seen++
			if m.GetVerbatim() != nil || conversation.Text(m.GetContent()) != "hi" {
				t.Errorf("an event has %v", m)
			}
		}
	}
	if seen != 1 {
		t.Errorf("%d events", seen)
	}
}

func TestATurnReadsOnlyWhatWasSaidBeforeIt(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	first, second := k.Turn(ses, "one"), k.Turn(ses, "two")
	k.Begin(first, &turnv1.Surface{})
	k.Answer(first, "infer-1", "first answer")
	if got := said(window(k, first, 0).Messages); !slices.Equal(got, []string{"one", "first answer"}) {
		t.Errorf("the first turn reads %q", got)
	}
	k.Finish(first)
	if got := said(window(k, second, 0).Messages); !slices.Equal(got, []string{"one", "first answer", "two"}) {
		t.Errorf("the second turn reads %q", got)
	}
}

// TestAWindowIsTheNewestPartAndBeginsWithAUser reads a conversation with windows of all sizes.
func TestAWindowIsTheNewestPartAndBeginsWithAUser(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	for i := range 4 {
		old := k.Turn(ses, fmt.Sprintf("question %d", i))
		k.Begin(old, &turnv1.Surface{})
		k.Answer(old, "infer-1", strings.Repeat("x", 100*i), call("c1"))
		result(k, old, "tool-1.1", "c1", "ok")
		k.Answer(old, "infer-2", fmt.Sprintf("answer %d", i))
		k.Finish(k.Read(old.ID))
	}
	own := k.Turn(ses, "and now?")
	k.Begin(own, &turnv1.Surface{})
	k.Answer(own, "infer-1", "", call("c1"))
	result(k, own, "tool-1.1", "c1", "now")
	whole := said(window(k, own, 0).Messages)
	rapid.Check(t, func(rt *rapid.T) {
		w := window(k, own, rapid.IntRange(1, 4000).Draw(rt, "limit"))
		got := said(w.Messages)
		switch {
		case w.Messages[0].GetRole() != turnv1.Role_ROLE_USER:
			rt.Fatalf("it begins with %v", w.Messages[0])
		case !slices.Contains(got, "and now?") || got[len(got)-1] != "[now]":
			rt.Fatalf("the turn's own part is missing in %q", got)
		case w.Truncated != (len(got) < len(whole)) || !w.Truncated && !slices.Equal(got, whole):
			rt.Fatalf("it is truncated: %t, with %d of %d messages", w.Truncated, len(got), len(whole))
		case len(got) > 3 && !slices.Equal(got, whole[len(whole)-len(got):]):
			rt.Fatalf("%q is not the end of the conversation", got)
		}
		for i, m := range w.Messages {
			if m.GetRole() == turnv1.Role_ROLE_TOOL && len(w.Messages[i-1].GetToolCalls()) == 0 {
				rt.Fatalf("the result %d stands without its call", i)
			}
		}
	})
}

func TestResultsMoveToTheirCallsAndNothingIsLost(t *testing.T) {
	user := func(text string) *turnv1.Message {
		return &turnv1.Message{TurnId: "t", Role: turnv1.Role_ROLE_USER, Content: executiontest.Text(text)}
	}
	asks := func(text string, ids ...string) *turnv1.Message {
		m := &turnv1.Message{TurnId: "t", Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text(text)}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, call(id))
		}
		return m
	}
	answers := func(id string) *turnv1.Message {
		r := &turnv1.ToolResult{CallId: id, Content: executiontest.Text(id)}
		return &turnv1.Message{TurnId: "t", Role: turnv1.Role_ROLE_TOOL, ToolResult: r}
	}
	other := answers("a")
	other.TurnId = "another turn"
	for _, row := range []struct {
		name string
		in   []*turnv1.Message
		want []string
	}{
		{"nothing", nil, nil},
		{"in order", []*turnv1.Message{asks("x", "a", "b"), answers("a"), answers("b")}, []string{"x", "[a]", "[b]"}},
		{"in another order", []*turnv1.Message{asks("x", "a", "b"), answers("b"), answers("a")}, []string{"x", "[a]", "[b]"}},
		{"with input between", []*turnv1.Message{asks("x", "a"), user("wait"), answers("a")}, []string{"x", "[a]", "wait"}},
		{"one is missing", []*turnv1.Message{asks("x", "a", "b"), user("u"), answers("b")}, []string{"x", "[b]", "u"}},
		{"without a call", []*turnv1.Message{user("u"), answers("a")}, []string{"u", "[a]"}},
		{"before its call", []*turnv1.Message{answers("a"), asks("x", "a")}, []string{"[a]", "x"}},
		{"of another turn", []*turnv1.Message{asks("x", "a"), user("u"), other}, []string{"x", "u", "[a]"}},
	} {
		if got := said(conversation.ResultsAtCalls(row.in)); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// compact has a turn summarize what was said up to a message.
func compact(k *sessionstest.Kit, t store.Turn, key, summary string, to string, kept ...string) {
	k.Helper()
	k.Commit(t, key, func(c *step.Commit) {
		c.Events = []*turnv1.Event{{Data: &turnv1.Event_ContextCompacted{ContextCompacted: &turnv1.ContextCompacted{
			MessageId: "msg_" + key, Summary: summary, ToMessageId: to, KeptMessageIds: kept, Messages: 1,
		}}}}
	})
}

func TestASummaryStandsForWhatWasCompacted(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	first := k.Turn(ses, "one")
	k.Begin(first, &turnv1.Surface{})
	id := k.Answer(first, "infer-1", "first answer").Outcome.GetMessageId()
	k.Finish(first)
	own := k.Turn(ses, "two")
	k.Begin(own, &turnv1.Surface{})
	compact(k, own, "compact-1", "they greeted", id, id)
	w := window(k, own, 0)
	got := said(w.Messages)
	testwant.Len(t, "a model reads: got", got, 3)
	testwant.Equal(t, `a model reads: Contains(got[0], "they greeted")`, strings.Contains(got[0], "they greeted"), true)
	testwant.Equal(t, "a model reads: [1]", got[1], "first answer")
	testwant.Equal(t, "a model reads: [2]", got[2], "two")
	testwant.Equal(t, "a model reads: Compacted", w.Compacted, 2)
	if size := k.ReadSession(ses.ID).ContextBytes; size <= int64(len("they greeted")) || size > 1000 {
		t.Errorf("the context has %d bytes", size)
	}
	second := k.Answer(own, "infer-1", "second answer").Outcome.GetMessageId()
	compact(k, own, "compact-2", "they talked", second)
	if w := window(k, own, 0); w.Compacted != 1 || !w.Truncated || strings.Contains(said(w.Messages)[0], "greeted") {
		t.Errorf("after the second summary a model reads %q", said(w.Messages))
	}
}

func TestAForkTakesWhatIsComplete(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	first := k.Turn(ses, "one")
	k.Begin(first, &turnv1.Surface{})
	k.Answer(first, "infer-1", "first answer")
	k.Finish(first)
	own := k.Turn(ses, "two")
	k.Begin(own, &turnv1.Surface{})
	done := []string{"one", "first answer"}
	at := func(seq uint32) []string {
		k.Helper()
		p, err := k.Conversations.At(k.Ctx(), k.ReadSession(ses.ID), seq)
		k.Must(err)
		return said(p.Messages)
	}
	if got := at(k.ReadSession(ses.ID).LastSeq); !slices.Equal(got, done) {
		t.Errorf("of a turn without an answer it takes %q", got)
	}
	k.Answer(own, "infer-1", "let me see", call("c1"))
	if got := at(k.ReadSession(ses.ID).LastSeq); !slices.Equal(got, done) {
		t.Errorf("of a turn with an open call it takes %q", got)
	}
	result(k, own, "tool-1.1", "c1", "three")
	if got, want := at(k.ReadSession(ses.ID).LastSeq), append(done, "two", "let me see", "[three]"); !slices.Equal(got, want) {
		t.Errorf("of a turn whose call has its result it takes %q", got)
	}
	if got := at(0); !slices.Equal(got, done) {
		t.Errorf("of finished turns it takes %q", got)
	}
	if got := at(1); len(got) != 0 {
		t.Errorf("of the first event it takes %q", got)
	}
}

func TestAForkOfTooMuchIsRefused(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{MaxCopyBytes: 100})
	own := k.Begun(strings.Repeat("x", 101))
	k.Answer(own, "infer-1", "hi")
	k.Finish(own)
	_, err := k.Conversations.At(k.Ctx(), k.ReadSession(own.SessionID), 0)
	k.WantFault(err, faultv1.Reason_REASON_TOO_LARGE)
}
