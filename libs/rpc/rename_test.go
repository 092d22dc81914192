package rpc_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

type renamedServices struct {
	executionv1.UnimplementedExecutionServiceServer
	sessionsv1.UnimplementedTurnServiceServer
	sessionsv1.UnimplementedApprovalServiceServer
}

func (renamedServices) CreateChild(_ context.Context, req *executionv1.CreateChildRequest) (*executionv1.CreateChildResponse, error) {
	return &executionv1.CreateChildResponse{TurnId: req.GetTurnId()}, nil
}

func (renamedServices) WatchTurn(req *sessionsv1.WatchTurnRequest, stream grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error {
	return stream.Send(&sessionsv1.WatchTurnResponse{Cursor: req.GetTurnId()})
}

func (renamedServices) BatchDecideApprovals(
	_ context.Context, req *sessionsv1.BatchDecideApprovalsRequest,
) (*sessionsv1.BatchDecideApprovalsResponse, error) {
	return &sessionsv1.BatchDecideApprovalsResponse{Results: make([]*sessionsv1.DecidedApproval, len(req.GetDecisions()))}, nil
}

// TestFormerNamesAreAnswered: a worker or a client of an earlier version uses the names of that version.
func TestFormerNamesAreAnswered(t *testing.T) {
	p := newPort(t, rpctest.AllowAll{}, func(r grpc.ServiceRegistrar) {
		executionv1.RegisterExecutionServiceServer(r, renamedServices{})
		sessionsv1.RegisterTurnServiceServer(r, renamedServices{})
		sessionsv1.RegisterApprovalServiceServer(r, renamedServices{})
	})
	child := &executionv1.CreateChildRequest{TurnId: "trn_1", Step: "tool-1", AgentId: "a", Input: "go"}
	decide := &sessionsv1.BatchDecideApprovalsRequest{Decisions: []*sessionsv1.DecideApprovalRequest{{
		ApprovalId: "apr_1",
		Decision:   "approve",
	}}}
	for name, row := range map[string]struct {
		conn   grpc.ClientConnInterface
		method string
		req    proto.Message
		code   codes.Code
	}{
		"a service": {p.roles, "/windlass.sessions.v1.ExecutionService/CreateChild", child, codes.OK},
		"a service, with a bad request": {
			p.roles, "/windlass.sessions.v1.ExecutionService/CreateChild", &executionv1.CreateChildRequest{},
			codes.InvalidArgument,
		},
		"an internal service": {p.users, "/windlass.sessions.v1.ExecutionService/CreateChild", child, codes.Unimplemented},
		"a stream": {
			p.users, "/windlass.sessions.v1.TurnService/Watch", &sessionsv1.WatchTurnRequest{TurnId: "trn_1"},
			codes.OK,
		},
		"a method":                            {p.users, "/windlass.sessions.v1.ApprovalService/DecideApprovals", decide, codes.OK},
		"a method by its name":                {p.users, "/windlass.sessions.v1.ApprovalService/BatchDecideApprovals", decide, codes.OK},
		"a method that its service never had": {p.users, "/windlass.sessions.v1.TurnService/DecideApprovals", decide, codes.Unimplemented},
	} {
		t.Run(name, func(t *testing.T) {
			if code, _, text := call(t, row.conn, row.method, row.req); code != row.code {
				t.Errorf("%s %s, want %s", code, text, row.code)
			}
		})
	}
	if names := reflected(t, p); !slices.Contains(names, "windlass.sessions.v1.TurnService") ||
		slices.Contains(names, "windlass.sessions.v1.ExecutionService") {
		t.Errorf("reflection lists %v", names)
	}
}
