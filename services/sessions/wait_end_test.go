package sessions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/enum"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
)

func TestNobodyAnswersInTime(t *testing.T) {
	short := func(r *executionv1.WaitRequest) { r.ExpiresIn = durationpb.New(time.Millisecond) }
	t.Run("a decision comes too late", func(t *testing.T) {
		k := newKit(t, options{idle: true})
		w, ref := k.waiting(approvalOf(short))
		k.untilExpired(ref)
		_, err := decide(t, k.approvals, ref.GetId(), "approve")
		wantFault(t, err, "approval_resolved")
		if o := w.outcome("wait-1.0"); o.GetAnswer().GetVerdict() != turnv1.Verdict_VERDICT_EXPIRED {
			t.Errorf("outcome %v", o)
		}
	})
	t.Run("the worker says so", func(t *testing.T) {
		k := newKit(t, options{idle: true})
		w, ref := k.waiting(approvalOf(short))
		later := w.waits("tool-1.1", approvalOf(nil))
		k.untilExpired(ref)
		_, err := k.asWorker().ExpireWaits(t.Context(), &executionv1.ExpireWaitsRequest{TurnId: w.turn.GetId()})
		must(t, err)
		if w.outcome("wait-1.0") == nil || w.outcome("wait-1.1") != nil || fmt.Sprint(w.now().GetWaitingFor()) != "["+later.GetId()+"]" {
			t.Errorf("turn %v", w.now())
		}
	})
	t.Run("the sweeper sees it", func(t *testing.T) {
		k := newKit(t, options{cfg: sessions.Config{SweepInterval: 20 * time.Millisecond}})
		w, _ := k.waiting(approvalOf(short))
		k.dispatcher.await(t, func(d *dispatcher) bool { return d.woken(w.turn.GetId()) })
		if o := w.outcome("wait-1.0"); o.GetAnswer().GetVerdict() != turnv1.Verdict_VERDICT_EXPIRED {
			t.Errorf("outcome %v", o)
		}
	})
}

// untilExpired returns when the time of a wait is up.
func (k *kit) untilExpired(ref *turnv1.WaitRef) {
	timer := time.NewTimer(time.Until(time.UnixMicro(ref.GetExpireMicros())) + time.Millisecond)
	defer timer.Stop()
	<-timer.C
}

func TestACancelEndsWhatIsWaitedFor(t *testing.T) {
	k := newKit(t, options{})
	w, ref := k.waiting(approvalOf(nil))
	w.waits("tool-1.1", &executionv1.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_INPUT, CallId: "c2"})
	_, err := k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: w.turn.GetId()})
	must(t, err)
	for _, key := range []string{"wait-1.0", "wait-1.1"} {
		if o := w.outcome(key); !o.GetCancelled() || o.GetAnswer().GetVerdict() != turnv1.Verdict_VERDICT_CANCELLED {
			t.Errorf("%s: %v", key, o)
		}
	}
	_, err = decide(t, k.approvals, ref.GetId(), "approve")
	wantFault(t, err, "approval_resolved")
	got := w.commit("tool-1.2", w.lease("tool-1.2"), func(c *executionv1.CommitStepRequest) { c.Wait = approvalOf(nil) })
	if got.GetOutcome().GetWait() != nil || !got.GetOutcome().GetCancelled() {
		t.Errorf("a turn that is to end waits again: %v", got)
	}
	w.finish(turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
	const want = "turn.cancel_requested approval.resolved input.provided turn.resumed"
	if s := k.types(w.turn); !strings.Contains(s, want) {
		t.Errorf("events %s", s)
	}
}

func TestTheEndOfATurnEndsWhatIsWaitedFor(t *testing.T) {
	k := newKit(t, options{})
	w, ref := k.waiting(approvalOf(nil))
	w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
	a, err := k.approvals.GetApproval(t.Context(), &sessionsv1.GetApprovalRequest{ApprovalId: ref.GetId()})
	must(t, err)
	if enum.Name(a.GetStatus()) != "cancelled" || a.GetEndTime() == nil {
		t.Errorf("approval %v", a)
	}
	if s := k.types(w.turn); !strings.HasSuffix(s, "approval.resolved turn.failed") {
		t.Errorf("events %s", s)
	}
	_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: w.turn.GetSessionId()})
	must(t, err)
	_, err = k.approvals.GetApproval(t.Context(), &sessionsv1.GetApprovalRequest{ApprovalId: ref.GetId()})
	wantFault(t, err, "not_found")
}
