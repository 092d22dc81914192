package question

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestEventsThatAsk(t *testing.T) {
	for _, tc := range []struct {
		name string
		ev   *turnv1.Event
		want Question
	}{
		{
			name: "an approval", want: Question{ID: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, turn: "trn_1", call: "c1", hash: "h"},
			ev: &turnv1.Event{TurnId: "trn_1", Data: &turnv1.Event_ApprovalRequested{ApprovalRequested: &turnv1.ApprovalRequested{
				ApprovalId: "apr_1", CallId: "c1", ArgumentsHash: "h",
			}}},
		},
		{
			name: "input", want: Question{ID: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL, turn: "trn_1", call: "c1"},
			ev: &turnv1.Event{TurnId: "trn_1", Data: &turnv1.Event_InputRequested{InputRequested: &turnv1.InputRequested{
				ApprovalId: "apr_1", CallId: "c1", Kind: turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL,
			}}},
		},
		{
			name: "a call of unknown outcome", want: Question{ID: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_RESOLUTION, turn: "trn_1", call: "c1"},
			ev: &turnv1.Event{TurnId: "trn_1", Data: &turnv1.Event_ToolCallUnresolved{ToolCallUnresolved: &turnv1.ToolCallUnresolved{
				ApprovalId: "apr_1", CallId: "c1",
			}}},
		},
		{
			name: "a login", want: Question{ID: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_AUTHORIZATION, turn: "trn_1", call: "c1"},
			ev: &turnv1.Event{TurnId: "trn_1", Data: &turnv1.Event_AuthRequired{AuthRequired: &turnv1.AuthRequired{
				ApprovalId: "apr_1", CallId: "c1",
			}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := By(tc.ev)
			testwant.Equal(t, "asks", ok, true)
			testwant.Equal(t, "the question", got, tc.want)
		})
	}
	for name, ev := range map[string]*turnv1.Event{
		"a message": {Data: &turnv1.Event_MessageStarted{}},
		"a call of unknown outcome that is not repeated": {
			Data: &turnv1.Event_ToolCallUnresolved{ToolCallUnresolved: &turnv1.ToolCallUnresolved{CallId: "c1"}},
		},
	} {
		if q, ok := By(ev); ok {
			t.Errorf("%s asks %+v", name, q)
		}
	}
}

func TestEventsThatEndAQuestion(t *testing.T) {
	for want, ev := range map[string]*turnv1.Event{
		"apr_1": {Data: &turnv1.Event_ApprovalResolved{ApprovalResolved: &turnv1.ApprovalResolved{ApprovalId: "apr_1"}}},
		"apr_2": {Data: &turnv1.Event_InputProvided{InputProvided: &turnv1.InputProvided{ApprovalId: "apr_2"}}},
		"apr_3": {Data: &turnv1.Event_ToolCallResolved{ToolCallResolved: &turnv1.ToolCallResolved{ApprovalId: "apr_3"}}},
		"apr_4": {Data: &turnv1.Event_AuthResolved{AuthResolved: &turnv1.AuthResolved{ApprovalId: "apr_4"}}},
		"":      {Data: &turnv1.Event_ApprovalRequested{ApprovalRequested: &turnv1.ApprovalRequested{ApprovalId: "apr_5"}}},
	} {
		testwant.Equal(t, "the ended approval", Ended(ev), want)
	}
}

const (
	approval      = turnv1.WaitKind_WAIT_KIND_APPROVAL
	input         = turnv1.WaitKind_WAIT_KIND_INPUT
	clientTool    = turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL
	resolution    = turnv1.WaitKind_WAIT_KIND_RESOLUTION
	authorization = turnv1.WaitKind_WAIT_KIND_AUTHORIZATION
)

func asked(t *testing.T, kind turnv1.WaitKind, schema string) Question {
	t.Helper()
	a := &sessionsv1.Approval{Id: "apr_1", TurnId: "trn_1", CallId: "c1", Kind: kind, ArgumentsHash: "h"}
	if schema != "" {
		a.Schema = testwant.Must(canon.ParseStruct([]byte(schema)))
	}
	return In(a)
}

func TestAnswers(t *testing.T) {
	decided := func(decision, comment string) proto.Message {
		return &sessionsv1.DecideApprovalRequest{ApprovalId: "apr_1", Decision: decision, Comment: comment, ArgumentsHash: "h"}
	}
	resolved := func(outcome, result string) proto.Message {
		return &sessionsv1.ResolveToolCallRequest{TurnId: "trn_1", CallId: "c1", Outcome: outcome, Result: result}
	}
	acted := func(action string) proto.Message {
		return &sessionsv1.AnswerApprovalRequest{ApprovalId: "apr_1", Action: action}
	}
	content := func(object string) proto.Message {
		return &sessionsv1.AnswerApprovalRequest{ApprovalId: "apr_1", Content: testwant.Must(canon.ParseStruct([]byte(object)))}
	}
	const (
		oneText   = `{"properties":{"city":{"type":"string"}}}`
		oneNumber = `{"properties":{"count":{"type":"integer"}}}`
		oneFlag   = `{"properties":{"sure":{"type":"boolean"}}}`
		two       = `{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`
	)
	for _, tc := range []struct {
		kind         turnv1.WaitKind
		schema, line string
		want         proto.Message
	}{
		{kind: approval, line: "y", want: decided("approve", "")},
		{kind: approval, line: " YES  looks fine ", want: decided("approve", "looks fine")},
		{kind: approval, line: "approve", want: decided("approve", "")},
		{kind: approval, line: "n too much", want: decided("deny", "too much")},
		{kind: approval, line: "No", want: decided("deny", "")},
		{kind: approval, line: "deny", want: decided("deny", "")},
		{kind: approval, line: "maybe"},
		{kind: approval, line: ""},

		{kind: clientTool, line: " 42 apples ", want: &sessionsv1.AnswerApprovalRequest{ApprovalId: "apr_1", Result: "42 apples"}},

		{kind: resolution, line: "done receipt 7", want: resolved("done", "receipt 7")},
		{kind: resolution, line: "not_done", want: resolved("not_done", "")},
		{kind: resolution, line: "give_up", want: resolved("give_up", "")},
		{kind: resolution, line: "give_up because"},
		{kind: resolution, line: "Done"},

		{kind: authorization, line: "retry", want: acted("accept")},
		{kind: authorization, line: "Decline", want: acted("decline")},
		{kind: authorization, line: "retry now"},

		{kind: input, line: "  ", want: acted("decline")},
		{kind: input, line: `{"n":9007199254740993}`, want: content(`{"n":9007199254740993}`)},
		{kind: input, line: "[1]", want: content(`{"answer":"[1]"}`)},
		{kind: input, schema: oneText, line: "7", want: content(`{"city":"7"}`)},
		{kind: input, schema: oneNumber, line: "7", want: content(`{"count":7}`)},
		{kind: input, schema: oneNumber, line: "seven", want: content(`{"count":"seven"}`)}, // the server explains what is wrong
		{kind: input, schema: oneFlag, line: "true", want: content(`{"sure":true}`)},
		{kind: input, schema: two, line: "x", want: content(`{"answer":"x"}`)},
	} {
		t.Run(strings.TrimSpace(tc.kind.String()+" "+tc.line), func(t *testing.T) {
			got, ok := asked(t, tc.kind, tc.schema).Answer(tc.line)
			testwant.Equal(t, "is an answer", ok, tc.want != nil)
			if ok {
				testwant.Equal(t, "the request", got, tc.want)
			}
		})
	}
}

func TestEachKindHasItsPrompt(t *testing.T) {
	seen := map[string]turnv1.WaitKind{}
	for _, kind := range []turnv1.WaitKind{approval, input, clientTool, resolution, authorization} {
		text := asked(t, kind, "").Prompt()
		if other, ok := seen[text]; ok || text == "" {
			t.Errorf("%v and %v are asked for with %q", kind, other, text)
		}
		seen[text] = kind
	}
}

// cut is a reader that fails after its text.
type cut struct{ io.Reader }

var errCut = errors.New("the line is cut")

func (c cut) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return n, err
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, tc := range []struct {
		name string
		in   io.Reader
		want []string
		err  bool
	}{
		{name: "nothing", in: strings.NewReader("")},
		{name: "lines", in: strings.NewReader("one\r\n\ntwo"), want: []string{"one", "", "two"}},
		{name: "the mark of a pipe on Windows", in: strings.NewReader("\ufeffone\n\ufefftwo\n"), want: []string{"one", "\ufefftwo"}},
		{name: "a line that is too long", in: strings.NewReader("one\n" + long + "\n"), want: []string{"one"}, err: true},
		{name: "a failing reader", in: cut{strings.NewReader("one\n")}, want: []string{"one"}, err: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lines, failed := Lines(t.Context(), tc.in)
			var got []string
			for line := range lines {
				got = append(got, line)
			}
			testwant.Equal(t, "the lines", got, tc.want)
			testwant.Equal(t, "it fails", <-failed != nil, tc.err)
		})
	}
}

func TestLinesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	lines, failed := Lines(ctx, strings.NewReader("one\ntwo\n"))
	testwant.Equal(t, "the first line", <-lines, "one")
	cancel()
	for range lines { // at most the one that was read ahead
	}
	testwant.Equal(t, "the end", <-failed, nil)
}
