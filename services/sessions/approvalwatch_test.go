package sessions_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// inbox is a stream of changes.
type inbox struct {
	t      testing.TB
	stream sessionsv1.ApprovalService_WatchApprovalsClient
	cursor string
}

// inbox opens a stream after a cursor; its first message has a cursor only.
func (k *kit) inbox(c sessionsv1.ApprovalServiceClient, after string) *inbox {
	k.t.Helper()
	stream, err := c.WatchApprovals(k.t.Context(), &sessionsv1.WatchApprovalsRequest{After: after})
	must(k.t, err)
	in := &inbox{t: k.t, stream: stream}
	first, err := stream.Recv()
	must(k.t, err)
	if in.cursor = first.GetCursor(); first.GetApproval() != nil || in.cursor == "" {
		k.t.Fatalf("the stream starts with %v", first)
	}
	return in
}

// next receives a change of an approval, with its status and the number of its decisions.
func (i *inbox) next(kind, id, status string, decisions int) {
	i.t.Helper()
	m, err := i.stream.Recv()
	must(i.t, err)
	a := m.GetApproval()
	if m.GetType() != kind || a.GetId() != id || enum.Name(a.GetStatus()) != status || len(a.GetDecisions()) != decisions {
		i.t.Errorf("%s of %s: %s with %d decisions, want %s of %s: %s with %d", m.GetType(), a.GetId(), enum.Name(a.GetStatus()),
			len(a.GetDecisions()), kind, id, status, decisions)
	}
	i.cursor = m.GetCursor()
}

// TestApproversSeeEachOthersDecisions: two approvers of another user's session, and a request that is void.
func TestApproversSeeEachOthersDecisions(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, conns: 4})
		ann, bob := k.approver(authn.User("ann", "lead")), k.approver(authn.User("bob", "lead"))
		hers, his := k.inbox(ann, ""), k.inbox(bob, "")
		quorum := func(definition string) *executionv1.WaitRequest {
			return approvalOf(func(r *executionv1.WaitRequest) {
				r.ApproverRoles, r.Quorum, r.DefinitionHash = []string{"lead"}, 2, definition
			})
		}
		w, ref := k.waiting(quorum("def1"))
		hers.next("approval.opened", ref.GetId(), "pending", 0)
		his.next("approval.opened", ref.GetId(), "pending", 0)
		_, err := decide(t, ann, ref.GetId(), "approve")
		must(t, err)
		his.next("approval.changed", ref.GetId(), "pending", 1)
		left := hers.cursor
		_, err = decide(t, bob, ref.GetId(), "approve")
		must(t, err)
		his.next("approval.closed", ref.GetId(), "approved", 2)
		again := w.waits("tool-1.0.2", quorum("def2"))
		his.next("approval.closed", ref.GetId(), "void", 2)
		his.next("approval.opened", again.GetId(), "pending", 0)

		replica := newKit(t, options{db: k.db, bus: k.bus})
		resumed := replica.inbox(replica.approver(authn.User("ann", "lead")), left)
		resumed.next("approval.changed", ref.GetId(), "void", 2) // as it is now
		resumed.next("approval.closed", ref.GetId(), "void", 2)
		resumed.next("approval.closed", ref.GetId(), "void", 2)
		resumed.next("approval.opened", again.GetId(), "pending", 0)
	})
}

// TestOnlyOwnApprovalsAreStreamed: of another user's approvals nothing is sent, and what follows is.
func TestOnlyOwnApprovalsAreStreamed(t *testing.T) {
	k := newKit(t, options{conns: 4})
	eve := k.approver(authn.User("eve", "lead"))
	in := k.inbox(eve, "")
	w, _ := k.waiting(approvalOf(nil)) // of the local user, for administrators
	mine := w.waits("tool-1.1", approvalOf(func(r *executionv1.WaitRequest) { r.CallId, r.ApproverRoles = "c2", []string{"lead"} }))
	in.next("approval.opened", mine.GetId(), "pending", 0)
	bad, err := eve.WatchApprovals(t.Context(), &sessionsv1.WatchApprovalsRequest{After: "x"})
	must(t, err)
	_, err = bad.Recv()
	wantFault(t, err, "invalid_cursor", "after")
}

// TestEventsOfATurnAreListedBothWays compares the pages with the journal.
func TestEventsOfATurnAreListedBothWays(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		ses := k.session()
		k.worker(k.turn(ses.GetId(), "one")).run("first")
		turn := k.turn(ses.GetId(), "two")
		w := k.worker(turn)
		w.begin()
		k.turn(ses.GetId(), "three") // its first event is among those of the second
		w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{Content: executiontest.Text("done")}, 0)
		read := func(order string) (seqs []uint32) {
			req := &sessionsv1.ListTurnEventsRequest{TurnId: turn.GetId(), Order: order, PageSize: 2}
			for {
				got, err := k.turns.ListTurnEvents(t.Context(), req)
				must(t, err)
				for _, e := range got.GetEvents() {
					if e.GetTurnId() != turn.GetId() || e.GetData() == nil || e.GetType() == "" {
						t.Errorf("listed %v", e)
					}
					seqs = append(seqs, e.GetSeq())
				}
				if req.PageToken = got.GetNextPageToken(); req.GetPageToken() == "" {
					return seqs
				}
			}
		}
		up, down := read(""), read("desc")
		if len(up) < 5 || len(up) != len(down) {
			t.Fatalf("%v and %v", up, down)
		}
		for i, seq := range up {
			if down[len(down)-1-i] != seq || i > 0 && seq <= up[i-1] {
				t.Errorf("%v and %v", up, down)
			}
		}
		_, err := k.as(authn.User("eve")).ListTurnEvents(t.Context(), &sessionsv1.ListTurnEventsRequest{TurnId: turn.GetId()})
		wantFault(t, err, "not_found")
	})
}
