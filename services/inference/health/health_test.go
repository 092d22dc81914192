package health_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/services/inference/health"
)

var (
	main   = health.Subject{Kind: health.Key, Name: "a/main", Mark: "1"}
	target = health.Subject{Kind: health.Target, Name: "a/m"}
)

func admitted(t *health.Table, s health.Subject) bool {
	ok, _ := t.Admit(s)
	return ok
}

func TestALimitedKeyCoolsAndIsTriedByOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := health.New(time.Now, nil)
		for range 3 {
			if !admitted(table, main) {
				t.Fatal("a healthy key is refused")
			}
		}
		table.Failed(main, "slowly", 30*time.Second)
		ok, from := table.Admit(main)
		if ok || time.Until(from) != 30*time.Second {
			t.Errorf("%v, from %v", ok, from)
		}
		time.Sleep(30 * time.Second)
		if !admitted(table, main) || admitted(table, main) {
			t.Error("one call is admitted after cooling, and no other")
		}
		table.Failed(main, "slowly", 0)
		if _, from := table.Admit(main); time.Until(from) != 10*time.Second {
			t.Errorf("cools for %v", time.Until(from))
		}
		time.Sleep(10 * time.Second)
		if !admitted(table, main) {
			t.Error("not admitted")
		}
		table.Worked(main, 0)
		if first, second := admitted(table, main), admitted(table, main); !first || !second || len(table.List()) != 0 {
			t.Error("a call that succeeds makes it healthy")
		}
		table.Worked(main, time.Minute)
		if _, from := table.Admit(main); time.Until(from) != time.Minute {
			t.Error("a quota that is used up does not make it cool down")
		}
	})
}

func TestALostTrialIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := health.New(time.Now, nil)
		table.Failed(main, "slowly", time.Second)
		time.Sleep(time.Second)
		if !admitted(table, main) {
			t.Fatal("not admitted")
		}
		time.Sleep(time.Minute)
		if !admitted(table, main) {
			t.Error("a trial without an outcome blocks the key")
		}
	})
}

func TestARefusedKeyStaysDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := health.New(time.Now, nil)
		table.Refused(main, "refused", 0)
		time.Sleep(1000 * time.Hour)
		if admitted(table, main) {
			t.Error("a refused key is called")
		}
		if !admitted(table, health.Subject{Kind: main.Kind, Name: main.Name, Mark: "2"}) {
			t.Error("a changed key is refused")
		}
		if !table.Reset("a/main") || !admitted(table, main) || table.Reset("a/main") {
			t.Error("a reset makes it healthy")
		}
	})
}

func TestAKeyThatIsRefusedForATimeIsTriedByOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := health.New(time.Now, nil)
		table.Refused(main, "no credit", 10*time.Minute)
		if ok, from := table.Admit(main); ok || !from.IsZero() {
			t.Errorf("%v, from %v: no call waits for an account to be paid", ok, from)
		}
		time.Sleep(10 * time.Minute)
		if !admitted(table, main) || admitted(table, main) {
			t.Error("one call is admitted when its time is over, and no other")
		}
		table.Worked(main, 0)
		if first, second := admitted(table, main), admitted(table, main); !first || !second {
			t.Error("a call that succeeds makes it healthy")
		}
	})
}

func TestATargetCoolsAfterFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := health.New(time.Now, nil)
		for i := range 2 {
			table.Failed(target, fmt.Sprint("away ", i), 0)
			if !admitted(table, target) {
				t.Fatalf("cools after %d failures", i+1)
			}
		}
		table.Failed(target, "away", 0)
		if admitted(table, target) {
			t.Error("called after three failures")
		}
		if l := table.List(); len(l) != 1 || l[0].Failures != 3 || l[0].Reason != "away" || l[0].Status != health.Cooling {
			t.Errorf("%v", l)
		}
	})
}

// net connects tables.
type net struct {
	tables []*health.Table
	claims map[health.Subject]time.Time // the states that are claimed
}

func (n *net) Tell(s health.State) {
	for _, t := range n.tables {
		t.Told(s)
	}
}

func (n *net) Claim(s health.State, until time.Time) health.Claim {
	if n.claims[s.Subject].Equal(s.Changed) {
		return health.Claim{Until: until}
	}
	n.claims[s.Subject] = s.Changed
	return health.Claim{Given: true}
}

func (n *net) Release(s health.State) { delete(n.claims, s.Subject) }

func TestReplicasShareWhatTheyKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &net{claims: map[health.Subject]time.Time{}}
		one, two := health.New(time.Now, n), health.New(time.Now, n)
		n.tables = []*health.Table{one, two}
		if !admitted(two, main) {
			t.Fatal("refused")
		}
		time.Sleep(time.Millisecond)
		one.Refused(main, "refused", 0)
		if admitted(two, main) {
			t.Error("the other replica calls a refused key")
		}
		time.Sleep(time.Millisecond)
		two.Reset("a/main")
		if !admitted(one, main) {
			t.Error("a reset is not shared")
		}
	})
}

func TestOneCallIsMadeAfterCoolingOverAllReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &net{claims: map[health.Subject]time.Time{}}
		one, two := health.New(time.Now, n), health.New(time.Now, n)
		n.tables = []*health.Table{one, two}
		for range 3 {
			one.Failed(main, "slowly", time.Second)
			time.Sleep(time.Second)
			if !admitted(two, main) || admitted(one, main) || admitted(two, main) {
				t.Error("not exactly one call is admitted")
			}
			two.Release(main)
			if !admitted(two, main) || admitted(one, main) {
				t.Error("a call without an outcome is not followed by another one")
			}
			two.Failed(main, "slowly", time.Second)
			if admitted(one, main) || admitted(two, main) {
				t.Error("called while it cools down")
			}
			time.Sleep(time.Second)
			if !admitted(one, main) {
				t.Error("not admitted after the second cooling")
			}
		}
	})
}
