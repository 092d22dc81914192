package child_test

import (
	"slices"
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// TestAParentsTimeStandsStillWhileItsChildWaitsForPeople: a parent with a minute left survives an approval that its child gets after ten.
func TestAParentsTimeStandsStillWhileItsChildWaitsForPeople(t *testing.T) {
	for _, row := range []struct {
		name string
		// before: the child asks before its parent waits for it.
		before bool
		// decide ends the child's wait with a decision; else the child is over without one.
		decide bool
	}{
		{name: "the child asks while its parent waits", decide: true},
		{name: "the child has asked before its parent waits", before: true, decide: true},
		{name: "the child ends without a decision"},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := sessionstest.New(t, sessionstest.Config{})
			k.Agent(helper, agentspec.Spec{})
			k.Agent(sessionstest.Assistant, agentspec.Spec{Agents: []string{helper}})
			parent := k.NewTurn("hello")
			deadline := k.Store.Now().Add(time.Minute)
			k.Begin(parent, &turnv1.Surface{DeadlineMicros: deadline.UnixMicro()})
			c := start(k, parent, "tool-1.1", false)
			k.Begin(k.Read(c.TurnID), &turnv1.Surface{})
			ask := func() store.Wait {
				return k.Wait(k.Read(c.TurnID), "tool-1.1", &store.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, CallId: "c2"})
			}
			var asked store.Wait
			if row.before {
				asked = ask()
			}
			await(k, parent, "tool-1.1", c)
			if !row.before {
				if now := k.Read(parent.ID); now.Waiting() {
					t.Fatalf("the parent waits for people before its child does: %+v", now)
				}
				asked = ask()
			}
			if now := k.Read(parent.ID); !now.Waiting() || now.PeopleWaits != 1 || now.OpenWaits != 1 {
				t.Fatalf("while its child waits for people the parent is %+v", now)
			}
			k.Clock.Advance(10 * time.Minute)
			k.Must(k.Waits.Expire(k.Ctx(), parent))
			if now := k.Read(parent.ID); !now.Waiting() || !now.Deadline.Equal(deadline) {
				t.Fatalf("after its time the parent is %+v", now)
			}
			if row.decide {
				_, err := k.Waits.Update(k.Ctx(), asked, func(tx *journal.Tx, t *store.Turn, w *store.Wait) error {
					return k.Waits.EndAndWake(tx, t, w, turnv1.Verdict_VERDICT_APPROVED, "ann")
				}, func(store.Wait) error { return nil })
				k.Must(err)
			} else {
				k.Finish(k.Read(c.TurnID))
			}
			now := k.Read(parent.ID)
			if now.Waiting() || now.PeopleWaits != 0 || !now.Deadline.Equal(deadline.Add(10*time.Minute)) {
				t.Errorf("afterwards the parent is %+v", now)
			}
			out, err := k.Steps.Outcomes(k.Worker(), parent.ID)
			k.Must(err)
			var resumed *turnv1.StepOutcome
			for _, o := range out.Done {
				if o.GetKey() == "resume-1" {
					resumed = o
				}
			}
			if resumed.GetDeadlineMicros() != now.Deadline.UnixMicro() {
				t.Errorf("its worker learns %v", resumed)
			}
			if types := k.Types(parent.SessionID); !slices.Contains(types, "turn.paused") || !slices.Contains(types, "turn.resumed") {
				t.Errorf("its journal has %q", types)
			}
		})
	}
}
