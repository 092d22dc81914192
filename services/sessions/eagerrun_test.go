package sessions_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/bus"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// hear listens for calls to workers.
func (k *kit) hear(subject string) <-chan bus.Msg {
	k.t.Helper()
	sub, err := k.bus.Subscribe(subject, 1000)
	must(k.t, err)
	k.t.Cleanup(sub.Close)
	must(k.t, k.bus.Flush(k.t.Context()))
	return sub.C()
}

func (k *kit) called(c <-chan bus.Msg) contract.TurnInput {
	k.t.Helper()
	var in contract.EagerRun
	select {
	case m := <-c:
		must(k.t, json.Unmarshal(m.Data, &in))
	case <-time.After(time.Minute):
		k.t.Fatal("no worker was called in 20s")
	}
	return in.TurnInput
}

func (w *worker) commitAll(req *executionv1.CommitStepRequest) *executionv1.CommitStepResponse {
	w.t.Helper()
	req.TurnId = w.turn.GetId()
	got, err := w.exec.CommitStep(context.Background(), req)
	must(w.t, err)
	return got
}

func (w *worker) claimOf(key string) *executionv1.ClaimStepRequest {
	return &executionv1.ClaimStepRequest{
		TurnId: w.turn.GetId(), Step: ref(key), Owner: w.owner, Ttl: durationpb.New(30 * time.Second),
		Model: "test/model",
	}
}

// A turn in three transactions: begin and the claim of the model step; its answer and the turn's end.
func (w *worker) ahead(answer string) *executionv1.CommitStepResponse {
	w.t.Helper()
	got := w.commitAll(&executionv1.CommitStepRequest{
		Claim: w.claimOf("begin"), Outcome: &turnv1.StepOutcome{Key: "begin", Surface: &turnv1.Surface{Model: "test/model", MaxSteps: 5}},
		Next: []*executionv1.ClaimStepRequest{w.claimOf("infer-1")},
	})
	if got.GetAdopted() || len(got.GetNext()) != 1 || got.GetNext()[0].GetLease() == nil {
		w.t.Fatalf("begin: %v, want a lease for infer-1", got)
	}
	lease := got.GetNext()[0].GetLease()
	return w.commitAll(&executionv1.CommitStepRequest{
		Fence: lease.GetFence(), Outcome: &turnv1.StepOutcome{Key: "infer-1"},
		Messages: []*turnv1.Message{{Id: lease.GetMessageId(), Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text(answer)}},
		Then:     w.end(),
	})
}

func (w *worker) end() *executionv1.CommitStepRequest {
	return &executionv1.CommitStepRequest{
		TurnId: w.turn.GetId(), Claim: w.claimOf("finish"), Outcome: &turnv1.StepOutcome{Key: "finish"},
		Ending: &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end"},
	}
}

func TestWorkersAreToldOfEachTurnThatMayBegin(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		begin := k.hear(contract.EagerRunSubject("default"))
		k.agent("assistant")
		ses := k.session()
		first, second := k.turn(ses.GetId(), "one"), k.turn(ses.GetId(), "two")
		if in := k.called(begin); in != (contract.TurnInput{
			Tenant: "default", TurnID: first.GetId(), SessionID: ses.GetId(),
			AgentID: "assistant",
		}) {
			t.Fatalf("called for %+v", in)
		}
		if got := k.worker(first).ahead("hello"); got.GetThen().GetNextTurnId() != second.GetId() {
			t.Fatalf("end answered %v", got)
		}
		if in := k.called(begin); in.TurnID != second.GetId() {
			t.Fatalf("called for %+v, want the next turn", in)
		}
		done, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: first.GetId()})
		must(t, err)
		if done.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED || done.GetOutput() != "hello" {
			t.Errorf("turn %v", done)
		}
		outcomes, err := k.exec.GetOutcomes(t.Context(), &executionv1.GetOutcomesRequest{TurnId: first.GetId()})
		must(t, err)
		if len(outcomes.GetOutcomes()) != 3 || !outcomes.GetEnded() || len(outcomes.GetHeld()) != 0 {
			t.Errorf("outcomes %v", outcomes)
		}
		// Its workflow is started all the same, though nobody waits for it.
		k.dispatcher.await(t, func(d *dispatcher) bool { return d.started(first.GetId()) })
		types := ""
		for _, r := range k.watchTurn(first, "") {
			types += r.GetEvent().GetType() + " "
		}
		if want := "turn.queued step.started step.finished step.started message.started message.completed usage.updated step.finished " +
			"step.started step.finished turn.completed "; types != want {
			t.Errorf("events %s\nwant   %s", types, want)
		}
	})
}

func TestACommitWithClaimsIsDoneOnce(t *testing.T) {
	k := newKit(t, options{})
	w := k.worker(k.newTurn("hello"))
	begin := &executionv1.CommitStepRequest{
		Claim: w.claimOf("begin"), Outcome: &turnv1.StepOutcome{Key: "begin", Surface: &turnv1.Surface{Model: "test/model"}},
		Next: []*executionv1.ClaimStepRequest{w.claimOf("infer-1")},
	}
	w.commitAll(begin)
	if again := w.commitAll(begin); !again.GetAdopted() || len(again.GetNext()) > 0 {
		t.Errorf("the second begin: %v", again)
	}
	other := k.worker(w.turn)
	other.owner = "w2"
	if got := other.commitAll(&executionv1.CommitStepRequest{
		Claim:   other.claimOf("infer-1"),
		Outcome: &turnv1.StepOutcome{Key: "infer-1"},
	}); got.GetBusy().GetOwner() != "w1" {
		t.Errorf("a step of another: %v", got)
	}
}

// What follows a commit is taken to be new without a look; where it is not, nothing of what is there is lost.
func TestAStepThatIsThereIsNotTakenAlongWithACommit(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		w := k.worker(k.newTurn("hello"))
		w.begin()
		other := k.worker(w.turn)
		other.owner = "w2"
		infer := w.lease("infer-1")
		held, done := other.lease("tool-1.0"), other.lease("tool-1.1")
		other.commitAll(&executionv1.CommitStepRequest{Fence: done.GetFence(), Outcome: &turnv1.StepOutcome{Key: "tool-1.1", CallHash: "theirs"}})
		got := w.commitAll(&executionv1.CommitStepRequest{
			Fence: infer.GetFence(), Outcome: &turnv1.StepOutcome{Key: "infer-1"},
			Messages: []*turnv1.Message{{Id: infer.GetMessageId(), Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("two calls")}},
			Next:     []*executionv1.ClaimStepRequest{w.claimOf("tool-1.0"), w.claimOf("tool-1.1"), w.claimOf("tool-1.2")},
		})
		next := got.GetNext()
		if len(next) != 3 || next[0].GetBusy().GetOwner() != "w2" || next[1].GetDone().GetCallHash() != "theirs" ||
			next[2].GetLease().GetFence() != 1 {
			t.Fatalf("what follows: %v", next)
		}
		other.commitAll(&executionv1.CommitStepRequest{Fence: held.GetFence(), Outcome: &turnv1.StepOutcome{Key: "tool-1.0"}}) // its lease stands
		w.commitAll(w.end())
		counts := map[string]int{}
		for _, r := range k.watchTurn(w.turn, "") {
			counts[r.GetEvent().GetType()+" "+r.GetEvent().GetStep()]++
		}
		for _, once := range []string{
			"message.completed infer-1", "step.finished infer-1", "step.started tool-1.0", "step.started tool-1.1",
			"step.started tool-1.2",
		} {
			if counts[once] != 1 {
				t.Errorf("%s is in the journal %d times", once, counts[once])
			}
		}
	})
}

func TestACancelStopsWhatWasToFollow(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	got := w.commitAll(&executionv1.CommitStepRequest{
		Claim: w.claimOf("begin"), Outcome: &turnv1.StepOutcome{Key: "begin", Surface: &turnv1.Surface{Model: "test/model"}},
		Next: []*executionv1.ClaimStepRequest{w.claimOf("infer-1")},
	})
	for range 2 {
		_, err := k.exec.RequestCancel(t.Context(), &executionv1.RequestCancelRequest{TurnId: turn.GetId(), Reason: "stopped"})
		must(t, err)
	}
	fence := got.GetNext()[0].GetLease().GetFence()
	got = w.commitAll(&executionv1.CommitStepRequest{Fence: fence, Outcome: &turnv1.StepOutcome{Key: "infer-1"}, Then: w.end()})
	if !got.GetOutcome().GetCancelled() || got.GetThen() != nil {
		t.Errorf("commit after a cancel: %v", got)
	}
}

// Who holds the finish step when a cancel is accepted does not know of it.
func TestACancelCountsForAnEndThatIsUnderWay(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	end := w.end()
	end.Claim, end.Fence = nil, w.lease("finish").GetFence()
	_, err := k.exec.RequestCancel(t.Context(), &executionv1.RequestCancelRequest{TurnId: turn.GetId(), Reason: "stopped"})
	must(t, err)
	w.commitAll(end)
	over, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	if over.GetStatus() != turnv1.TurnStatus_TURN_STATUS_CANCELLED || over.GetStopReason() != "cancelled" {
		t.Errorf("turn %v", over)
	}
}

// leaseWhenCalled claims infer-1 each time that workers are called to the turn, until it is free.
func (w *worker) leaseWhenCalled(k *kit, wake <-chan bus.Msg) *executionv1.Lease {
	w.t.Helper()
	for {
		if in := k.called(wake); in.TurnID != w.turn.GetId() || in.SessionID != w.turn.GetSessionId() || in.AgentID != "assistant" {
			w.t.Fatalf("called for %+v", in)
		}
		got, err := w.claim("infer-1")
		must(w.t, err)
		if got.GetLease() != nil {
			return got.GetLease()
		}
	}
}

func TestAStepRestsBetweenAttempts(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{SweepInterval: 20 * time.Millisecond}})
	wake := k.hear(contract.WakeSubject("default"))
	w := k.worker(k.newTurn("hello"))
	w.begin()
	l := w.lease("infer-1")
	_, err := k.exec.ReleaseStep(t.Context(), &executionv1.ReleaseStepRequest{
		TurnId: w.turn.GetId(), Step: "infer-1", Fence: l.GetFence(),
		Backoff: durationpb.New(600 * time.Millisecond),
	})
	must(t, err)
	if got, err := w.claim("infer-1"); err != nil || got.GetBusy() == nil || got.GetBusy().GetOwner() != "" {
		t.Fatalf("claim of a step at rest: %v, %v", got, err)
	}
	if l := w.leaseWhenCalled(k, wake); l.GetAttempt() != 2 {
		t.Errorf("lease %v", l)
	}
}

func TestAllWorkersAreCalledWhenALeaseRunsOut(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{SweepInterval: 20 * time.Millisecond}})
		wake := k.hear(contract.WakeSubject("default"))
		w := k.worker(k.newTurn("hello"))
		w.begin()
		req := w.claimOf("infer-1")
		req.Ttl = durationpb.New(100 * time.Millisecond)
		old, err := w.exec.ClaimStep(t.Context(), req)
		must(t, err)
		w.owner = "w2"
		w.leaseWhenCalled(k, wake)
		_, err = w.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
			TurnId: w.turn.GetId(), Fence: old.GetLease().GetFence(), Outcome: &turnv1.StepOutcome{Key: "infer-1"},
		})
		wantFault(t, err, "lease_lost")
	})
}

func TestTurnsThatAreOverWaitBehindThoseThatRun(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{MaxStarting: 1, StartDelay: time.Hour}})
	k.agent("assistant")
	over, runs := k.turn(k.session().GetId(), "hello"), k.turn(k.session().GetId(), "hello")
	k.worker(over).ahead("hi") // over before its time to start
	k.dispatcher.await(t, func(d *dispatcher) bool { return d.started(over.GetId()) })
	k.dispatcher.set(func(d *dispatcher) {
		if d.started(runs.GetId()) {
			t.Error("a workflow was started before its time")
		}
	})
}
