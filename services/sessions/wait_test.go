package sessions_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// approver returns the client of somebody who decides approvals.
func (k *kit) approver(p *policyv1.Principal) sessionsv1.ApprovalServiceClient {
	return sessionsv1.NewApprovalServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register, rpctest.WithPrincipal(p)))
}

// approvalOf asks for leave to run a call, the rest as given.
func approvalOf(change func(*executionv1.WaitRequest)) *executionv1.WaitRequest {
	r := &executionv1.WaitRequest{
		Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, CallId: "c1", Tool: "bank__pay", Arguments: sessionstest.Object(map[string]any{"amount": 5}),
		ArgumentsHash: "args1", DefinitionHash: "def1", Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE, Rule: "payments", Message: "money leaves",
		AllowRequester: true,
	}
	if change != nil {
		change(r)
	}
	return r
}

// waits ends a tool step with a wait.
func (w *worker) waits(key string, r *executionv1.WaitRequest) *turnv1.WaitRef {
	w.t.Helper()
	got := w.commit(key, w.lease(key), func(c *executionv1.CommitStepRequest) { c.Wait = r })
	if got.GetOutcome().GetWait().GetKind() != r.GetKind() {
		w.t.Fatalf("outcome %v has no wait", got.GetOutcome())
	}
	return got.GetOutcome().GetWait()
}

// waiting makes a turn that waits, after a model step with the calls c1 and c2.
func (k *kit) waiting(r *executionv1.WaitRequest) (*worker, *turnv1.WaitRef) {
	k.t.Helper()
	w := k.withCalls()
	return w, w.waits("tool-1.0", r)
}

// withCalls makes a turn whose model has asked for the calls c1 and c2.
func (k *kit) withCalls() *worker {
	k.t.Helper()
	w := k.worker(k.newTurn("pay them"))
	w.begin()
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{
		{CallId: "c1", Tool: "bank__pay", ArgumentsJson: `{"amount":5}`}, {CallId: "c2", Tool: "bank__pay", ArgumentsJson: `{"amount":6}`},
	}}, 0)
	return w
}

func (w *worker) now() *sessionsv1.Turn {
	w.t.Helper()
	got, err := sessionsv1.NewTurnServiceClient(w.conn).GetTurn(context.Background(), &sessionsv1.GetTurnRequest{TurnId: w.turn.GetId()})
	must(w.t, err)
	return got
}

// outcome returns what is recorded under a key, nil when nothing is.
func (w *worker) outcome(key string) *turnv1.StepOutcome {
	w.t.Helper()
	got, err := w.exec.GetOutcomes(context.Background(), &executionv1.GetOutcomesRequest{TurnId: w.turn.GetId()})
	must(w.t, err)
	for _, o := range got.GetOutcomes() {
		if o.GetKey() == key {
			return o
		}
	}
	return nil
}

func decide(t testing.TB, c sessionsv1.ApprovalServiceClient, id, decision string) (*sessionsv1.Approval, error) {
	return c.DecideApproval(t.Context(), &sessionsv1.DecideApprovalRequest{ApprovalId: id, Decision: decision, Comment: "because"})
}

func TestAnApprovalIsAskedForAndGiven(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		w, ref := k.waiting(approvalOf(nil))
		if days := time.Until(time.UnixMicro(ref.GetExpireMicros())).Hours() / 24; days < 6.9 || days > 7.1 { // by two clocks
			t.Errorf("it expires in %v days", days)
		}
		turn := w.now()
		if turn.GetStatus() != turnv1.TurnStatus_TURN_STATUS_WAITING || fmt.Sprint(turn.GetWaitingFor()) != "["+ref.GetId()+"]" ||
			turn.GetUsage().GetToolCalls() != 0 {
			t.Fatalf("turn %v", turn)
		}
		list, err := k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{Status: turnv1.TurnStatus_TURN_STATUS_WAITING})
		must(t, err)
		if len(list.GetTurns()) != 1 {
			t.Errorf("turns that wait: %v", list)
		}
		a, err := k.approvals.GetApproval(t.Context(), &sessionsv1.GetApprovalRequest{ApprovalId: ref.GetId()})
		must(t, err)
		if enum.Name(a.GetKind()) != "approval" || enum.Name(a.GetStatus()) != "pending" || a.GetTool() != "bank__pay" || a.GetQuorum() != 1 ||
			a.GetRequester() != "local" ||
			a.GetArguments().GetFields()["amount"].GetNumberValue() != 5 || a.GetMessage() != "money leaves" || a.GetExpireTime() == nil {
			t.Errorf("approval %v", a)
		}
		a, err = decide(t, k.approvals, ref.GetId(), "approve")
		must(t, err)
		if enum.Name(a.GetStatus()) != "approved" || a.GetEndTime() == nil || len(a.GetDecisions()) != 1 ||
			a.GetDecisions()[0].GetComment() != "because" {
			t.Errorf("approval %v", a)
		}
		again, err := decide(t, k.approvals, ref.GetId(), "approve")
		must(t, err)
		if len(again.GetDecisions()) != 1 {
			t.Errorf("the same decision again gives %v", again)
		}
		if o := w.outcome("wait-1.0"); o.GetKind() != turnv1.StepKind_STEP_KIND_WAIT ||
			o.GetAnswer().GetVerdict() != turnv1.Verdict_VERDICT_APPROVED ||
			o.GetAnswer().GetWaitId() != ref.GetId() {
			t.Errorf("outcome %v", o)
		}
		k.dispatcher.await(t, func(d *dispatcher) bool { return d.woken(w.turn.GetId()) })
		if turn := w.now(); turn.GetStatus() != turnv1.TurnStatus_TURN_STATUS_RUNNING || turn.GetWaitingFor() != nil {
			t.Errorf("turn %v", turn)
		}
		wait, err := k.asWorker().GetWait(t.Context(), &executionv1.GetWaitRequest{TurnId: w.turn.GetId(), WaitId: ref.GetId()})
		must(t, err)
		if wait.GetVerdict() != turnv1.Verdict_VERDICT_APPROVED || wait.GetRequest().GetArgumentsHash() != "args1" ||
			len(wait.GetDecisions()) != 1 {
			t.Errorf("wait %v", wait)
		}
		w.result("tool-1.0.2", "c1", "paid")
		w.result("tool-1.1", "c2", "paid too")
		w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{Content: executiontest.Text("done")}, 0)
		w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
		if end := w.now(); end.GetUsage().GetToolCalls() != 2 {
			t.Errorf("usage %v", end.GetUsage())
		}
		const want = "approval.requested turn.paused step.finished approval.resolved turn.resumed step.started"
		if s := k.types(w.turn); !strings.Contains(s, want) || strings.Count(s, "tool_call.started") != 2 {
			t.Errorf("events %s", s)
		}
	})
}

func TestTimeStandsStillWhilePeopleAreWaitedFor(t *testing.T) {
	k := newKit(t, options{})
	w := k.worker(k.newTurn("hello"))
	deadline := time.Now().Add(time.Hour).UnixMicro()
	w.commit("begin", w.lease("begin"), func(r *executionv1.CommitStepRequest) {
		r.Outcome.Surface = &turnv1.Surface{Model: "test/model", DeadlineMicros: deadline}
	})
	first := w.waits("tool-1.0", approvalOf(nil))
	second := w.waits("tool-1.1", approvalOf(nil))
	child := w.waits("tool-1.2", &executionv1.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_CHILD, CallId: "c3"})
	if child.GetExpireMicros() != 0 {
		t.Errorf("a child expires: %v", child)
	}
	_, err := decide(t, k.approvals, first.GetId(), "deny")
	must(t, err)
	if turn := w.now(); turn.GetStatus() != turnv1.TurnStatus_TURN_STATUS_WAITING ||
		fmt.Sprint(turn.GetWaitingFor()) != "["+second.GetId()+"]" {
		t.Errorf("after one of two: %v", turn)
	}
	if o := w.outcome("wait-1.0"); o.GetDeadlineMicros() != 0 || o.GetAnswer().GetVerdict() != turnv1.Verdict_VERDICT_DENIED {
		t.Errorf("first %v", o)
	}
	_, err = decide(t, k.approvals, second.GetId(), "approve")
	must(t, err)
	if o := w.outcome("wait-1.1"); o.GetDeadlineMicros() <= deadline || o.GetDeadlineMicros() > deadline+time.Minute.Microseconds() {
		t.Errorf("second %v, deadline was %d", o, deadline)
	}
	if turn := w.now(); turn.GetStatus() != turnv1.TurnStatus_TURN_STATUS_RUNNING { // a child does not pause
		t.Errorf("after both: %v", turn)
	}
	_, err = k.approvals.AnswerApproval(t.Context(), &sessionsv1.AnswerApprovalRequest{ApprovalId: child.GetId()})
	wantFault(t, err, "failed_precondition")
	pending, err := k.approvals.ListApprovals(t.Context(), &sessionsv1.ListApprovalsRequest{
		Status: sessionsv1.ApprovalStatus_APPROVAL_STATUS_PENDING,
	})
	must(t, err)
	if len(pending.GetApprovals()) != 0 { // what nobody can decide is not on the list of what is to be decided
		t.Errorf("pending are %v", pending.GetApprovals())
	}
}

func TestWhoMayDecide(t *testing.T) {
	k := newKit(t, options{})
	lead, other, admin := authn.User("ann", "lead"), authn.User("bob"), authn.User("root", "admin")
	w, byRole := k.waiting(approvalOf(func(r *executionv1.WaitRequest) {
		r.ApproverRoles, r.AllowRequester = []string{"lead", "boss"},
			false
	}))
	byOther := w.waits("tool-1.1", approvalOf(func(r *executionv1.WaitRequest) { r.AllowRequester = false }))
	answer := w.waits("tool-1.2", &executionv1.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_INPUT, CallId: "c3"})
	for _, row := range []struct {
		name string
		who  *policyv1.Principal
		id   string
		code string
	}{
		{"the requester of the turn lacks the role", authn.Local(), byRole.GetId(), "permission_denied"},
		{"the requester of the turn has the role, but the rule forbids it", authn.User("local", "lead"), byRole.GetId(), "permission_denied"},
		{"a stranger does not see it", other, byRole.GetId(), "not_found"},
		{"an administrator lacks the role", admin, byRole.GetId(), "permission_denied"},
		{"a stranger with a role that is not asked for", lead, byOther.GetId(), "not_found"},
		{"the requester of the turn, without roles", authn.Local(), byOther.GetId(), "permission_denied"},
		{"a question cannot be decided", authn.Local(), answer.GetId(), "failed_precondition"},
		{"one that is not there", authn.Local(), "apr_nope", "not_found"},
		{"one that cannot be", authn.Local(), "a\x00b", "not_found"},
		{"the role decides, also in another's session", lead, byRole.GetId(), ""},
		{"an administrator decides where no role is asked for", admin, byOther.GetId(), ""},
		{"it is decided already", authn.User("max", "boss"), byRole.GetId(), "approval_resolved"},
	} {
		t.Run(row.name, func(t *testing.T) {
			decision := "approve"
			if row.code == "approval_resolved" {
				decision = "deny"
			}
			if _, err := decide(t, k.approver(row.who), row.id, decision); row.code == "" {
				must(t, err)
			} else {
				wantFault(t, err, row.code)
			}
		})
	}
	for _, row := range []struct {
		name string
		who  *policyv1.Principal
		want int
	}{{"the owner", authn.Local(), 3}, {"a role", lead, 1}, {"a stranger", other, 0}, {"an administrator", admin, 3}} {
		got, err := k.approver(row.who).ListApprovals(t.Context(), &sessionsv1.ListApprovalsRequest{})
		must(t, err)
		if len(got.GetApprovals()) != row.want {
			t.Errorf("%s sees %d approvals, want %d", row.name, len(got.GetApprovals()), row.want)
		}
	}
	_, err := k.approver(lead).AnswerApproval(t.Context(), &sessionsv1.AnswerApprovalRequest{ApprovalId: byRole.GetId()})
	wantFault(t, err, "failed_precondition")
}

func TestQuorumAndHashes(t *testing.T) {
	k := newKit(t, options{})
	_, ref := k.waiting(approvalOf(func(r *executionv1.WaitRequest) { r.ApproverRoles, r.Quorum = []string{"lead"}, 2 }))
	ann, bob := k.approver(authn.User("ann", "lead")), k.approver(authn.User("bob", "lead"))
	_, err := ann.DecideApproval(t.Context(), &sessionsv1.DecideApprovalRequest{
		ApprovalId: ref.GetId(), Decision: "approve",
		ArgumentsHash: "args2",
	})
	wantFault(t, err, "conflict")
	for range 2 {
		a, err := decide(t, ann, ref.GetId(), "approve")
		must(t, err)
		if enum.Name(a.GetStatus()) != "pending" || len(a.GetDecisions()) != 1 {
			t.Fatalf("after the first: %v", a)
		}
	}
	a, err := bob.DecideApproval(t.Context(), &sessionsv1.DecideApprovalRequest{
		ApprovalId: ref.GetId(), Decision: "approve",
		ArgumentsHash: "args1",
	})
	must(t, err)
	if enum.Name(a.GetStatus()) != "approved" || len(a.GetDecisions()) != 2 {
		t.Errorf("after the second: %v", a)
	}
	_, err = decide(t, ann, ref.GetId(), "deny")
	wantFault(t, err, "approval_resolved")

	batch, err := bob.BatchDecideApprovals(t.Context(), &sessionsv1.BatchDecideApprovalsRequest{Decisions: []*sessionsv1.DecideApprovalRequest{
		{ApprovalId: ref.GetId(), Decision: "approve"}, {ApprovalId: "apr_nope", Decision: "deny"}, {ApprovalId: ref.GetId(), Decision: "deny"},
	}})
	must(t, err)
	var got []string
	for _, r := range batch.GetResults() {
		got = append(got, enum.Name(r.GetApproval().GetStatus())+r.GetError().GetCode())
	}
	if fmt.Sprint(got) != "[approved not_found approval_resolved]" {
		t.Errorf("batch %v", got)
	}
}

func TestOneRefusalRefuses(t *testing.T) {
	k := newKit(t, options{})
	_, ref := k.waiting(approvalOf(func(r *executionv1.WaitRequest) { r.ApproverRoles, r.Quorum = []string{"lead"}, 3 }))
	ann := k.approver(authn.User("ann", "lead"))
	_, err := decide(t, ann, ref.GetId(), "approve")
	must(t, err)
	a, err := decide(t, ann, ref.GetId(), "deny") // she changes her mind
	must(t, err)
	if enum.Name(a.GetStatus()) != "denied" || len(a.GetDecisions()) != 2 {
		t.Errorf("approval %v", a)
	}
}

func TestLeaveForSomethingElseIsVoid(t *testing.T) {
	k := newKit(t, options{})
	w, ref := k.waiting(approvalOf(nil))
	_, err := decide(t, k.approvals, ref.GetId(), "approve")
	must(t, err)
	w.waits("tool-1.0.2", approvalOf(func(r *executionv1.WaitRequest) { r.DefinitionHash = "def2" }))
	a, err := k.approvals.GetApproval(t.Context(), &sessionsv1.GetApprovalRequest{ApprovalId: ref.GetId()})
	must(t, err)
	if enum.Name(a.GetStatus()) != "void" {
		t.Errorf("approval %v", a)
	}
	_, err = decide(t, k.approvals, ref.GetId(), "approve")
	wantFault(t, err, "approval_resolved")
	if w.outcome("wait-1.0").GetAnswer().GetVerdict() != turnv1.Verdict_VERDICT_APPROVED || w.outcome("tool-1.0.2").GetWait() == nil {
		t.Error("what was recorded has changed")
	}
}

func TestOnlyToolStepsWait(t *testing.T) {
	k := newKit(t, options{})
	w := k.withCalls()
	l := w.lease("infer-2")
	for name, row := range map[string]struct {
		req   *executionv1.CommitStepRequest
		field string
	}{
		"a model step": {&executionv1.CommitStepRequest{Outcome: &turnv1.StepOutcome{Key: "infer-2"}, Wait: approvalOf(nil)}, "wait"},
		"a message": {&executionv1.CommitStepRequest{
			Outcome: &turnv1.StepOutcome{Key: "tool-1.0"}, Wait: approvalOf(nil), Messages: []*turnv1.Message{{}},
		}, "messages"},
		"a time that is over": {&executionv1.CommitStepRequest{
			Outcome: &turnv1.StepOutcome{Key: "tool-1.0"},
			Wait:    approvalOf(func(r *executionv1.WaitRequest) { r.ExpiresIn = durationpb.New(-time.Millisecond) }),
		}, "wait.expires_in"},
		"nothing to wait for": {
			&executionv1.CommitStepRequest{Outcome: &turnv1.StepOutcome{Key: "tool-1.0"}, Wait: &executionv1.WaitRequest{}},
			"wait.kind",
		},
	} {
		row.req.TurnId, row.req.Fence = w.turn.GetId(), l.GetFence()
		_, err := k.exec.CommitStep(t.Context(), row.req)
		t.Run(name, func(t *testing.T) { wantFault(t, err, "invalid_argument", row.field) })
	}
}

func TestTwoApproversAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, conns: 8})
		w, ref := k.waiting(approvalOf(nil))
		errs := make(chan error, 2)
		for name, decision := range map[string]string{"ann": "approve", "bob": "deny"} {
			c := k.approver(authn.User(name, "admin"))
			go func() {
				_, err := decide(t, c, ref.GetId(), decision)
				errs <- err
			}()
		}
		first, second := <-errs, <-errs
		if first == nil {
			first, second = second, first
		}
		must(t, second)
		wantFault(t, first, "approval_resolved")
		a, err := k.approvals.GetApproval(t.Context(), &sessionsv1.GetApprovalRequest{ApprovalId: ref.GetId()})
		must(t, err)
		if o := w.outcome("wait-1.0").GetAnswer().GetVerdict(); len(a.GetDecisions()) != 1 ||
			strings.ToLower(strings.TrimPrefix(o.String(), "VERDICT_")) != enum.Name(a.GetStatus()) {
			t.Errorf("approval %v, outcome %v", a, o)
		}
	})
}
