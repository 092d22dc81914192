package wait_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

const (
	approval   = turnv1.WaitKind_WAIT_KIND_APPROVAL
	question   = turnv1.WaitKind_WAIT_KIND_INPUT
	clientTool = turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL
	resolution = turnv1.WaitKind_WAIT_KIND_RESOLUTION
)

// times differ by kind.
var times = wait.Times{Approval: time.Hour, Input: 2 * time.Hour, ClientTool: 3 * time.Hour, Resolution: 4 * time.Hour}

func newKit(t *testing.T) *sessionstest.Kit {
	return sessionstest.New(t, sessionstest.Config{Waits: times})
}

func request(kind turnv1.WaitKind) *store.WaitRequest {
	return &store.WaitRequest{Kind: kind, CallId: "c1", Tool: "calc__add", ArgumentsHash: "args", DefinitionHash: "def", Message: "sure?"}
}

// read reads a wait as it is stored.
func read(k *sessionstest.Kit, id string) store.Wait {
	k.Helper()
	w, err := k.Waits.Get(k.Ctx(), authn.DefaultTenant, id)
	k.Must(err)
	return w
}

// end ends a wait with a verdict.
func end(k *sessionstest.Kit, w store.Wait, verdict turnv1.Verdict) error {
	return k.Write(w.TurnID, func(tx *journal.Tx, t *store.Turn) error {
		return k.Waits.EndAndWake(tx, t, &w, verdict, "ann")
	})
}

func late(w store.Wait) error { return errors.New(w.ID + " is late") }

func TestEachKindOfWaitHasItsTime(t *testing.T) {
	for kind, want := range map[turnv1.WaitKind]time.Duration{
		approval: time.Hour, question: 2 * time.Hour, clientTool: 3 * time.Hour, resolution: 4 * time.Hour,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			k := newKit(t)
			w := k.Wait(k.Begun("hello"), "tool-1.1", request(kind))
			if got := w.ExpireTime.Sub(w.CreateTime); got != want {
				t.Errorf("it may last %s, want %s", got, want)
			}
			if got := k.Notifier.Waits(); len(got) != 1 || got[0].ID != w.ID {
				t.Errorf("told were %+v", got)
			}
		})
	}
}

func TestAStepMayAskForAnotherTime(t *testing.T) {
	k := newKit(t)
	req := request(approval)
	req.ExpiresIn = durationpb.New(1500 * time.Millisecond)
	w := k.Wait(k.Begun("hello"), "tool-1.1", req)
	if got := w.ExpireTime.Sub(w.CreateTime); got != 1500*time.Millisecond {
		t.Errorf("it may last %s", got)
	}
}

func TestAWaitForAChildLastsForEver(t *testing.T) {
	k := newKit(t)
	k.Must(k.Write(k.Begun("hello").ID, func(tx *journal.Tx, t *store.Turn) error {
		ref, err := k.Waits.Begin(tx, t, store.Step{Key: "tool-1.1"}, request(turnv1.WaitKind_WAIT_KIND_CHILD))
		if ref.GetExpireMicros() != 0 || !t.PausedSince.IsZero() || t.PeopleWaits != 0 || t.OpenWaits != 1 {
			k.Errorf("the wait is %v of %+v", ref, t)
		}
		return err
	}))
}

func TestATurnsTimeStandsStillWhileItWaitsForPeople(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello")
	deadline := k.Store.Now().Add(time.Minute)
	k.Begin(own, &turnv1.Surface{DeadlineMicros: deadline.UnixMicro()})
	first := k.Wait(own, "tool-1.1", request(approval))
	second := k.Wait(own, "tool-1.2", request(question))
	if now := k.Read(own.ID); !now.Waiting() || now.PausedSince.IsZero() || now.PeopleWaits != 2 || now.OpenWaits != 2 {
		t.Fatalf("the turn is %+v", now)
	}
	k.Clock.Advance(10 * time.Minute)
	k.Must(end(k, first, turnv1.Verdict_VERDICT_APPROVED))
	if now := k.Read(own.ID); !now.Waiting() || !now.Deadline.Equal(deadline) {
		t.Fatalf("with one wait left the turn is %+v", now)
	}
	k.Clock.Advance(5 * time.Minute)
	k.Must(end(k, second, turnv1.Verdict_VERDICT_ANSWERED))
	now := k.Read(own.ID)
	if now.Waiting() || !now.PausedSince.IsZero() || now.OpenWaits != 0 || !now.Deadline.Equal(deadline.Add(15*time.Minute)) {
		t.Errorf("without waits the turn is %+v", now)
	}
	if got := k.Types(own.SessionID); !slices.Contains(got, "turn.paused") || !slices.Contains(got, "turn.resumed") {
		t.Errorf("the journal has %q", got)
	}
}

func TestTheEndOfAWaitIsAnOutcomeOfItsOwn(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	w := k.Wait(own, "tool-1.1", request(approval))
	k.Must(end(k, w, turnv1.Verdict_VERDICT_APPROVED))
	out, err := k.Steps.Outcomes(k.Worker(), own.ID)
	k.Must(err)
	last := out.Done[len(out.Done)-1]
	if last.GetKey() != "wait-1.1" || last.GetAnswer().GetWaitId() != w.ID ||
		last.GetAnswer().GetVerdict() != turnv1.Verdict_VERDICT_APPROVED {
		t.Errorf("the outcome is %v", last)
	}
	if now := k.Read(own.ID); now.WakeTime.IsZero() {
		t.Error("the turn's workflow is not to be woken")
	}
}

func TestAnApprovalOfOtherArgumentsIsVoid(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*store.WaitRequest)
		want   turnv1.Verdict
	}{
		{"the same", func(*store.WaitRequest) {}, turnv1.Verdict_VERDICT_APPROVED},
		{"other arguments", func(r *store.WaitRequest) { r.ArgumentsHash = "other" }, turnv1.Verdict_VERDICT_VOID},
		{"another definition", func(r *store.WaitRequest) { r.DefinitionHash = "other" }, turnv1.Verdict_VERDICT_VOID},
		{"another call", func(r *store.WaitRequest) { r.CallId, r.ArgumentsHash = "c2", "other" }, turnv1.Verdict_VERDICT_APPROVED},
		{"another kind", func(r *store.WaitRequest) { r.Kind, r.ArgumentsHash = question, "other" }, turnv1.Verdict_VERDICT_APPROVED},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t)
			own := k.Begun("hello")
			first := k.Wait(own, "tool-1.1", request(approval))
			k.Must(end(k, first, turnv1.Verdict_VERDICT_APPROVED))
			again := request(approval)
			row.change(again)
			k.Wait(own, "tool-1.1.2", again)
			if got := read(k, first.ID).Verdict; got != row.want {
				t.Errorf("the earlier approval is %s, want %s", got, row.want)
			}
		})
	}
}

func TestCancellingATurnEndsAllItsWaits(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	waits := []store.Wait{k.Wait(own, "tool-1.1", request(approval)), k.Wait(own, "tool-1.2", request(clientTool))}
	k.Must(k.Turns.Cancel(k.Ctx(), own, "enough"))
	for _, w := range waits {
		if got := read(k, w.ID); got.Verdict != turnv1.Verdict_VERDICT_CANCELLED || got.EndTime.IsZero() {
			t.Errorf("the wait is %+v", got)
		}
	}
	now := k.Read(own.ID)
	testwant.Equal(t, "the turn: Ended", now.Ended(), false)
	testwant.Equal(t, "the turn: CancelRequested", now.CancelRequested, true)
	testwant.Equal(t, "the turn: OpenWaits", now.OpenWaits, 0)
	testwant.Equal(t, "the turn: PeopleWaits", now.PeopleWaits, 0)
	testwant.Equal(t, "the turn: PausedSince.IsZero", now.PausedSince.IsZero(), true)
}

func TestATurnThatEndsLeavesNoWaitOpen(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	w := k.Wait(own, "tool-1.1", request(question))
	k.Finish(own)
	if got := read(k, w.ID); got.Open() {
		t.Errorf("the wait is %+v", got)
	}
	if now := k.Read(own.ID); !now.Ended() || now.OpenWaits != 0 || !now.PausedSince.IsZero() {
		t.Errorf("the turn is %+v", now)
	}
}

func TestAWaitExpiresAtItsTime(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	w := k.Wait(own, "tool-1.1", request(approval))
	later := k.Wait(own, "tool-1.2", request(question))
	k.Clock.Advance(time.Hour - time.Microsecond)
	k.Must(k.Waits.Sweep(k.Worker()))
	if !read(k, w.ID).Open() {
		t.Fatal("it has expired before its time")
	}
	k.Clock.Advance(time.Microsecond)
	k.Must(k.Waits.Sweep(k.Worker()))
	if got := read(k, w.ID); got.Verdict != turnv1.Verdict_VERDICT_EXPIRED {
		t.Errorf("the wait is %+v", got)
	}
	if !read(k, later.ID).Open() {
		t.Error("another wait has ended with it")
	}
	if k.Read(own.ID).WakeTime.IsZero() {
		t.Error("the turn is not woken")
	}
	before := len(k.Events(own.SessionID))
	k.Must(k.Waits.Sweep(k.Worker()))
	if got := len(k.Events(own.SessionID)); got != before {
		t.Error("it expires twice")
	}
}

func TestAWorkflowThatAsksIsNotWoken(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	w := k.Wait(own, "tool-1.1", request(approval))
	k.Clock.Advance(time.Hour)
	k.Must(k.Waits.Expire(k.Worker(), own))
	if read(k, w.ID).Open() || !k.Read(own.ID).WakeTime.IsZero() {
		t.Errorf("the wait is %+v of %+v", read(k, w.ID), k.Read(own.ID))
	}
}

func TestAnExpiryThatCannotBeWrittenIsTriedAgainLater(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	w := k.Wait(own, "tool-1.1", request(approval))
	k.Clock.Advance(time.Hour)
	heal := k.FailWrites("INSERT", "turn_journal")
	k.Must(k.Waits.Sweep(k.Worker()))
	heal()
	if !read(k, w.ID).Open() || k.Read(own.ID).OpenWaits != 1 {
		t.Fatal("a part of the expiry stands")
	}
	k.Must(k.Waits.Sweep(k.Worker()))
	if !read(k, w.ID).Open() {
		t.Error("it is tried again at once")
	}
	k.Clock.Advance(10 * time.Second)
	k.Must(k.Waits.Sweep(k.Worker()))
	if read(k, w.ID).Open() {
		t.Error("it is not tried again")
	}
}

func TestAnAnswerThatComesTooLateEndsTheWaitAsExpired(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	w := k.Wait(own, "tool-1.1", request(approval))
	k.Clock.Advance(time.Hour)
	got, err := k.Waits.Update(k.Ctx(), w, func(*journal.Tx, *store.Turn, *store.Wait) error {
		t.Error("the answer is taken")
		return nil
	}, late)
	if err == nil || err.Error() != w.ID+" is late" || got.Verdict != turnv1.Verdict_VERDICT_EXPIRED {
		t.Errorf("got %+v, %v", got, err)
	}
	if read(k, w.ID).Verdict != turnv1.Verdict_VERDICT_EXPIRED || k.Read(own.ID).WakeTime.IsZero() {
		t.Error("the expiry is not stored, or the turn not woken")
	}
}

func TestALateAnswerThatCannotBeWrittenIsNotCalledLate(t *testing.T) {
	k := newKit(t)
	w := k.Wait(k.Begun("hello"), "tool-1.1", request(approval))
	k.Clock.Advance(time.Hour)
	heal := k.FailWrites("UPDATE", "turn_waits")
	_, err := k.Waits.Update(k.Ctx(), w, nil, late)
	heal()
	if err == nil || err.Error() == w.ID+" is late" || !read(k, w.ID).Open() {
		t.Errorf("got %v, and the wait is %+v", err, read(k, w.ID))
	}
}

func TestAWaitOfADeletedTurnIsMissing(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	w := k.Wait(own, "tool-1.1", request(approval))
	k.Finish(own)
	_, err := k.Sessions.Delete(k.Ctx(), own.SessionID, false)
	k.Must(err)
	_, err = k.Waits.Update(k.Ctx(), w, nil, late)
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
	for _, id := range []string{w.ID, "apr_none", "", "a\x00b"} {
		_, err := k.Waits.Get(k.Ctx(), authn.DefaultTenant, id)
		k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
	}
	_, err = k.Waits.Get(k.Ctx(), "other", w.ID)
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
}

func TestOnlyOneOfManyAnswersEndsAWait(t *testing.T) {
	k := newKit(t)
	w := k.Wait(k.Begun("hello"), "tool-1.1", request(question))
	var all sync.WaitGroup
	ended := make(chan string, 8)
	for _, who := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		all.Go(func() {
			_, err := k.Waits.Update(k.As(who), w, func(tx *journal.Tx, t *store.Turn, w *store.Wait) error {
				if !w.Open() {
					return errors.New("it is over")
				}
				tx.After(func(context.Context) { ended <- who })
				return k.Waits.EndAndWake(tx, t, w, turnv1.Verdict_VERDICT_ANSWERED, who)
			}, late)
			if err != nil && err.Error() != "it is over" {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(ended) != 1 {
		t.Errorf("%d answers have ended it", len(ended))
	}
}

func TestAWaitStandsOnlyIfItsStartIsTold(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	k.Notifier.Err = errors.New("the webhook cannot be enqueued")
	err := k.Write(own.ID, func(tx *journal.Tx, t *store.Turn) error {
		_, err := k.Waits.Begin(tx, t, store.Step{Key: "tool-1.1"}, request(approval))
		return err
	})
	waits, errRead := k.Store.WaitsOf(k.Ctx(), own.Tenant, own.ID)
	k.Must(errRead)
	if !errors.Is(err, k.Notifier.Err) || len(waits) != 0 {
		t.Errorf("got %v, and the waits %+v", err, waits)
	}
}

func TestEachKindIsToldByItsEvents(t *testing.T) {
	for kind, want := range map[turnv1.WaitKind][2]string{
		approval: {"approval.requested", "approval.resolved"}, question: {"input.requested", "input.provided"},
		clientTool: {"input.requested", "input.provided"}, resolution: {"tool_call.unresolved", "tool_call.resolved"},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			k := newKit(t)
			w := k.Wait(k.Begun("hello"), "tool-1.1", request(kind))
			k.Must(end(k, w, turnv1.Verdict_VERDICT_CANCELLED))
			types := k.Types(w.SessionID)
			begin, over := slices.Index(types, want[0]), slices.Index(types, want[1])
			if begin < 0 || over < begin {
				t.Errorf("the journal has %q, want %q", types, want)
			}
		})
	}
}

func TestOnlyASchemaThatIsAnObjectIsShown(t *testing.T) {
	for text, want := range map[string]bool{"": false, "true": false, "[]": false, "{": false, "{}": true, `{"type":"object"}`: true} {
		if got := wait.Schema(store.Wait{Request: &store.WaitRequest{SchemaJson: text}}); (got != nil) != want {
			t.Errorf("the schema %q is shown as %v", text, got)
		}
	}
}
