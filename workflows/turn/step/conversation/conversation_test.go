package conversation_test

import (
	"fmt"
	"strings"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
)

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
		for _, m := range conversation.WithResults(row.in) {
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
		if got := fmt.Sprint(conversation.Adopted(row.given, "own")); got != fmt.Sprint(row.want) {
			t.Errorf("%s: %v", name, got)
		}
		if before != fmt.Sprint(row.given) {
			t.Errorf("%s: the conversation itself was changed", name)
		}
	}
}
