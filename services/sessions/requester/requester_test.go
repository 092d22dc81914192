package requester_test

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/requester"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// give records that people gave a turn input.
func give(k *sessionstest.Kit, t store.Turn, people ...string) {
	k.Helper()
	for _, who := range people {
		k.Must(k.Journal.Write(k.As(who), func(tx *journal.Tx) error {
			if _, err := tx.LockTurn(authn.DefaultTenant, t.ID); err != nil {
				return err
			}
			return requester.Record(tx, t)
		}))
	}
}

func of(k *sessionstest.Kit, t store.Turn) (all []string) {
	k.Helper()
	k.Must(k.Write(t.ID, func(tx *journal.Tx, t *store.Turn) (err error) {
		all, err = requester.Of(tx, *t)
		return err
	}))
	return all
}

func want(k *sessionstest.Kit, t store.Turn, people ...string) {
	k.Helper()
	if got := of(k, t); !slices.Equal(got, people) {
		k.Errorf("the requesters are %q, want %q", got, people)
	}
}

func TestWhoBeganATurnIsARequester(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.NewTurn("hello")
	want(k, own, sessionstest.Owner)
	give(k, own, sessionstest.Owner)
	want(k, own, sessionstest.Owner)
}

func TestEachPersonWhoGivesInputIsARequesterOnce(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.NewTurn("hello")
	give(k, own, "zoe", "ann", "zoe", "", "ann")
	want(k, own, "ann", sessionstest.Owner, "zoe")
}

func TestRequestersAreInheritedFromWhatATurnFollowsFrom(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent, rerun, own := k.NewTurn("one"), k.NewTurn("two"), k.NewTurn("three")
	give(k, parent, "ann")
	give(k, rerun, "bob", "ann")
	inherit := func(from ...string) {
		k.Must(k.Write(own.ID, func(tx *journal.Tx, t *store.Turn) error { return requester.Inherit(tx, *t, from...) }))
	}
	inherit()
	want(k, own, sessionstest.Owner)
	inherit(parent.ID)
	want(k, own, "ann", sessionstest.Owner)
	inherit(rerun.ID, parent.ID)
	want(k, own, "ann", "bob", sessionstest.Owner)
	want(k, parent, "ann", sessionstest.Owner) // nothing flows back
}

func TestAnInheritedListDoesNotGrowWithItsOrigin(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	parent, own := k.NewTurn("one"), k.NewTurn("two")
	k.Must(k.Write(own.ID, func(tx *journal.Tx, t *store.Turn) error { return requester.Inherit(tx, *t, parent.ID) }))
	give(k, parent, "late")
	want(k, own, sessionstest.Owner)
}
