package step_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

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

func TestACommitThatTheBusDoesNotTellStands(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	k.Bus.Fail(errors.New("the bus is away"))
	k.Answer(own, "infer-1", "hi")
	if !slices.Contains(k.Types(own.SessionID), "message.completed") {
		t.Errorf("the journal has %q", k.Types(own.SessionID))
	}
}
