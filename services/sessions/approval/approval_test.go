package approval_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/testmain"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/approval"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

const (
	approved = turnv1.Verdict_VERDICT_APPROVED
	denied   = turnv1.Verdict_VERDICT_DENIED
	answered = turnv1.Verdict_VERDICT_ANSWERED
	declined = turnv1.Verdict_VERDICT_DECLINED
	expired  = turnv1.Verdict_VERDICT_EXPIRED
	givenUp  = turnv1.Verdict_VERDICT_GIVEN_UP
	notDone  = turnv1.Verdict_VERDICT_NOT_DONE
)

func newKit(t *testing.T) *sessionstest.Kit {
	return sessionstest.New(t, sessionstest.Config{MaxInputBytes: 1 << 10, Waits: wait.Times{Approval: time.Hour, Input: time.Hour}})
}

// asked has a new turn of Owner wait.
func asked(k *sessionstest.Kit, req *store.WaitRequest) store.Wait {
	k.Helper()
	req.CallId, req.Tool, req.ArgumentsHash = "c1", "calc__add", "hash"
	return k.Wait(k.Begun("hello"), "tool-1.1", req)
}

func forApproval(roles ...string) *store.WaitRequest {
	return &store.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, ApproverRoles: roles}
}

func forAnswer(schema string) *store.WaitRequest {
	return &store.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_INPUT, SchemaJson: schema}
}

func forResult() *store.WaitRequest {
	return &store.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL}
}

func forResolution() *store.WaitRequest {
	return &store.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_RESOLUTION}
}

// boss may see all sessions.
func boss(k *sessionstest.Kit) context.Context { return k.As("bill", "admin") }

func want(k *sessionstest.Kit, id string, verdict turnv1.Verdict, decisions int) store.Wait {
	k.Helper()
	w, err := k.Store.Wait(k.Context(), authn.DefaultTenant, id)
	k.Must(err)
	if w.Verdict != verdict || len(w.Answer.GetDecisions()) != decisions {
		k.Errorf("the wait is %s after the decisions %v, want %s and %d", w.Verdict, w.Answer.GetDecisions(), verdict, decisions)
	}
	return w
}

func TestWhoMayDecide(t *testing.T) {
	for _, row := range []struct {
		name string
		req  *store.WaitRequest
		ctx  func(k *sessionstest.Kit) context.Context
		want faultv1.Reason
	}{
		{name: "an administrator", req: forApproval(), ctx: boss},
		{name: "an administrator without the role", req: forApproval("finance"), ctx: boss, want: faultv1.Reason_REASON_PERMISSION_DENIED},
		{
			name: "one with the role", req: forApproval("finance"),
			ctx: func(k *sessionstest.Kit) context.Context { return k.As("fay", "finance") },
		},
		{
			name: "one with one of the roles", req: forApproval("ceo", "finance"),
			ctx: func(k *sessionstest.Kit) context.Context { return k.As("fay", "finance") },
		},
		{
			name: "a stranger", req: forApproval("finance"), ctx: func(k *sessionstest.Kit) context.Context { return k.As("eve") },
			want: faultv1.Reason_REASON_NOT_FOUND,
		},
		{name: "the requester", req: forApproval(), ctx: (*sessionstest.Kit).Ctx, want: faultv1.Reason_REASON_PERMISSION_DENIED},
		{
			name: "the requester with the role", req: forApproval("finance"), want: faultv1.Reason_REASON_PERMISSION_DENIED,
			ctx: func(k *sessionstest.Kit) context.Context { return k.As(sessionstest.Owner, "finance") },
		},
		{
			name: "the requester where the rule allows it", ctx: (*sessionstest.Kit).Ctx,
			req: &store.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, AllowRequester: true},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t)
			w := asked(k, row.req)
			_, err := k.Approvals.Decide(row.ctx(k), approval.Decision{ID: w.ID, Approve: true})
			k.WantFault(err, row.want)
			if row.want != 0 {
				want(k, w.ID, 0, 0)
			} else {
				want(k, w.ID, approved, 1)
			}
		})
	}
}

func TestAnApproverSeesWhatIsSent(t *testing.T) {
	k := newKit(t)
	const arguments = `{"id":9007199254740993,"price":1.10}`
	req := forApproval()
	var err error
	req.Arguments, err = canon.ParseStruct([]byte(arguments))
	k.Must(err)
	w := asked(k, req)
	if got := wait.Arguments(w); got != arguments {
		t.Errorf("the approval has %s", got)
	}
	for _, e := range k.Events(w.SessionID) {
		r := e.GetApprovalRequested()
		if r != nil && (r.GetArgumentsJson() != arguments || string(canon.StructJSON(r.GetArguments())) != arguments) {
			t.Errorf("the event has %v", r)
		}
	}
}

func TestWhoSteeredTheTurnMayNotDecideEither(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	_, err := k.Turns.Steer(boss(k), own.ID, "do it", nil, store.Once{})
	k.Must(err)
	req := forApproval()
	req.CallId = "c1"
	w := k.Wait(own, "tool-1.1", req)
	_, err = k.Approvals.Decide(boss(k), approval.Decision{ID: w.ID, Approve: true})
	k.WantFault(err, faultv1.Reason_REASON_PERMISSION_DENIED)
	_, err = k.Approvals.Decide(k.As("ben", "admin"), approval.Decision{ID: w.ID, Approve: true})
	k.Must(err)
}

func TestOnlyAnApprovalIsDecidedAndOnlyAQuestionAnswered(t *testing.T) {
	for name, req := range map[string]*store.WaitRequest{
		"question": forAnswer(""), "client tool": forResult(),
		"resolution": forResolution(),
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			w := asked(k, req)
			_, err := k.Approvals.Decide(boss(k), approval.Decision{ID: w.ID})
			k.WantFault(err, faultv1.Reason_REASON_FAILED_PRECONDITION)
		})
	}
	for name, req := range map[string]*store.WaitRequest{"approval": forApproval(), "resolution": forResolution()} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			w := asked(k, req)
			_, err := k.Approvals.Answer(k.Ctx(), approval.Answer{ID: w.ID})
			k.WantFault(err, faultv1.Reason_REASON_FAILED_PRECONDITION)
		})
	}
}

// decide is one decision and what is to come of it.
type decide struct {
	who     string
	approve bool
	reason  faultv1.Reason
}

func TestDecisionsInARow(t *testing.T) {
	const over = faultv1.Reason_REASON_APPROVAL_RESOLVED
	for _, row := range []struct {
		name      string
		quorum    uint32
		decisions []decide
		verdict   turnv1.Verdict
		kept      int
	}{
		{"one approves", 0, []decide{{who: "a", approve: true}}, approved, 1},
		{"one denies", 0, []decide{{who: "a"}}, denied, 1},
		{"the same person approves again", 1, []decide{{who: "a", approve: true}, {who: "a", approve: true}}, approved, 1},
		{"the same person denies again", 1, []decide{{who: "a"}, {who: "a"}}, denied, 1},
		{"the same person changes their mind too late", 1, []decide{{who: "a", approve: true}, {who: "a", reason: over}}, approved, 1},
		{"another person approves too late", 1, []decide{{who: "a", approve: true}, {who: "b", approve: true, reason: over}}, approved, 1},
		{"another person denies too late", 1, []decide{{who: "a", approve: true}, {who: "b", reason: over}}, approved, 1},
		{"one of two", 2, []decide{{who: "a", approve: true}}, 0, 1},
		{"one person twice is one of two", 2, []decide{{who: "a", approve: true}, {who: "a", approve: true}}, 0, 1},
		{"two of two", 2, []decide{{who: "a", approve: true}, {who: "b", approve: true}}, approved, 2},
		{"one of two denies", 2, []decide{{who: "a", approve: true}, {who: "b"}}, denied, 2},
		{"one of two changes their mind", 2, []decide{{who: "a", approve: true}, {who: "a"}}, denied, 2},
		{
			"three", 3,
			[]decide{{who: "a", approve: true}, {who: "b", approve: true}, {who: "a", approve: true}, {who: "c", approve: true}},
			approved, 3,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t)
			req := forApproval()
			req.Quorum = row.quorum
			w := asked(k, req)
			for _, d := range row.decisions {
				_, err := k.Approvals.Decide(k.As(d.who, "admin"), approval.Decision{ID: w.ID, Approve: d.approve})
				k.WantFault(err, d.reason)
			}
			want(k, w.ID, row.verdict, row.kept)
			if now := k.Read(w.TurnID); (now.OpenWaits == 0) != (row.verdict != 0) || (!now.WakeTime.IsZero()) != (row.verdict != 0) {
				t.Errorf("the turn is %+v", now)
			}
		})
	}
}

func TestADecisionIsAboutTheArgumentsThatWereSeen(t *testing.T) {
	k := newKit(t)
	w := asked(k, forApproval())
	_, err := k.Approvals.Decide(boss(k), approval.Decision{ID: w.ID, Approve: true, ArgumentsHash: "older"})
	k.WantFault(err, faultv1.Reason_REASON_CONFLICT)
	_, err = k.Approvals.Decide(boss(k), approval.Decision{ID: w.ID, Comment: "a\x00b"})
	k.WantFault(err, faultv1.Reason_REASON_INVALID_ARGUMENT, "comment")
	want(k, w.ID, 0, 0)
	_, err = k.Approvals.Decide(boss(k), approval.Decision{ID: w.ID, Approve: true, ArgumentsHash: "hash"})
	k.Must(err)
	want(k, w.ID, approved, 1)
}

func TestADecisionThatCannotBeWrittenIsNone(t *testing.T) {
	k := newKit(t)
	w := asked(k, forApproval())
	for _, row := range [][2]string{{"INSERT", "turn_journal"}, {"INSERT", "turn_steps"}, {"UPDATE", "turn_waits"}, {"UPDATE", "turns"}} {
		heal := k.FailWrites(row[0], row[1])
		if _, err := k.Approvals.Decide(boss(k), approval.Decision{ID: w.ID, Approve: true}); err == nil {
			t.Errorf("a decision stands though the %s of %s fails", row[0], row[1])
		}
		heal()
		want(k, w.ID, 0, 0)
	}
	_, err := k.Approvals.Decide(boss(k), approval.Decision{ID: w.ID, Approve: true})
	k.Must(err)
	want(k, w.ID, approved, 1)
}

func TestADecisionThatComesTooLateExpiresTheApproval(t *testing.T) {
	k := newKit(t)
	w := asked(k, forApproval())
	k.Clock.Advance(time.Hour)
	_, err := k.Approvals.Decide(boss(k), approval.Decision{ID: w.ID, Approve: true})
	k.WantFault(err, faultv1.Reason_REASON_APPROVAL_RESOLVED)
	if !strings.Contains(err.Error(), "expired") {
		t.Errorf("got %v", err)
	}
	want(k, w.ID, expired, 0)
}

func TestACommentOnADenialMakesItsAuthorARequester(t *testing.T) {
	for comment, stays := range map[string]bool{"": true, "use the other account": false} {
		k := newKit(t)
		own := k.Begun("hello")
		req := func(call string) *store.WaitRequest {
			r := forApproval()
			r.CallId = call
			return r
		}
		first := k.Wait(own, "tool-1.1", req("c1"))
		_, err := k.Approvals.Decide(boss(k), approval.Decision{ID: first.ID, Comment: comment})
		k.Must(err)
		second := k.Wait(own, "tool-2.1", req("c2"))
		if got := !slices.Contains(second.Requesters, "bill"); got != stays {
			t.Errorf("after the comment %q the requesters are %q", comment, second.Requesters)
		}
	}
}

func TestAListHasWhatTheCallerMaySee(t *testing.T) {
	k := newKit(t)
	plain, finance := asked(k, forApproval()), asked(k, forApproval("finance"))
	k.Clock.Advance(time.Second)
	question := asked(k, forAnswer(""))
	_, err := k.Approvals.Decide(boss(k), approval.Decision{ID: plain.ID, Approve: true})
	k.Must(err)
	for _, row := range []struct {
		name   string
		ctx    context.Context
		filter approval.Filter
		want   []string
	}{
		{"the owner", k.Ctx(), approval.Filter{}, []string{plain.ID, finance.ID, question.ID}},
		{"one with the role", k.As("fay", "finance"), approval.Filter{}, []string{finance.ID}},
		{"a stranger", k.As("eve"), approval.Filter{}, nil},
		{"open ones", boss(k), approval.Filter{Open: true}, []string{finance.ID, question.ID}},
		{"approved ones", boss(k), approval.Filter{Verdict: approved}, []string{plain.ID}},
		{"questions", boss(k), approval.Filter{Kind: turnv1.WaitKind_WAIT_KIND_INPUT}, []string{question.ID}},
		{"of a turn", boss(k), approval.Filter{TurnID: finance.TurnID}, []string{finance.ID}},
		{"of a session", boss(k), approval.Filter{SessionID: plain.SessionID}, []string{plain.ID}},
		{"of no session", boss(k), approval.Filter{SessionID: "\x00"}, nil},
		{
			"older ones", boss(k),
			approval.Filter{Page: store.Page{After: question.CreateTime, AfterID: question.ID}},
			[]string{plain.ID, finance.ID},
		},
	} {
		row.filter.Limit = 10
		waits, err := k.Approvals.List(row.ctx, row.filter)
		k.Must(err)
		var got []string
		for _, w := range waits {
			got = append(got, w.ID)
		}
		slices.Sort(got)
		slices.Sort(row.want)
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestAStatusIsThatOfTheVerdict(t *testing.T) {
	for verdict, want := range map[turnv1.Verdict]string{
		0: "pending", approved: "approved", denied: "denied", expired: "expired",
		givenUp: "given_up",
	} {
		if got := approval.Status(store.Wait{Verdict: verdict}); got != want {
			t.Errorf("%s is called %q, want %q", verdict, got, want)
		}
	}
}
