package step_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const invalid = faultv1.Reason_REASON_INVALID_ARGUMENT

func newKit(t *testing.T) *sessionstest.Kit { return sessionstest.New(t, sessionstest.Config{}) }

func TestAClaimThatMakesNoSenseIsRefused(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello")
	for _, row := range []struct {
		name   string
		change func(*step.Claim)
		reason faultv1.Reason
		field  string
	}{
		{"no key", func(c *step.Claim) { c.Step.Key = "" }, invalid, "step.key"},
		{"a long key", func(c *step.Claim) { c.Step.Key = strings.Repeat("x", 65) }, invalid, "step.key"},
		{"a key with NUL", func(c *step.Claim) { c.Step.Key = "a\x00" }, invalid, "step.key"},
		{"no kind", func(c *step.Claim) { c.Step.Kind = 0 }, invalid, "step.kind"},
		{"the end of a wait", func(c *step.Claim) { c.Step.Kind = turnv1.StepKind_STEP_KIND_WAIT }, invalid, "step.kind"},
		{"input", func(c *step.Claim) { c.Step.Kind = turnv1.StepKind_STEP_KIND_STEER }, invalid, "step.kind"},
		{"an unknown kind", func(c *step.Claim) { c.Step.Kind = 99 }, invalid, "step.kind"},
		{"a long lease", func(c *step.Claim) { c.TTL = sessionstest.MaxLease + 1 }, invalid, "ttl"},
		{"an unknown turn", func(c *step.Claim) { c.TurnID = "trn_none" }, faultv1.Reason_REASON_NOT_FOUND, ""},
	} {
		c := sessionstest.ClaimOf(own, "begin", "w1")
		row.change(&c)
		_, err := k.Steps.Claim(k.Worker(), c)
		k.WantFault(err, row.reason, slices.DeleteFunc([]string{row.field}, func(f string) bool { return f == "" })...)
	}
	if now := k.Read(own.ID); !now.StartTime.IsZero() {
		t.Error("a claim that was refused began the turn")
	}
}

func TestAStepIsHeldByOneWorkerUntilItsLeaseExpires(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello")
	first := k.Lease(own, "begin")
	got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "begin", "w2"))
	k.Must(err)
	if got.Busy == nil || got.Busy.Owner != "w1" || got.Busy.ExpiresIn != 30*time.Second+time.Millisecond {
		t.Fatalf("the second claim got %+v", got)
	}
	k.Clock.Advance(got.Busy.ExpiresIn)
	got, err = k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "begin", "w2"))
	k.Must(err)
	if got.Lease == nil || got.Lease.Fence != first.Fence+1 || got.Lease.Attempt != 2 {
		t.Fatalf("the claim after it expired got %+v", got)
	}
	if !slices.Contains(k.Types(own.SessionID), "turn.recovered") {
		t.Errorf("the journal has %q", k.Types(own.SessionID))
	}
}

func TestOneOfManyClaimsGetsTheLease(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	var leases, busy atomic.Int32
	var all sync.WaitGroup
	for _, owner := range []string{"w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"} {
		all.Go(func() {
			got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "infer-1", owner))
			switch {
			case err != nil:
				t.Error(err)
			case got.Lease != nil:
				leases.Add(1)
			case got.Busy != nil:
				busy.Add(1)
			}
		})
	}
	all.Wait()
	if leases.Load() != 1 || busy.Load() != 7 {
		t.Errorf("%d leases and %d refusals were given", leases.Load(), busy.Load())
	}
}

func TestAStepThatIsDoneIsAdopted(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	k.Answer(own, "infer-1", "hi")
	got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "infer-1", "w2"))
	k.Must(err)
	if got.Done.GetKey() != "infer-1" || got.Lease != nil {
		t.Errorf("got %+v", got)
	}
}

func TestATurnThatIsNotItsSessionsActiveOneHasNoSteps(t *testing.T) {
	k := newKit(t)
	ses := k.Session()
	first, second := k.Turn(ses, "one"), k.Turn(ses, "two")
	_, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(second, "begin", "w1"))
	k.WantFault(err, faultv1.Reason_REASON_FAILED_PRECONDITION)
	k.Begin(first, &turnv1.Surface{})
	if next := k.Finish(first).NextTurnID; next != second.ID {
		t.Errorf("after the first turn comes %q", next)
	}
	k.Lease(second, "begin")
	_, err = k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(first, "infer-7", "w1"))
	k.WantFault(err, faultv1.Reason_REASON_TURN_ENDED)
}

func held(own store.Turn, key string, l *step.Lease) step.Held {
	return step.Held{TurnID: own.ID, Step: key, Fence: l.Fence}
}

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
	k.Must(k.Steps.Release(k.Worker(), held(own, "infer-1", l), 5*time.Second))
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
	k.WantFault(k.Steps.Release(k.Worker(), held(own, "infer-1", l), 0), faultv1.Reason_REASON_LEASE_LOST)
	k.Must(k.Steps.Release(k.Worker(), held(own, "infer-1", second), 0))
	k.Lease(own, "infer-1") // at once
	k.WantFault(k.Steps.Release(k.Worker(), held(own, "infer-1", second), 0), faultv1.Reason_REASON_LEASE_LOST)
}

func TestReleasingAStepThatIsDoneChangesNothing(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	l := k.Lease(own, "infer-1")
	_, err := k.Steps.Commit(k.Worker(), step.Commit{TurnID: own.ID, Fence: l.Fence, Outcome: &turnv1.StepOutcome{Key: "infer-1"}})
	k.Must(err)
	k.Must(k.Steps.Release(k.Worker(), held(own, "infer-1", l), time.Second))
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

func TestACommitWhosePartsDoNotFitIsRefused(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	other := sessionstest.ClaimOf(store.Turn{ID: "trn_other"}, "infer-1", "w1")
	next := sessionstest.ClaimOf(own, "tool-1.1", "w1")
	finish := sessionstest.ClaimOf(own, "finish", "w1")
	end := func(change func(*step.Commit)) *step.Commit {
		c := &step.Commit{TurnID: own.ID, Claim: &finish, Outcome: &turnv1.StepOutcome{Key: "finish"}, Ending: sessionstest.Completed()}
		change(c)
		return c
	}
	for _, row := range []struct {
		name   string
		change func(*step.Commit)
		field  string
	}{
		{"no key", func(c *step.Commit) { c.Outcome.Key = "" }, "outcome.key"},
		{"no outcome", func(c *step.Commit) { c.Outcome = nil }, "outcome.key"},
		{"a claim of another turn", func(c *step.Commit) { c.Claim = &other }, "claim"},
		{"a claim of another step", func(c *step.Commit) { c.Claim = &next }, "claim"},
		{"a wait of a model step", func(c *step.Commit) { c.Wait = &store.WaitRequest{} }, "wait"},
		{"a wait with messages", func(c *step.Commit) {
			c.Claim, c.Outcome.Key, c.Wait, c.Messages = nil, "tool-1.1", &store.WaitRequest{}, []*turnv1.Message{{}}
		}, "messages"},
		{"a wait that is over", func(c *step.Commit) {
			c.Claim, c.Outcome.Key, c.Wait = nil, "tool-1.1", &store.WaitRequest{ExpiresIn: durationpb.New(-1)}
		}, "wait.expires_in"},
		{"a crowd", func(c *step.Commit) { c.Claim, c.Outcome.Key, c.Wait = nil, "tool-1.1", &store.WaitRequest{Quorum: 17} }, "wait.quorum"},
		{"a step of another turn next", func(c *step.Commit) { c.Next = []step.Claim{other} }, "next.turn_id"},
		{"nothing next", func(c *step.Commit) { c.Next = []step.Claim{{TurnID: own.ID}} }, "step.key"},
		{"the end of another turn", func(c *step.Commit) { c.Then = end(func(c *step.Commit) { c.TurnID = "trn_other" }) }, "then.turn_id"},
		{"an end without an ending", func(c *step.Commit) { c.Then = end(func(c *step.Commit) { c.Ending = nil }) }, "then"},
		{"an end without a claim", func(c *step.Commit) { c.Then = end(func(c *step.Commit) { c.Claim = nil }) }, "then"},
		{"an end before an end", func(c *step.Commit) { c.Then = end(func(c *step.Commit) { c.Then = end(func(*step.Commit) {}) }) }, "then"},
		{"an end and a next step", func(c *step.Commit) { c.Then, c.Next = end(func(*step.Commit) {}), []step.Claim{next} }, "then"},
		{"an ending in the middle", func(c *step.Commit) { c.Ending = sessionstest.Completed() }, "ending"},
	} {
		c := step.Commit{TurnID: own.ID, Outcome: &turnv1.StepOutcome{Key: "infer-1"}}
		claim := sessionstest.ClaimOf(own, "infer-1", "w1")
		c.Claim = &claim
		row.change(&c)
		_, err := k.Steps.Commit(k.Worker(), c)
		t.Log(row.name)
		k.WantFault(err, invalid, row.field)
	}
	l := k.Lease(own, "finish")
	for _, ending := range []*turnv1.Ending{nil, {}, {Status: turnv1.TurnStatus_TURN_STATUS_RUNNING}} {
		_, err := k.Steps.Commit(k.Worker(), step.Commit{
			TurnID: own.ID, Fence: l.Fence, Outcome: &turnv1.StepOutcome{Key: "finish"},
			Ending: ending,
		})
		if field := "ending.status"; ending == nil {
			k.WantFault(err, invalid, "ending")
		} else {
			k.WantFault(err, invalid, field)
		}
	}
}

func TestACommitWithoutTheLeaseIsRefused(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	first := k.Lease(own, "infer-1")
	k.Clock.Advance(time.Minute)
	second := k.Lease(own, "infer-1")
	commit := func(fence uint32, text string) (*step.Committed, error) {
		return k.Steps.Commit(k.Worker(), step.Commit{
			TurnID: own.ID, Fence: fence, Outcome: &turnv1.StepOutcome{Key: "infer-1"},
			Messages: []*turnv1.Message{{Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text(text)}},
		})
	}
	_, err := commit(first.Fence, "late")
	k.WantFault(err, faultv1.Reason_REASON_LEASE_LOST)
	done, err := commit(second.Fence, "in time")
	k.Must(err)
	again, err := commit(second.Fence, "once more")
	k.Must(err)
	if !proto.Equal(done.Outcome, again.Outcome) {
		t.Errorf("committed again it is %v, not %v", again.Outcome, done.Outcome)
	}
	messages, err := k.Sessions.Messages(k.Ctx(), k.ReadSession(own.SessionID), store.BeforeAll, 10)
	k.Must(err)
	if len(messages) != 2 {
		t.Errorf("%d messages are stored", len(messages))
	}
}

func TestAnExpiredLeaseThatNobodyTookStillCounts(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	l := k.Lease(own, "infer-1")
	k.Clock.Advance(time.Hour)
	_, err := k.Steps.Commit(k.Worker(), step.Commit{TurnID: own.ID, Fence: l.Fence, Outcome: &turnv1.StepOutcome{Key: "infer-1"}})
	k.Must(err)
}

// TestNothingOfACommitStandsIfAPartFails has one write after the other fail.
func TestNothingOfACommitStandsIfAPartFails(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	before := k.ReadSession(own.SessionID)
	claim, next := sessionstest.ClaimOf(own, "infer-1", "w1"), sessionstest.ClaimOf(own, "tool-1.1", "w1")
	commit := step.Commit{
		TurnID: own.ID, Claim: &claim, Next: []step.Claim{next}, Outcome: &turnv1.StepOutcome{
			Key:   "infer-1",
			Usage: &turnv1.Usage{InputTokens: 3},
		},
		Messages: []*turnv1.Message{{Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("hi")}},
	}
	for _, row := range [][2]string{
		{"INSERT", "turn_journal"},
		{"INSERT", "messages"},
		{"INSERT", "turn_steps"},
		{"UPDATE", "turns"},
		{"UPDATE", "sessions"},
	} {
		heal := k.FailWrites(row[0], row[1])
		if _, err := k.Steps.Commit(k.Worker(), commit); err == nil {
			t.Errorf("it stands though the %s of %s fails", row[0], row[1])
		}
		heal()
		out, err := k.Steps.Outcomes(k.Worker(), own.ID)
		k.Must(err)
		if now := k.ReadSession(own.SessionID); now.LastSeq != before.LastSeq || now.ContextBytes != before.ContextBytes ||
			len(out.Done) != 1 || len(out.Held) != 0 {
			t.Errorf("without the %s of %s the session is %+v with the steps %+v", row[0], row[1], now, out)
		}
	}
	out, err := k.Steps.Commit(k.Worker(), commit)
	k.Must(err)
	if len(out.Next) != 1 || out.Next[0].Lease == nil || k.Read(own.ID).Usage.GetInputTokens() != 3 {
		t.Errorf("after the faults it is %+v", out)
	}
}

func TestAStepThatIsHeldElsewhereIsNotClaimedWithACommit(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	k.Lease(own, "tool-1.1")
	claim, next := sessionstest.ClaimOf(own, "infer-1", "w1"), sessionstest.ClaimOf(own, "tool-1.1", "w2")
	out, err := k.Steps.Commit(k.Worker(), step.Commit{
		TurnID: own.ID, Claim: &claim, Next: []step.Claim{next},
		Outcome: &turnv1.StepOutcome{Key: "infer-1"},
	})
	k.Must(err) // the assumption that the next step is new was wrong
	if out.Outcome == nil || len(out.Next) != 1 || out.Next[0].Busy == nil {
		t.Errorf("got %+v", out)
	}
	busy := sessionstest.ClaimOf(own, "tool-1.1", "w2")
	out, err = k.Steps.Commit(k.Worker(), step.Commit{TurnID: own.ID, Claim: &busy, Outcome: &turnv1.StepOutcome{Key: "tool-1.1"}})
	k.Must(err)
	if out.Busy == nil || out.Outcome != nil {
		t.Errorf("a commit of a held step got %+v", out)
	}
	done := sessionstest.ClaimOf(own, "infer-1", "w2")
	out, err = k.Steps.Commit(k.Worker(), step.Commit{TurnID: own.ID, Claim: &done, Outcome: &turnv1.StepOutcome{Key: "infer-1"}})
	k.Must(err)
	if !out.Adopted {
		t.Errorf("a commit of a step that is done got %+v", out)
	}
}

func TestAnEndThatDoesNotKnowTheNewestInputIsStale(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	k.Answer(own, "infer-1", "hi")
	l := k.Lease(own, "finish")
	_, err := k.Turns.Steer(k.Ctx(), own.ID, "wait", nil, store.Once{})
	k.Must(err)
	finish := step.Commit{TurnID: own.ID, Fence: l.Fence, Outcome: &turnv1.StepOutcome{Key: "finish"}, Ending: sessionstest.Completed()}
	out, err := k.Steps.Commit(k.Worker(), finish)
	k.Must(err)
	if !out.Stale || len(out.Inputs) != 1 || out.Outcome != nil || k.Read(own.ID).Ended() {
		t.Fatalf("got %+v", out)
	}
	finish.Fence = k.Lease(own, "finish").Fence // it was given back
	finish.Inputs = 1
	out, err = k.Steps.Commit(k.Worker(), finish)
	k.Must(err)
	if out.Stale || !k.Read(own.ID).Ended() {
		t.Errorf("with the input it got %+v", out)
	}
}

func TestAnEndForAnotherReasonIsNeverStale(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	_, err := k.Turns.Steer(k.Ctx(), own.ID, "wait", nil, store.Once{})
	k.Must(err)
	out := k.Commit(own, "finish", func(c *step.Commit) {
		c.Ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "limit"}
	})
	if out.Stale || !k.Read(own.ID).Ended() {
		t.Errorf("got %+v", out)
	}
}

func TestACancelThatCameFirstDecidesHowATurnEnds(t *testing.T) {
	for status, want := range map[turnv1.TurnStatus]turnv1.TurnStatus{
		turnv1.TurnStatus_TURN_STATUS_COMPLETED: turnv1.TurnStatus_TURN_STATUS_CANCELLED,
		turnv1.TurnStatus_TURN_STATUS_FAILED:    turnv1.TurnStatus_TURN_STATUS_FAILED,
	} {
		k := newKit(t)
		own := k.Begun("hello")
		k.Must(k.Turns.Cancel(k.Ctx(), own, "enough"))
		out := k.Commit(own, "finish", func(c *step.Commit) { c.Ending = &turnv1.Ending{Status: status, StopReason: "end"} })
		if got := k.Read(own.ID).Status; got != want || !out.Outcome.GetCancelled() {
			t.Errorf("a turn that would be %s is %s", status, got)
		}
	}
}

func TestAStepThatDoesNotFitIntoItsBudgetIsDoneWithoutBeingRun(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello")
	_, err := k.Budgets.Create(k.Ctx(), budget.Spec{Scope: budgetdb.ScopeSubject, Target: sessionstest.Owner, Max: budgetdb.Amount{Calls: 1}})
	k.Must(err)
	k.Begin(own, &turnv1.Surface{})
	k.Commit(own, "tool-1.1", nil)
	got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "tool-1.2", "w1"))
	k.Must(err)
	if use := got.Done.GetExhausted(); use.GetLimit() != 1 || use.GetUsed() != 1 || use.GetWhat() != "tool_calls" {
		t.Fatalf("the second call got %+v", got)
	}
	again, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "tool-1.2", "w2"))
	k.Must(err)
	if !proto.Equal(again.Done, got.Done) {
		t.Errorf("claimed again it got %+v", again)
	}
	types := k.Types(own.SessionID)
	if n := len(types) - len(slices.DeleteFunc(slices.Clone(types), func(s string) bool { return s == "budget.exhausted" })); n != 1 {
		t.Errorf("it is told %d times: %q", n, types)
	}
}

func TestACallThatIsUnderWayTakesTheLastOfABudget(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello")
	b, err := k.Budgets.Create(k.Ctx(), budget.Spec{Scope: budgetdb.ScopeTenant, Max: budgetdb.Amount{Calls: 2}})
	k.Must(err)
	k.Begin(own, &turnv1.Surface{})
	k.Lease(own, "tool-1.1")
	second := k.Lease(own, "tool-1.2")
	got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(own, "tool-1.3", "w1"))
	k.Must(err)
	if got.Done.GetExhausted() == nil {
		t.Fatalf("the third call got %+v", got)
	}
	_, err = k.Steps.Commit(k.Worker(), step.Commit{TurnID: own.ID, Fence: second.Fence, Outcome: &turnv1.StepOutcome{Key: "tool-1.2"}})
	k.Must(err)
	b, err = k.Budgets.Get(k.Ctx(), b.ID)
	k.Must(err)
	if b.Used.Calls != 1 || b.Reserved.Calls != 1 {
		t.Errorf("used and reserved are %+v and %+v", b.Used, b.Reserved)
	}
	k.Finish(own)
	b, err = k.Budgets.Get(k.Ctx(), b.ID)
	k.Must(err)
	if b.Used.Calls != 2 || b.Reserved.Calls != 0 { // a call whose outcome is not known may have been sent
		t.Errorf("after the end used and reserved are %+v and %+v", b.Used, b.Reserved)
	}
}

func TestAnAgentLoadsWithTheLimitsOfItsTurn(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello")
	l, err := k.Steps.Load(k.Worker(), own.ID, true)
	k.Must(err)
	if l.Agent.Spec.Limits.MaxSteps != 25 || l.Surface != nil || len(l.Context.Messages) != 1 || l.Input.Input != "hello" {
		t.Errorf("before it begins it is %+v", l)
	}
	k.Begin(own, &turnv1.Surface{MaxSteps: 7})
	l, err = k.Steps.Load(k.Worker(), own.ID, true)
	k.Must(err)
	if l.Surface.GetMaxSteps() != 7 || l.Context != nil || len(l.Outcomes) != 1 {
		t.Errorf("after it has begun it is %+v", l)
	}
	_, err = k.Steps.Load(k.Worker(), "trn_none", false)
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
}

func TestAToolCallIsFoundInItsMessage(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	out := k.Answer(own, "infer-1", "", &turnv1.ToolCall{CallId: "c1", Tool: "calc__add", ArgumentsJson: "{}"})
	id := out.Outcome.GetMessageId()
	call, err := k.Steps.ToolCall(k.Ctx(), own.ID, id, "c1")
	k.Must(err)
	if call.GetTool() != "calc__add" {
		t.Errorf("got %v", call)
	}
	other := k.Begun("elsewhere")
	for _, row := range [][3]string{
		{own.ID, id, "c2"},
		{own.ID, "msg_none", "c1"},
		{own.ID, "\x00", "c1"},
		{other.ID, id, "c1"},
		{"trn_none", id, "c1"},
	} {
		_, err := k.Steps.ToolCall(k.Ctx(), row[0], row[1], row[2])
		k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
	}
}

func TestAnExecutorsSessionIsThatOfTheSameExecutor(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	l := k.Lease(own, "infer-1")
	attach := func(id string) error {
		_, err := k.Steps.Append(k.Worker(), held(own, "infer-1", l), []*turnv1.Event{{Data: &turnv1.Event_ExecutorAttached{
			ExecutorAttached: &turnv1.ExecutorAttached{ExecutorHash: "h1", ExecutorSessionId: id},
		}}})
		return err
	}
	k.WantFault(attach(strings.Repeat("x", 513)), invalid, "events")
	k.WantFault(attach("a\x00b"), invalid, "events")
	k.Must(attach("first"))
	k.Must(attach("second"))
	for hash, want := range map[string]string{"h1": "second", "h2": ""} {
		if got, err := k.Steps.ExecutorSession(k.Worker(), own, hash); err != nil || got != want {
			t.Errorf("executor %s has the session %q, %v", hash, got, err)
		}
	}
	if got, err := k.Steps.ExecutorSession(k.Worker(), store.Turn{Tenant: authn.DefaultTenant, SessionID: "ses_none"}, "h1"); err != nil ||
		got != "" {
		t.Errorf("no session has %q, %v", got, err)
	}
}

func TestACommitThatTheBusDoesNotTellStands(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	k.Bus.Fail(errors.New("the bus is away"))
	k.Answer(own, "infer-1", "hi")
	if !slices.Contains(k.Types(own.SessionID), "message.completed") {
		t.Errorf("the journal has %q", k.Types(own.SessionID))
	}
}
