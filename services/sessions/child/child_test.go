package child_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testmain"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/child"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "20") // each opens a database
	testmain.Verify(m)
}

const helper = "helper"

// parentOf returns a turn that has begun, of an agent with limits, beside an agent that it may call.
func parentOf(k *sessionstest.Kit, limits *agentspec.Limits) store.Turn {
	k.Helper()
	k.Agent(helper, agentspec.Spec{})
	k.Agent(sessionstest.Assistant, agentspec.Spec{Agents: []string{helper}, Limits: limits})
	return k.Begun("hello")
}

// want describes a child that a step of a turn starts.
func want(k *sessionstest.Kit, parent store.Turn, key string, background bool) child.Create {
	k.Helper()
	return child.Create{
		ParentID: parent.ID, Step: key, Fence: k.Lease(parent, key).Fence, CallID: "c1", AgentID: helper, Input: "help me",
		Background: background,
	}
}

// start starts a child.
func start(k *sessionstest.Kit, parent store.Turn, key string, background bool) store.Child {
	k.Helper()
	c, err := k.Children.Create(k.Worker(), want(k, parent, key, background))
	k.Must(err)
	return c
}

// await has the step that started a child end with a wait for it.
func await(k *sessionstest.Kit, parent store.Turn, key string, c store.Child) store.Wait {
	k.Helper()
	out, err := k.Steps.Commit(k.Worker(), step.Commit{
		TurnID: parent.ID, Fence: 1, Outcome: &turnv1.StepOutcome{Key: key},
		Wait: &store.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_CHILD, CallId: c.CallID, ChildTurnId: c.TurnID},
	})
	k.Must(err)
	return wait(k, out.Outcome.GetWait().GetId())
}

func wait(k *sessionstest.Kit, id string) store.Wait {
	k.Helper()
	w, err := k.Store.Wait(k.Context(), authn.DefaultTenant, id)
	k.Must(err)
	return w
}

// run has a child answer.
func run(k *sessionstest.Kit, c store.Child, text string) {
	k.Helper()
	t := k.Read(c.TurnID)
	k.Begin(t, &turnv1.Surface{})
	k.Answer(t, "infer-1", text)
	k.Finish(k.Read(t.ID))
}

func link(k *sessionstest.Kit, c store.Child) store.Child {
	k.Helper()
	now, err := k.Store.Child(k.Context(), c.Tenant, c.TurnID)
	k.Must(err)
	return now
}

func TestAChildWorksInASessionOfItsOwnForTheSamePerson(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	c := start(k, parent, "tool-1.1", false)
	got, ses := k.Read(c.TurnID), k.ReadSession(c.SessionID)
	if got.Subject != sessionstest.Owner || got.AgentPath != "assistant/helper" || ses.ParentTurn != parent.ID || ses.ID == parent.SessionID {
		t.Errorf("the child is %+v in %+v", got, ses)
	}
	if c.Depth != 1 || c.RootTurnID != parent.ID || c.OriginTurnID != parent.ID || k.Read(parent.ID).Children != 1 {
		t.Errorf("its link is %+v", c)
	}
}

func TestAStepStartsOneChildHoweverOftenItAsks(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	req := want(k, parent, "tool-1.1", false)
	first, err := k.Children.Create(k.Worker(), req)
	k.Must(err)
	again, err := k.Children.Create(k.Worker(), req)
	k.Must(err)
	if first != again || k.Read(parent.ID).Children != 1 {
		t.Errorf("the step started %+v and %+v", first, again)
	}
}

// TestAStepThatWasCutOffFindsItsChild: the link is written, and the child's turn is not.
func TestAStepThatWasCutOffFindsItsChild(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	req := want(k, parent, "tool-1.1", false)
	heal := k.FailWrites("INSERT", "turns")
	c, err := k.Children.Create(k.Worker(), req)
	heal()
	if err == nil || k.Read(parent.ID).Children != 1 {
		t.Fatalf("got %+v, %v", c, err)
	}
	again, err := k.Children.Create(k.Worker(), req)
	k.Must(err)
	if again.TurnID != c.TurnID || k.Read(c.TurnID).ID == "" {
		t.Errorf("the second attempt started %+v, the first %+v", again, c)
	}
}

func TestAChildIsRefusedWithoutItsStepItsAgentOrItsInput(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{MaxInputBytes: 100})
	parent := parentOf(k, nil)
	req := want(k, parent, "tool-1.1", false)
	for _, row := range []struct {
		name   string
		change func(*child.Create)
		reason faultv1.Reason
		fields []string
	}{
		{"another fence", func(c *child.Create) { c.Fence++ }, faultv1.Reason_REASON_LEASE_LOST, nil},
		{"another step", func(c *child.Create) { c.Step = "tool-9.9" }, faultv1.Reason_REASON_LEASE_LOST, nil},
		{"no such agent", func(c *child.Create) { c.AgentID = "none" }, faultv1.Reason_REASON_NOT_FOUND, nil},
		{"no such parent", func(c *child.Create) { c.ParentID = "trn_none" }, faultv1.Reason_REASON_NOT_FOUND, nil},
		{"a long input", func(c *child.Create) { c.Input = strings.Repeat("x", 101) }, faultv1.Reason_REASON_TOO_LARGE, []string{"input"}},
	} {
		wrong := req
		row.change(&wrong)
		_, err := k.Children.Create(k.Worker(), wrong)
		t.Log(row.name)
		k.WantFault(err, row.reason, row.fields...)
	}
	if got := k.Read(parent.ID).Children; got != 0 {
		t.Errorf("%d children stand", got)
	}
}

func TestATreeIsBoundInDepthAndNumber(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, &agentspec.Limits{MaxChildren: 2, MaxDepth: 1})
	first := start(k, parent, "tool-1.1", false)
	start(k, parent, "tool-1.2", false)
	_, err := k.Children.Create(k.Worker(), want(k, parent, "tool-1.3", false))
	k.WantFault(err, faultv1.Reason_REASON_LIMIT_REACHED)
	// A child is bound by the limits of its parent, whatever those of its own agent are.
	below := k.Read(first.TurnID)
	k.Begin(below, &turnv1.Surface{})
	_, err = k.Children.Create(k.Worker(), want(k, below, "tool-1.1", false))
	k.WantFault(err, faultv1.Reason_REASON_LIMIT_REACHED)
}

func TestAChildThatEndsAnswersItsParent(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	c := start(k, parent, "tool-1.1", false)
	w := await(k, parent, "tool-1.1", c)
	if !w.Open() || k.Read(parent.ID).Waiting() {
		t.Fatalf("the wait is %+v", w)
	}
	run(k, c, "done")
	w = wait(k, w.ID)
	if w.Verdict != turnv1.Verdict_VERDICT_ANSWERED || w.Answer.GetResult().GetContent()[0].GetText() != "done" || !link(k, c).ParentNotified {
		t.Errorf("the wait is %+v", w)
	}
	if k.Read(parent.ID).WakeTime.IsZero() {
		t.Error("the parent is not woken")
	}
}

func TestAChildThatEndsBeforeItsParentWaitsAnswersAtOnce(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	c := start(k, parent, "tool-1.1", false)
	run(k, c, "done")
	if link(k, c).ParentNotified {
		t.Fatal("a parent that does not wait yet was notified")
	}
	if w := await(k, parent, "tool-1.1", c); w.Open() || w.Answer.GetResult().GetContent()[0].GetText() != "done" ||
		!link(k, c).ParentNotified {
		t.Errorf("the wait is %+v", w)
	}
}

func TestAnAnswerThatCannotBeWrittenIsBroughtByTheSweep(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	c := start(k, parent, "tool-1.1", false)
	w := await(k, parent, "tool-1.1", c)
	heal := k.FailWrites("UPDATE", "turn_waits")
	run(k, c, "done")
	k.Must(k.Children.Sweep(k.Worker()))
	heal()
	if !wait(k, w.ID).Open() || link(k, c).Attempts == 0 {
		t.Fatalf("the wait is %+v, the link %+v", wait(k, w.ID), link(k, c))
	}
	k.Clock.Advance(time.Minute)
	k.Must(k.Children.Sweep(k.Worker()))
	if wait(k, w.ID).Open() || !link(k, c).ParentNotified {
		t.Errorf("the wait is %+v, the link %+v", wait(k, w.ID), link(k, c))
	}
}

func TestTheResultSaysHowTheChildEnded(t *testing.T) {
	for _, row := range []struct {
		name    string
		answer  string
		ending  *turnv1.Ending
		says    string
		isError bool
	}{
		{"an answer", "done", sessionstest.Completed(), "done", false},
		{"no answer", "", sessionstest.Completed(), "(the agent gave no answer)", false},
		{
			"a failure", "", &turnv1.Ending{
				Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: "error", Error: &turnv1.TurnError{Code: "internal", Message: "It broke"},
			}, `"helper" failed: It broke (internal)`, true,
		},
		{
			"a limit", "half", &turnv1.Ending{
				Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "limit", LimitReached: &turnv1.LimitReached{Limit: "max_steps", Value: 3},
			}, "half", true,
		},
		{"a cancel", "", &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: "cancelled"}, "cancelled", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := sessionstest.New(t, sessionstest.Config{})
			parent := parentOf(k, nil)
			c := start(k, parent, "tool-1.1", false)
			w := await(k, parent, "tool-1.1", c)
			own := k.Read(c.TurnID)
			k.Begin(own, &turnv1.Surface{})
			if row.answer != "" {
				k.Answer(own, "infer-1", row.answer)
			}
			k.Commit(own, "finish", func(c *step.Commit) { c.Ending = row.ending })
			r := wait(k, w.ID).Answer.GetResult()
			if text := r.GetContent()[0].GetText(); !strings.Contains(text, row.says) || r.GetIsError() != row.isError {
				t.Errorf("the parent reads %q, an error: %t", text, r.GetIsError())
			}
		})
	}
}

func TestAParentThatEndsStopsTheChildrenThatItWaitsFor(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	awaited, background := start(k, parent, "tool-1.1", false), start(k, parent, "tool-1.2", true)
	k.Finish(k.Read(parent.ID))
	if now := k.Read(awaited.TurnID); now.Status != turnv1.TurnStatus_TURN_STATUS_CANCELLED {
		t.Errorf("the child is %+v", now)
	}
	if now := k.Read(background.TurnID); now.Ended() || now.CancelRequested {
		t.Errorf("the child in the background is %+v", now)
	}
}

func TestAChildInTheBackgroundCallsBackOnce(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	c := start(k, parent, "tool-1.1", true)
	k.Finish(k.Read(parent.ID))
	run(k, c, "done")
	k.Must(k.Children.Sweep(k.Worker()))
	turns, err := k.Turns.List(k.Ctx(), turn.Filter{SessionID: parent.SessionID, Page: store.Page{Limit: 10}})
	k.Must(err)
	if len(turns) != 2 || !link(k, c).ParentNotified {
		t.Fatalf("the session has %d turns", len(turns))
	}
	v, err := k.Turns.Read(k.Ctx(), authn.DefaultTenant, k.ReadSession(parent.SessionID).ActiveTurnID)
	k.Must(err)
	if !strings.Contains(v.Input.Input, "done") || !strings.Contains(v.Input.Input, helper) || v.Subject != sessionstest.Owner {
		t.Errorf("it was told %+v", v.Input)
	}
}

func TestAResultThatTheSessionRefusesStandsInItsJournal(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	c := start(k, parent, "tool-1.1", true)
	k.Finish(k.Read(parent.ID))
	k.Must(k.Agents.Delete(k.Ctx(), sessionstest.Assistant, true))
	run(k, c, "done")
	undelivered := func() (n int) {
		for _, e := range k.Events(parent.SessionID) {
			if d := e.GetChildCompleted(); d.GetUndelivered() != "" && strings.Contains(d.GetOutput(), "done") {
				n++
			}
		}
		return n
	}
	if undelivered() != 1 || link(k, c).ParentNotified {
		t.Fatalf("it is told %d times", undelivered())
	}
	for range 3 { // it is offered until its time is over, and then given up
		k.Clock.Advance(2 * time.Hour)
		k.Must(k.Children.Sweep(k.Worker()))
	}
	if undelivered() != 1 || !link(k, c).ParentNotified {
		t.Errorf("it is told %d times, and the link is %+v", undelivered(), link(k, c))
	}
}

func TestATreeHasTheUsageOfAllItsTurns(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	c := start(k, parent, "tool-1.1", false)
	k.Answer(parent, "infer-1", "one")
	run(k, c, "two")
	tree, err := k.Children.Tree(k.Ctx(), parent.ID)
	k.Must(err)
	if len(tree.Children) != 1 || tree.Children[0].CallID != "c1" || tree.Total.GetModelCalls() != 2 || tree.Total.GetInputTokens() != 20 {
		t.Errorf("the tree is %+v with %v", tree.Children, tree.Total)
	}
	if tree.Children[0].Total.GetModelCalls() != 1 {
		t.Errorf("the child used %v", tree.Children[0].Total)
	}
	_, err = k.Children.Tree(k.As("eve"), parent.ID)
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
}

func TestATurnWaitsForPeopleThroughItsChildren(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent := parentOf(k, nil)
	c := start(k, parent, "tool-1.1", false)
	await(k, parent, "tool-1.1", c)
	below := k.Read(c.TurnID)
	k.Begin(below, &turnv1.Surface{})
	w := k.Wait(below, "tool-1.1", &store.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_INPUT, CallId: "q1"})
	got, err := k.Children.WaitingFor(k.Ctx(), k.Read(parent.ID))
	k.Must(err)
	if len(got) != 1 || got[0] != w.ID {
		t.Errorf("it waits for %q, want %q", got, w.ID)
	}
}
