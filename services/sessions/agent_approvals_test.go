package sessions_test

import (
	"context"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// policyFake is policy: of approval rules, the condition "wrong" is; users may do everything but what is denied.
type policyFake struct {
	mu     sync.Mutex
	denied []string
	gone   bool
	// forgotten are the turns whose decisions were to be erased.
	forgotten []string
}

func (f *policyFake) away(gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = gone
}

func (f *policyFake) deny(permissions ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.denied = permissions
}

func (f *policyFake) ForgetTurns(_ context.Context, in *policyv1.ForgetTurnsRequest, _ ...grpc.CallOption) (*policyv1.ForgetTurnsResponse,
	error,
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "policy is away")
	}
	f.forgotten = append(f.forgotten, in.GetTurnIds()...)
	return &policyv1.ForgetTurnsResponse{}, nil
}

func (f *policyFake) GetPermissions(context.Context, *policyv1.GetPermissionsRequest, ...grpc.CallOption) (*policyv1.GetPermissionsResponse,
	error,
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "policy is away")
	}
	resp := &policyv1.GetPermissionsResponse{Permissions: []string{"*"}}
	for _, p := range f.denied {
		resp.Permissions = append(resp.Permissions, "!"+p)
	}
	return resp, nil
}

func (*policyFake) CheckApprovalRules(_ context.Context, req *policyv1.CheckApprovalRulesRequest,
	_ ...grpc.CallOption,
) (*policyv1.CheckApprovalRulesResponse, error) {
	resp := &policyv1.CheckApprovalRulesResponse{}
	for i, r := range req.GetRules() {
		if r.GetCondition() == "wrong" {
			resp.Faults = append(resp.Faults, &policyv1.ApprovalRuleFault{Index: uint32(i), Field: "condition", Message: "it is wrong"})
		}
	}
	return resp, nil
}

func TestApprovalRulesOfAgents(t *testing.T) {
	k := newKit(t, options{})
	good, bad := &policyv1.ApprovalRule{Name: "good", Condition: "true"}, &policyv1.ApprovalRule{Name: "bad", Condition: "wrong"}
	_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{
		Id:        "a",
		Approvals: []*policyv1.ApprovalRule{good, bad},
	}})
	wantFault(t, err, "invalid_argument", "agent.approvals[1].condition")
	_, err = k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{
		Id:        "a",
		Approvals: []*policyv1.ApprovalRule{good},
	}})
	must(t, err)
	_, err = k.agents.UpdateAgent(t.Context(), &sessionsv1.UpdateAgentRequest{Agent: &sessionsv1.Agent{
		Id:        "a",
		Approvals: []*policyv1.ApprovalRule{bad},
	}})
	wantFault(t, err, "invalid_argument", "agent.approvals[0].condition")
	_, err = k.agents.UpdateAgent(t.Context(), &sessionsv1.UpdateAgentRequest{Agent: &sessionsv1.Agent{Id: "a", Instructions: "x"}})
	must(t, err)
	apply := func(condition string) error {
		_, err := k.agents.ApplyBundle(t.Context(),
			&sessionsv1.ApplyBundleRequest{Yaml: "kind: agent\nid: b\napprovals:\n- name: large\n  tools: [bank__*]\n  condition: " + condition +
				"\n"})
		return err
	}
	must(t, apply("'true'"))
	wantFault(t, apply("wrong"), "invalid_argument", "document 1 (agent b), line 6: approvals[0].condition")
}
