package step_test

import (
	"slices"
	"testing"
	"time"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
)

func TestALeaseIsRenewedByItsHolderOnly(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	l := k.Lease(own, "infer-1")
	k.Clock.Advance(20 * time.Second)
	if cancelled, err := k.Steps.Renew(k.Worker(), held(own, "infer-1", l), time.Hour); err != nil || cancelled {
		t.Fatalf("got %t, %v", cancelled, err)
	}
	got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "infer-1", "w2"))
	k.Must(err)
	if got.Busy == nil || got.Busy.ExpiresIn > sessionstest.MaxLease+time.Millisecond || got.Busy.ExpiresIn < sessionstest.MaxLease {
		t.Errorf("a lease of an hour got %+v", got.Busy)
	}
	k.Must(k.Turns.Cancel(k.Ctx(), own, "enough"))
	if cancelled, err := k.Steps.Renew(k.Worker(), held(own, "infer-1", l), time.Second); err != nil || !cancelled {
		t.Errorf("the holder of a cancelled turn's step got %t, %v", cancelled, err)
	}
	for name, h := range map[string]step.Held{
		"another fence": {TurnID: own.ID, Step: "infer-1", Fence: l.Fence + 1}, "another step": {TurnID: own.ID, Step: "infer-2", Fence: l.Fence},
		"a step that is done": {TurnID: own.ID, Step: "begin", Fence: 1},
	} {
		_, err := k.Steps.Renew(k.Worker(), h, time.Second)
		t.Log(name)
		k.WantFault(err, faultv1.Reason_REASON_LEASE_LOST)
	}
	_, err = k.Steps.Renew(k.Worker(), step.Held{TurnID: "trn_none", Step: "infer-1", Fence: 1}, time.Second)
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
}

func TestAReleasedStepIsFreeAfterItsBackoff(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	l := k.Lease(own, "infer-1")
	k.Must(k.Steps.Release(k.Worker(), held(own, "infer-1", l), 5*time.Second, nil))
	got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "infer-1", "w2"))
	k.Must(err)
	if got.Busy == nil || got.Busy.Owner != "" {
		t.Fatalf("while it backs off a claim got %+v", got)
	}
	k.Clock.Advance(5 * time.Second)
	second := k.Lease(own, "infer-1")
	if second.Fence != l.Fence+1 || slices.Contains(k.Types(own.SessionID), "turn.recovered") {
		t.Errorf("after it the lease is %+v, and the journal %q", second, k.Types(own.SessionID))
	}
	k.WantFault(k.Steps.Release(k.Worker(), held(own, "infer-1", l), 0, nil), faultv1.Reason_REASON_LEASE_LOST)
	made := []*turnv1.ModelAttempt{{Model: "a/b", Class: turnv1.AttemptClass_ATTEMPT_CLASS_SERVER, Message: "away"}}
	k.Must(k.Steps.Release(k.Worker(), held(own, "infer-1", second), 0, made))
	third := k.Lease(own, "infer-1") // at once
	if len(third.ModelAttempts) != 1 || third.ModelAttempts[0].GetMessage() != "away" {
		t.Errorf("the next lease brings the attempts %v", third.ModelAttempts)
	}
	k.WantFault(k.Steps.Release(k.Worker(), held(own, "infer-1", second), 0, nil), faultv1.Reason_REASON_LEASE_LOST)
}

func TestReleasingAStepThatIsDoneChangesNothing(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	l := k.Lease(own, "infer-1")
	_, err := k.Steps.Commit(k.Worker(), step.Commit{TurnID: own.ID, Fence: l.Fence, Outcome: &turnv1.StepOutcome{Key: "infer-1"}})
	k.Must(err)
	k.Must(k.Steps.Release(k.Worker(), held(own, "infer-1", l), time.Second, nil))
	got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "infer-1", "w2"))
	k.Must(err)
	if got.Done == nil {
		t.Errorf("got %+v", got)
	}
}

func TestOnlyTheHolderAppendsEvents(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	l := k.Lease(own, "infer-1")
	reset := []*turnv1.Event{{Data: &turnv1.Event_MessageReset{MessageReset: &turnv1.MessageReset{MessageId: l.MessageID}}}}
	seq, err := k.Steps.Append(k.Worker(), held(own, "infer-1", l), reset)
	k.Must(err)
	if last := k.ReadSession(own.SessionID).LastSeq; seq != last {
		t.Errorf("the event has seq %d, the session %d", seq, last)
	}
	stale := held(own, "infer-1", l)
	stale.Fence++
	_, err = k.Steps.Append(k.Worker(), stale, reset)
	k.WantFault(err, faultv1.Reason_REASON_LEASE_LOST)
	for name, e := range map[string]*turnv1.Event{
		"no data":       {},
		"the end":       {Data: &turnv1.Event_TurnEnded{TurnEnded: &turnv1.TurnEnded{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED}}},
		"a delta":       {Data: &turnv1.Event_MessageDelta{MessageDelta: &turnv1.MessageDelta{}}},
		"an artifact":   {Data: &turnv1.Event_ArtifactCreated{ArtifactCreated: &turnv1.ArtifactCreated{}}},
		"no executor":   {Data: &turnv1.Event_ExecutorAttached{ExecutorAttached: &turnv1.ExecutorAttached{}}},
		"no compaction": {Data: &turnv1.Event_ContextCompacted{ContextCompacted: &turnv1.ContextCompacted{}}},
	} {
		t.Log(name)
		_, err := k.Steps.Append(k.Worker(), held(own, "infer-1", l), []*turnv1.Event{reset[0], e})
		k.WantFault(err, invalid, "events")
	}
	if last := k.ReadSession(own.SessionID).LastSeq; seq != last {
		t.Error("a part of what was refused stands")
	}
}
