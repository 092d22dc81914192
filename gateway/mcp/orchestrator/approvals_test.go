package orchestrator_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/mcp/orchestrator"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// sessions has a turn that waits for an approval.
type sessions struct {
	sessionsv1.UnimplementedTurnServiceServer
	sessionsv1.UnimplementedApprovalServiceServer
	decided *sessionsv1.DecideApprovalRequest
}

func (*sessions) GetTurn(_ context.Context, r *sessionsv1.GetTurnRequest) (*sessionsv1.Turn, error) {
	return &sessionsv1.Turn{
		Id: r.GetTurnId(), Status: turnv1.TurnStatus_TURN_STATUS_WAITING, WaitingFor: []string{"apr_1"},
	}, nil
}

func (*sessions) ListApprovals(_ context.Context, r *sessionsv1.ListApprovalsRequest) (*sessionsv1.ListApprovalsResponse, error) {
	if r.GetStatus() != sessionsv1.ApprovalStatus_APPROVAL_STATUS_PENDING {
		return nil, fault.Invalid("status", "is not pending")
	}
	arguments, err := canon.ParseStruct([]byte(`{"amount":9007199254740993,"to":"bob"}`))
	return &sessionsv1.ListApprovalsResponse{Approvals: []*sessionsv1.Approval{
		{
			Id: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, TurnId: "trn_1", Tool: "mail__send", Arguments: arguments, ArgumentsHash: "h1",
		},
		{Id: "apr_2", Kind: turnv1.WaitKind_WAIT_KIND_INPUT, TurnId: "trn_2", Message: "Which one?"},
	}}, err
}

func (s *sessions) DecideApproval(_ context.Context, r *sessionsv1.DecideApprovalRequest) (*sessionsv1.Approval, error) {
	s.decided = r
	return &sessionsv1.Approval{Id: r.GetApprovalId(), TurnId: "trn_1", Status: sessionsv1.ApprovalStatus_APPROVAL_STATUS_APPROVED}, nil
}

// An approval is no dead end for a person at an MCP client: there is a link, and a tool that passes on what they decide.
func TestPeopleDecideAtTheirClient(t *testing.T) {
	fake := &sessions{}
	conn := rpctest.Serve(t, "sessions", func(s grpc.ServiceRegistrar) {
		sessionsv1.RegisterTurnServiceServer(s, fake)
		sessionsv1.RegisterApprovalServiceServer(s, fake)
	})
	o := orchestrator.New(conn, "https://mesh.example/")
	run := func(tool, arguments, caller string) (string, error) {
		t.Helper()
		got, err := o.Run(t.Context(), tool, orchestrator.Call{Arguments: json.RawMessage(arguments), Caller: caller})
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(got)
		return string(text), err
	}
	turn, err := run("wait_for_turn", `{"turn_id":"trn_1"}`, "")
	if err != nil || !strings.Contains(turn, `"answer_at":"https://mesh.example/inbox"`) || !strings.Contains(turn, "decide_approval") {
		t.Errorf("a turn that waits: %s, %v", turn, err)
	}
	list, err := run("list_approvals", `{}`, "")
	for _, want := range []string{
		`"approval_id":"apr_1"`, `"arguments":{"amount":9007199254740993,"to":"bob"}`, `"arguments_hash":"h1"`, `"kind":"approval"`, `"decide":true`, `"decide":false`,
		`"message":"Which one?"`,
	} {
		if err != nil || !strings.Contains(list, want) {
			t.Errorf("what waits lacks %s: %s, %v", want, list, err)
		}
	}
	const decision = `{"approval_id":"apr_1","decision":"approve","arguments_hash":"h1","comment":"fine"}`
	if _, err := run("decide_approval", decision, "ses_1"); fault.CodeOf(err) != "permission_denied" || fake.decided != nil {
		t.Errorf("an agent decides: %v", err)
	}
	if _, err := run("decide_approval", `{"approval_id":"apr_1","decision":"approve"}`, ""); fault.CodeOf(err) != "invalid_argument" {
		t.Errorf("a decision about a call that was not seen: %v", err)
	}
	if got, err := run("decide_approval", decision, ""); err != nil || !strings.Contains(got, `"status":"approved"`) ||
		fake.decided.GetArgumentsHash() != "h1" || fake.decided.GetComment() != "fine" {
		t.Errorf("a person decides: %s, %v, %v", got, err, fake.decided)
	}
}
