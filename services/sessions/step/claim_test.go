package step_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

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
