package trail_test

import (
	"testing"

	"github.com/windlass-dev/windlass/services/policy/audit/trail"
)

// TestTampering: whatever is done to stored records shows, at the record where it was done.
func TestTampering(t *testing.T) {
	for name, c := range map[string]struct {
		do func(env)
		at int64
	}{
		"nothing":                 {func(env) {}, 0},
		"a record is removed":     {func(e env) { e.exec(`DELETE FROM audit_records WHERE tenant = 'one' AND seq = 4`) }, 4},
		"the first is removed":    {func(e env) { e.exec(`DELETE FROM audit_records WHERE tenant = 'one' AND seq = 1`) }, 1},
		"the last is removed":     {func(e env) { e.exec(`DELETE FROM audit_records WHERE tenant = 'one' AND seq = 10`) }, 10},
		"all are removed":         {func(e env) { e.exec(`DELETE FROM audit_records WHERE tenant = 'one'`) }, 1},
		"a subject is changed":    {func(e env) { e.exec(`UPDATE audit_records SET subject = 'corp:bob' WHERE tenant = 'one' AND seq = 3`) }, 3},
		"an outcome is changed":   {func(e env) { e.exec(`UPDATE audit_records SET outcome = 'refused' WHERE tenant = 'one' AND seq = 10`) }, 10},
		"a time is changed":       {func(e env) { e.exec(`UPDATE audit_records SET time_us = time_us - 1 WHERE tenant = 'one' AND seq = 7`) }, 7},
		"a turn is changed":       {func(e env) { e.exec(`UPDATE audit_records SET turn_id = 'trn_9' WHERE tenant = 'one' AND seq = 2`) }, 2},
		"records change places":   {swap, 5},
		"the rest is renumbered":  {renumber, 4},
		"a record is put between": {insert, 4},
		"the end is changed":      {func(e env) { e.exec(`UPDATE audit_heads SET hash = $1 WHERE tenant = 'one'`, trail.Genesis) }, 10},
		"the end is moved back": {func(e env) {
			e.exec(`UPDATE audit_heads SET seq = 9, hash = (SELECT hash FROM audit_records WHERE tenant = 'one' AND seq = 9) WHERE tenant = 'one'`)
		}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(e env) {
				for n := range 10 {
					e.add(trail.Of(e.one), record("one", n), record("two", n))
				}
				c.do(e)
				if rep := e.verify("one", trail.Anchor{}); rep.BrokenAt != c.at || (rep.Problem == "") != (c.at == 0) {
					e.Errorf("broken at %d, want %d: %+v", rep.BrokenAt, c.at, rep)
				}
				if rep := e.verify("two", trail.Anchor{}); rep.BrokenAt != 0 || rep.Records != 10 {
					e.Errorf("the other tenant's: %+v", rep)
				}
			})
		})
	}
}

func swap(e env) {
	for _, move := range [][2]int{{5, 100}, {6, 5}, {100, 6}} {
		e.exec(`UPDATE audit_records SET seq = $2 WHERE tenant = 'one' AND seq = $1`, move[0], move[1])
	}
}

func renumber(e env) {
	e.exec(`DELETE FROM audit_records WHERE tenant = 'one' AND seq = 4`)
	for seq := 5; seq <= 10; seq++ {
		e.exec(`UPDATE audit_records SET seq = $2 WHERE tenant = 'one' AND seq = $1`, seq, seq-1)
	}
}

func insert(e env) {
	for seq := 10; seq >= 4; seq-- {
		e.exec(`UPDATE audit_records SET seq = $2 WHERE tenant = 'one' AND seq = $1`, seq, seq+1)
	}
	r := record("one", 50)
	if err := trail.Of(e.one).Add(e.Context(), r); err != nil {
		e.Fatal(err)
	}
	e.exec(`UPDATE audit_records SET seq = 4 WHERE tenant = 'one' AND id = $1`, r.ID)
}
