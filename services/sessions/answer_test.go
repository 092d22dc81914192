package sessions_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
)

const colour = `{"type":"object","properties":{"colour":{"enum":["red","blue"]},"n":{"type":"integer"}},"required":["colour"]}`

func question() *executionv1.WaitRequest {
	return &executionv1.WaitRequest{
		Kind: turnv1.WaitKind_WAIT_KIND_INPUT, CallId: "c1", Tool: "forms__ask", Message: "Which colour?", SchemaJson: colour, State: []byte("s"),
	}
}

func clientCall() *executionv1.WaitRequest {
	return &executionv1.WaitRequest{
		Kind: turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL, CallId: "c2", Tool: "client__open",
		Arguments: sessionstest.Object(map[string]any{"file": "a"}),
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	k := newKit(t, options{})
	w, ask := k.waiting(question())
	run := w.waits("tool-1.1", clientCall())
	leave := w.waits("tool-1.2", approvalOf(nil))
	lost := w.waits("tool-1.3", &executionv1.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_RESOLUTION, CallId: "c4", Tool: "t"})
	red := sessionstest.Object(map[string]any{"colour": "red"})
	for _, row := range []struct {
		name string
		req  *sessionsv1.AnswerApprovalRequest
		code string
		path []string
	}{
		{"a value that is not allowed", &sessionsv1.AnswerApprovalRequest{
			ApprovalId: ask.GetId(),
			Content:    sessionstest.Object(map[string]any{"colour": "green", "n": 1.5}),
		}, "invalid_argument", []string{"content/colour", "content/n"}},
		{"nothing", &sessionsv1.AnswerApprovalRequest{ApprovalId: ask.GetId()}, "invalid_argument", []string{"content/colour"}},
		{
			"a result for a question", &sessionsv1.AnswerApprovalRequest{ApprovalId: ask.GetId(), Result: "red"}, "invalid_argument",
			[]string{"result"},
		},
		{
			"a refusal with an answer", &sessionsv1.AnswerApprovalRequest{ApprovalId: ask.GetId(), Action: "decline", Content: red},
			"invalid_argument",
			[]string{"action"},
		},
		{
			"an answer for a client's tool", &sessionsv1.AnswerApprovalRequest{ApprovalId: run.GetId(), Content: red}, "invalid_argument",
			[]string{"content"},
		},
		{"leave", &sessionsv1.AnswerApprovalRequest{ApprovalId: leave.GetId(), Content: red}, "failed_precondition", nil},
		{"an unknown outcome", &sessionsv1.AnswerApprovalRequest{ApprovalId: lost.GetId(), Result: "x"}, "failed_precondition", nil},
		{
			"an action that is none", &sessionsv1.AnswerApprovalRequest{ApprovalId: ask.GetId(), Action: "shrug"}, "invalid_argument",
			[]string{"action"},
		},
	} {
		_, err := k.approvals.AnswerApproval(t.Context(), row.req)
		t.Run(row.name, func(t *testing.T) { wantFault(t, err, row.code, row.path...) })
	}
	_, err := k.approver(authn.User("bob")).AnswerApproval(t.Context(),
		&sessionsv1.AnswerApprovalRequest{ApprovalId: ask.GetId(), Content: red})
	wantFault(t, err, "not_found")
	if turn := w.now(); len(turn.GetWaitingFor()) != 4 {
		t.Errorf("turn %v", turn)
	}
}

func TestAnswers(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		w, ask := k.waiting(question())
		run, declined := w.waits("tool-1.1", clientCall()), w.waits("tool-1.2", question())
		wait := func(id string) *executionv1.Wait {
			t.Helper()
			got, err := k.asWorker().GetWait(t.Context(), &executionv1.GetWaitRequest{TurnId: w.turn.GetId(), WaitId: id})
			must(t, err)
			return got
		}
		a, err := k.approvals.GetApproval(t.Context(), &sessionsv1.GetApprovalRequest{ApprovalId: ask.GetId()})
		must(t, err)
		if enum.Name(a.GetKind()) != "input" || a.GetMessage() != "Which colour?" || a.GetSchema().GetFields()["required"] == nil {
			t.Errorf("question %v", a)
		}
		answer := &sessionsv1.AnswerApprovalRequest{ApprovalId: ask.GetId(), Content: sessionstest.Object(map[string]any{"colour": "red"})}
		for range 2 { // the same answer again changes nothing
			a, err = k.approvals.AnswerApproval(t.Context(), answer)
			must(t, err)
		}
		if got := wait(ask.GetId()); enum.Name(a.GetStatus()) != "answered" || got.GetAction() != "accept" ||
			string(got.GetRequest().GetState()) != "s" ||
			got.GetContent().GetFields()["colour"].GetStringValue() != "red" || got.GetDecisions()[0].GetSubject() != "local" {
			t.Errorf("answer %v", got)
		}
		answer.Content = sessionstest.Object(map[string]any{"colour": "blue"})
		_, err = k.approvals.AnswerApproval(t.Context(), answer)
		wantFault(t, err, "approval_resolved")

		_, err = k.approvals.AnswerApproval(t.Context(), &sessionsv1.AnswerApprovalRequest{
			ApprovalId: run.GetId(), Result: strings.Repeat("ä", 40_000), IsError: true, StructuredContent: structpb.NewNumberValue(1),
		})
		must(t, err)
		got := wait(run.GetId())
		if r := got.GetResult(); r.GetCallId() != "c2" || r.GetTool() != "client__open" || !r.GetIsError() || !r.GetTruncated() ||
			len(r.GetContent()[0].GetText()) > 64<<10 || r.GetStructuredContent().GetNumberValue() != 1 {
			t.Errorf("result %.200v", r)
		}
		a, err = k.approvals.AnswerApproval(t.Context(), &sessionsv1.AnswerApprovalRequest{ApprovalId: declined.GetId(), Action: "cancel"})
		must(t, err)
		if got := wait(declined.GetId()); enum.Name(a.GetStatus()) != "declined" || got.GetAction() != "cancel" || got.GetContent() != nil {
			t.Errorf("declined %v", got)
		}
		w.result("tool-1.0.2", "c1", "red")
		w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
		if s := k.types(w.turn); strings.Count(s, "input.requested") != 3 || strings.Count(s, "input.provided") != 3 ||
			strings.Count(s, "turn.resumed") != 1 {
			t.Errorf("events %s", s)
		}
		_, err = k.exec.GetWait(t.Context(), &executionv1.GetWaitRequest{TurnId: k.turn(k.session().GetId(), "x").GetId(), WaitId: ask.GetId()})
		wantFault(t, err, "not_found")
	})
}

func TestWhatBecameOfACall(t *testing.T) {
	unknown := func(call string) *executionv1.WaitRequest {
		return &executionv1.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_RESOLUTION, CallId: call, Tool: "bank__pay", ExecutionId: "exe_1"}
	}
	for _, row := range []struct {
		name, outcome, result, status string
		verdict                       turnv1.Verdict
	}{
		{"it was done", "done", "paid", "answered", turnv1.Verdict_VERDICT_ANSWERED},
		{"it was not", "not_done", "", "not_done", turnv1.Verdict_VERDICT_NOT_DONE},
		{"nobody knows", "give_up", "", "given_up", turnv1.Verdict_VERDICT_GIVEN_UP},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t, options{})
			w, ref := k.waiting(unknown("c1"))
			req := &sessionsv1.ResolveToolCallRequest{
				TurnId: w.turn.GetId(), CallId: "c1", Outcome: row.outcome, Result: row.result,
				Comment: "asked the bank",
			}
			for range 2 {
				a, err := k.turns.ResolveToolCall(t.Context(), req)
				must(t, err)
				if enum.Name(a.GetStatus()) != row.status || a.GetId() != ref.GetId() || a.GetExecutionId() != "exe_1" {
					t.Errorf("approval %v", a)
				}
			}
			got, err := k.exec.GetWait(t.Context(), &executionv1.GetWaitRequest{TurnId: w.turn.GetId(), WaitId: ref.GetId()})
			must(t, err)
			if d := got.GetDecisions(); got.GetVerdict() != row.verdict || len(d) != 1 || d[0].GetSubject() != "local" ||
				d[0].GetComment() != "asked the bank" {
				t.Errorf("wait %v", got)
			}
			if (got.GetResult() != nil) != (row.outcome == "done") {
				t.Errorf("result %v", got.GetResult())
			}
			req.Outcome, req.Result = "done", "something else"
			_, err = k.turns.ResolveToolCall(t.Context(), req)
			wantFault(t, err, "approval_resolved")
			w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
			if s := k.types(w.turn); !strings.Contains(s, "tool_call.unresolved turn.paused step.finished tool_call.resolved turn.resumed") {
				t.Errorf("events %s", s)
			}
		})
	}
	k := newKit(t, options{})
	w, _ := k.waiting(unknown("c1"))
	for _, row := range []struct {
		name, call, outcome, result, code string
		path                              []string
	}{
		{"another call", "c2", "done", "", "not_found", nil},
		{"a result of what was not done", "c1", "not_done", "x", "invalid_argument", []string{"result"}},
		{"an outcome that is none", "c1", "maybe", "", "invalid_argument", []string{"outcome"}},
	} {
		_, err := k.turns.ResolveToolCall(t.Context(), &sessionsv1.ResolveToolCallRequest{
			TurnId: w.turn.GetId(), CallId: row.call, Outcome: row.outcome, Result: row.result,
		})
		t.Run(row.name, func(t *testing.T) { wantFault(t, err, row.code, row.path...) })
	}
	_, err := k.as(authn.User("bob")).ResolveToolCall(t.Context(),
		&sessionsv1.ResolveToolCallRequest{TurnId: w.turn.GetId(), CallId: "c1", Outcome: "done"})
	wantFault(t, err, "not_found")
}

// bomb is 30 schemas, each of which applies the next twice: 2^30 evaluations of one object.
func bomb() map[string]any {
	defs := map[string]any{"d30": map[string]any{"type": "object"}}
	for i := range 30 {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
		defs[fmt.Sprintf("d%d", i)] = map[string]any{"allOf": []any{next, next}}
	}
	return map[string]any{"type": "object", "$defs": defs, "$ref": "#/$defs/d0"}
}

func TestClientTools(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	ses := k.session().GetId()
	tool := func(name string, schema map[string]any) *sessionsv1.ClientTool {
		out := &sessionsv1.ClientTool{Name: name, Description: "opens"}
		if schema != nil {
			out.InputSchema = sessionstest.Object(schema)
		}
		return out
	}
	turn, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{
		SessionId: ses, Input: "hello", Tools: []*sessionsv1.ClientTool{tool("open", map[string]any{"type": "object"}), tool("close", nil)},
	})
	must(t, err)
	loaded, err := k.asWorker().LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	if got := loaded.GetClientTools(); len(got) != 2 || got[0].GetName() != "open" || got[0].GetInputSchema() == nil ||
		got[1].GetDescription() != "opens" {
		t.Errorf("tools %v", got)
	}
	for _, row := range []struct {
		name string
		tool []*sessionsv1.ClientTool
		path string
	}{
		{"twice", []*sessionsv1.ClientTool{tool("a", nil), tool("a", nil)}, "tools[1].name"},
		{"no name", []*sessionsv1.ClientTool{tool("", nil)}, "tools[0].name"},
		{"a name that models refuse", []*sessionsv1.ClientTool{tool("a b", nil)}, "tools[0].name"},
		{"no schema", []*sessionsv1.ClientTool{tool("a", map[string]any{"type": 7})}, "tools[0].input_schema"},
		{"a schema of something else", []*sessionsv1.ClientTool{tool("a", map[string]any{"type": "string"})}, "tools[0].input_schema"},
		{"a schema that expands", []*sessionsv1.ClientTool{tool("a", bomb())}, "tools[0].input_schema"},
		{
			"a reference into the world",
			[]*sessionsv1.ClientTool{tool("a", map[string]any{"$ref": "https://example.com/x"})},
			"tools[0].input_schema",
		},
	} {
		_, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses, Input: "x", Tools: row.tool})
		t.Run(row.name, func(t *testing.T) { wantFault(t, err, "invalid_argument", row.path) })
	}
}
