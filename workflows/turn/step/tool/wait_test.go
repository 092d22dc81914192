package tool_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

type toolStream = grpc.ServerStreamingServer[registryv1.CallToolResponse]

// asking is a tool that asks two questions.
func asking(req *registryv1.CallToolRequest, stream toolStream) error {
	state := string(req.GetInput().GetState())
	if req.GetInput() != nil && req.GetInput().GetAction() != "accept" || state == "second" {
		return turntest.Complete(stream, &registryv1.Completed{Result: &turnv1.ToolResult{
			Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{
				Text: req.GetInput().GetAction() + " " + req.GetInput().GetContent().GetFields()["name"].GetStringValue(),
			}}},
		}})
	}
	next := "first"
	if state == "first" {
		next = "second"
	}
	return stream.Send(&registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_InputRequired{InputRequired: &registryv1.InputRequired{
		Message: "your " + next + " name?", SchemaJson: `{"type":"object"}`, State: []byte(next),
	}}})
}

// lost is a call whose outcome is unknown until a person resolves it.
func lost(req *registryv1.CallToolRequest, stream toolStream) error {
	switch r := req.GetResolution(); r.GetVerdict() {
	case turnv1.Verdict_VERDICT_ANSWERED:
		return turntest.Complete(stream, &registryv1.Completed{Result: r.GetResult()})
	case turnv1.Verdict_VERDICT_NOT_DONE:
		return turntest.Echo(req, stream)
	default:
		return turntest.Complete(stream, &registryv1.Completed{
			Unresolved: true, ExecutionId: "exe_9", Code: "outcome_unknown", Result: steptest.Said("nobody knows"),
		})
	}
}

func by(subject, comment string, approve bool) func(*executionv1.Wait) {
	return func(w *executionv1.Wait) {
		w.Decisions = append(w.Decisions, &turnv1.ApprovalDecision{Subject: subject, Comment: comment, Approve: approve})
	}
}

func TestAnApprovalIsAskedForAsTheRuleSays(t *testing.T) {
	definition := "v1"
	rules := []*policyv1.ApprovalRule{{Name: "careful"}}
	w := steptest.Waiting(t, &sessionsv1.Agent{Approvals: rules}, steptest.Guarded(&definition))
	got := w.Journal.Waits(in.TurnID)[0].GetRequest()
	if got.GetKind() != turnv1.WaitKind_WAIT_KIND_APPROVAL || got.GetRule() != "careful" || got.GetMessage() != "it costs" ||
		got.GetQuorum() != 2 ||
		got.GetExpiresIn().AsDuration() != time.Minute || got.GetArgumentsHash() != "args" || got.GetDefinitionHash() != "v1" ||
		got.GetCallId() != "own-0-0" ||
		got.GetArguments().GetFields()["round"] == nil || len(got.GetApproverRoles()) != 1 {
		t.Errorf("asks for %v", got)
	}
	if call := w.Called()[0]; !call.GetCanWait() || len(call.GetApprovalRules()) != 1 {
		t.Errorf("call = %v", call)
	}
	if strings.Contains(strings.Join(w.Kinds(), " "), "tool_call_completed") {
		t.Errorf("a call that waits has a result: %v", w.Kinds())
	}
}

func TestApproval(t *testing.T) {
	for _, row := range []struct {
		name    string
		verdict turnv1.Verdict
		fill    func(*executionv1.Wait)
		called  int
		want    string
		code    string
	}{
		{name: "an approved call runs", verdict: turnv1.Verdict_VERDICT_APPROVED, called: 2, want: `{"round":0,"call":0}`},
		{
			name: "a refused one does not", verdict: turnv1.Verdict_VERDICT_DENIED, fill: by("ann", "too dear", false), called: 1,
			want: "The call was not run: ann refused it. Comment: too dear", code: "approval_denied",
		},
		{
			name: "nor one that nobody decided on", verdict: turnv1.Verdict_VERDICT_EXPIRED, called: 1,
			want: "The call was not run: it needs approval, and was not approved in time.", code: "wait_expired",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			definition := "v1"
			w := steptest.Waiting(t, &sessionsv1.Agent{}, steptest.Guarded(&definition))
			fill := row.fill
			if fill == nil {
				fill = func(*executionv1.Wait) {}
			}
			w.Answer("tool-1.0", row.verdict, fill)
			out := w.Advance()
			w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 wait-1.0")
			if got := w.Result(); got.GetResult().GetContent()[0].GetText() != row.want || got.GetCode() != row.code ||
				len(w.Called()) != row.called {
				t.Errorf("result = %v after %d calls", got, len(w.Called()))
			}
			calls := int32(0)
			for _, o := range out {
				calls += o.GetUsage().GetToolCalls()
			}
			if calls != 1 {
				t.Errorf("%d tool calls counted", calls)
			}
			if last := w.Called()[row.called-1]; last.GetKey() != "trn_1/tool-1.0" || row.called == 2 && last.GetApproved().GetApprovalId() == "" {
				t.Errorf("last call = %v", last)
			}
			if n := strings.Count(strings.Join(w.Kinds(), " "), "tool_call_started"); n != 1 {
				t.Errorf("the call was started %d times", n)
			}
		})
	}
}

// What was approved has changed since: the approval is void, and has to be given again.
func TestAVoidApprovalIsAskedForAnew(t *testing.T) {
	definition := "v1"
	w := steptest.Waiting(t, &sessionsv1.Agent{}, steptest.Guarded(&definition))
	definition = "v2"
	w.Answer("tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
	if got := w.MustWait(1)[0].GetRequest(); got.GetDefinitionHash() != "v2" {
		t.Errorf("asks for %v", got)
	}
	w.Answer("tool-1.0.2", turnv1.Verdict_VERDICT_APPROVED)
	w.Advance()
	w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 tool-1.0.3 wait-1.0 wait-1.0.2")
}

func TestInput(t *testing.T) {
	w := steptest.Waiting(t, &sessionsv1.Agent{}, asking)
	if got := w.Journal.Waits(in.TurnID)[0].GetRequest(); got.GetMessage() != "your first name?" || got.GetSchemaJson() == "" {
		t.Errorf("asks for %v", got)
	}
	name := func(text string) func(*executionv1.Wait) {
		return func(w *executionv1.Wait) {
			w.Content = &structpb.Struct{Fields: map[string]*structpb.Value{"name": structpb.NewStringValue(text)}}
		}
	}
	w.Answer("tool-1.0", turnv1.Verdict_VERDICT_ANSWERED, name("Ann"))
	w.MustWait(1)
	w.Answer("tool-1.0.2", turnv1.Verdict_VERDICT_ANSWERED, name("Lee"))
	w.Advance()
	if got := w.Result().GetResult().GetContent()[0].GetText(); got != "accept Lee" {
		t.Errorf("result %q", got)
	}
	for verdict, want := range map[turnv1.Verdict]string{
		turnv1.Verdict_VERDICT_DECLINED: "decline ", turnv1.Verdict_VERDICT_EXPIRED: "cancel ",
	} {
		w := steptest.Waiting(t, &sessionsv1.Agent{}, asking)
		w.Answer("tool-1.0", verdict)
		w.Advance()
		if got := w.Result().GetResult().GetContent()[0].GetText(); got != want {
			t.Errorf("after %v the tool is told %q", verdict, got)
		}
	}
}

// Leave that was given holds for the later rounds of the call too.
func TestLeaveIsCarriedOverAQuestion(t *testing.T) {
	definition := "v1"
	w := steptest.Waiting(t, &sessionsv1.Agent{}, func(req *registryv1.CallToolRequest, stream toolStream) error {
		if req.GetApproved() == nil {
			return steptest.Guarded(&definition)(req, stream)
		}
		return asking(req, stream)
	})
	w.Answer("tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
	w.MustWait(1)
	w.Answer("tool-1.0.2", turnv1.Verdict_VERDICT_DECLINED)
	w.Advance()
	if last := w.Called()[2]; last.GetApproved().GetArgumentsHash() != "args" || last.GetInput().GetAction() != "decline" {
		t.Errorf("last call = %v", last)
	}
}

func TestPark(t *testing.T) {
	for _, row := range []struct {
		name    string
		verdict turnv1.Verdict
		want    string
		is      bool
	}{
		{"it was done", turnv1.Verdict_VERDICT_ANSWERED, "it is there", false},
		{"it was not", turnv1.Verdict_VERDICT_NOT_DONE, `{"round":0,"call":0}`, false},
		{"nobody knows", turnv1.Verdict_VERDICT_GIVEN_UP, "nobody knows", true},
		{"nobody said", turnv1.Verdict_VERDICT_EXPIRED, "nobody knows", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.Waiting(t, &sessionsv1.Agent{OnUnknownOutcome: "park"}, lost)
			if got := w.Journal.Waits(in.TurnID)[0].GetRequest(); got.GetExecutionId() != "exe_9" || got.GetArgumentsHash() == "" ||
				got.GetMessage() != "nobody knows" {
				t.Errorf("asks for %v", got)
			}
			w.Answer("tool-1.0", row.verdict, by("ann", "I looked", true), func(w *executionv1.Wait) { w.Result = steptest.Said("it is there") })
			w.Advance()
			w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 wait-1.0")
			if got := w.Result().GetResult(); got.GetContent()[0].GetText() != row.want || got.GetIsError() != row.is {
				t.Errorf("result = %v", got)
			}
			if r := w.Called()[1].GetResolution(); r.GetSubject() != "ann" || r.GetComment() != "I looked" {
				t.Errorf("the ledger is told %v", r)
			}
			if n := strings.Count(strings.Join(w.Kinds(), " "), "tool_call_unresolved"); n != 1 {
				t.Errorf("the unresolved call has %d events, want that of the service", n)
			}
		})
	}
}

func TestClientTools(t *testing.T) {
	schema, err := structpb.NewStruct(map[string]any{"type": "object", "required": []any{"round"}})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(t *testing.T, schema *structpb.Struct) *steptest.World {
		w := steptest.New(t, &sessionsv1.Agent{})
		w.Journal.ClientTools(in.TurnID, &sessionsv1.ClientTool{Name: "pick", Description: "lets the user pick", InputSchema: schema})
		w.Model(turntest.CallTools("client__pick", 1))
		return w
	}
	t.Run("the client runs the call", func(t *testing.T) {
		w := begin(t, schema)
		if got := w.MustWait(1)[0].GetRequest(); got.GetKind() != turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL || got.GetTool() != "client__pick" ||
			got.GetArguments() == nil {
			t.Errorf("asks for %v", got)
		}
		shown := w.Asked()[0].GetTools()
		if len(shown) != 1 || shown[0].GetName() != "client__pick" || !strings.Contains(shown[0].GetInputSchemaJson(), "round") {
			t.Errorf("tools shown: %v", shown)
		}
		w.Answer("tool-1.0", turnv1.Verdict_VERDICT_ANSWERED, func(w *executionv1.Wait) { w.Result = steptest.Said("blue") })
		out := w.Advance()
		if got := w.Result().GetResult(); got.GetContent()[0].GetText() != "blue" || got.GetIsError() || len(w.Called()) > 0 {
			t.Errorf("result = %v, %d calls of the registry", got, len(w.Called()))
		}
		if s := out[0].GetSurface(); s.GetTools() != 1 || s.GetStrategy() != turnv1.Strategy_STRATEGY_REACT {
			t.Errorf("surface = %v", s)
		}
	})
	t.Run("it does not in time", func(t *testing.T) {
		w := begin(t, nil)
		w.MustWait(1)
		w.Answer("tool-1.0", turnv1.Verdict_VERDICT_EXPIRED)
		w.Advance()
		if got := w.Result(); !got.GetResult().GetIsError() || got.GetCode() != "wait_expired" {
			t.Errorf("result = %v", got)
		}
	})
	t.Run("wrong arguments go back to the model", func(t *testing.T) {
		wrong, err := structpb.NewStruct(map[string]any{"type": "object", "required": []any{"colour"}})
		if err != nil {
			t.Fatal(err)
		}
		w := begin(t, wrong)
		w.Advance()
		if got := w.Result(); got.GetCode() != "invalid_tool_arguments" ||
			!strings.Contains(got.GetResult().GetContent()[0].GetText(), "arguments/colour: is required") {
			t.Errorf("result = %v", got)
		}
	})
}

func TestACallThatNeverStopsAskingIsGivenUp(t *testing.T) {
	ask := func(_ *registryv1.CallToolRequest, stream toolStream) error {
		return stream.Send(&registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_InputRequired{
			InputRequired: &registryv1.InputRequired{Message: "more?"},
		}})
	}
	w := steptest.Waiting(t, &sessionsv1.Agent{}, ask)
	for r := 1; r <= 20; r++ {
		w.Answer(stepkey.Round("tool-1.0", r), turnv1.Verdict_VERDICT_ANSWERED)
		if r < 20 {
			w.MustWait(1)
		}
	}
	w.Advance()
	if got := w.Result(); got.GetCode() != "too_many_waits" || len(w.Called()) != 20 {
		t.Errorf("result = %v after %d calls", got, len(w.Called()))
	}
}

func TestOneCallWaitsWhileAnotherRuns(t *testing.T) {
	definition := "v1"
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 2))
	w.Tool(func(req *registryv1.CallToolRequest, stream toolStream) error {
		if strings.Contains(req.GetArgumentsJson(), `"call":0`) {
			return steptest.Guarded(&definition)(req, stream)
		}
		return turntest.Echo(req, stream)
	})
	w.MustWait(1)
	w.Once("begin infer-1 tool-1.0 tool-1.1")
	w.Answer("tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
	w.Advance()
	w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 tool-1.1 wait-1.0")
}

func TestACancelEndsATurnThatWaits(t *testing.T) {
	definition := "v1"
	w := steptest.Waiting(t, &sessionsv1.Agent{}, steptest.Guarded(&definition))
	w.Journal.Cancel(in.TurnID)
	w.Advance()
	if e := w.Journal.Ending(in.TurnID); e.GetStatus() != turnv1.TurnStatus_TURN_STATUS_CANCELLED {
		t.Errorf("ending %v", e)
	}
}

// locked is a tool of a source that its user has to connect first.
func locked(open *bool) turntest.Call {
	return func(req *registryv1.CallToolRequest, stream toolStream) error {
		if *open {
			return turntest.Echo(req, stream)
		}
		return stream.Send(&registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_AuthorizationRequired{
			AuthorizationRequired: &registryv1.AuthorizationRequired{Message: "not connected", Authorization: &turnv1.Authorization{
				Source: "x", Kind: turnv1.AuthorizationKind_AUTHORIZATION_KIND_CONNECTION, ConnectUrl: "https://mesh.example/connect/x",
			}},
		}})
	}
}

func TestACallWaitsForItsUsersAuthorization(t *testing.T) {
	for _, row := range []struct {
		name    string
		verdict turnv1.Verdict
		open    bool
		want    string
		code    string
		called  int
	}{
		{"it is made again", turnv1.Verdict_VERDICT_ANSWERED, true, `{"round":0,"call":0}`, "", 2},
		{
			"the user declines", turnv1.Verdict_VERDICT_DECLINED, false, "The call was not run: the user declined to authorize it.",
			"authorization_required", 1,
		},
		{
			"nobody comes", turnv1.Verdict_VERDICT_EXPIRED, false, "The call was not run: the user did not authorize it in time.",
			"wait_expired", 1,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			open := false
			w := steptest.Waiting(t, &sessionsv1.Agent{}, locked(&open))
			got := w.Journal.Waits(in.TurnID)[0].GetRequest()
			if got.GetKind() != turnv1.WaitKind_WAIT_KIND_AUTHORIZATION || got.GetAuthorization().GetSource() != "x" ||
				got.GetAuthorization().GetConnectUrl() == "" || got.GetMessage() != "not connected" {
				t.Errorf("asks for %v", got)
			}
			open = row.open
			w.Answer("tool-1.0", row.verdict)
			out := w.Advance()
			w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 wait-1.0")
			if got := w.Result(); got.GetResult().GetContent()[0].GetText() != row.want || got.GetCode() != row.code {
				t.Errorf("result = %v", got)
			}
			if calls := w.Called(); len(calls) != row.called || calls[len(calls)-1].GetKey() != calls[0].GetKey() {
				t.Errorf("calls: %v", calls)
			}
			sent := int32(0)
			for _, o := range out {
				sent += o.GetUsage().GetToolCalls()
			}
			if sent != 1 && row.open {
				t.Errorf("%d tool calls counted", sent)
			}
		})
	}
}

func TestACallThatStaysUnauthorizedWaitsAgain(t *testing.T) {
	open := false
	w := steptest.Waiting(t, &sessionsv1.Agent{}, locked(&open))
	w.Answer("tool-1.0", turnv1.Verdict_VERDICT_ANSWERED)
	w.MustWait(1)
	open = true
	w.Answer("tool-1.0.2", turnv1.Verdict_VERDICT_ANSWERED)
	w.Advance()
	w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.0.2 tool-1.0.3 wait-1.0 wait-1.0.2")
}
