package process

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestParseStat(t *testing.T) {
	const rest = " S 12 1 1 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 100 1000000 256 18446744073709551615 1"
	got, err := parseStat("77 (odd ) (name)" + rest)
	if err != nil {
		t.Fatal(err)
	}
	if got.PID != 77 || got.Parent != 12 || got.Usage.CPU != 2*time.Second || got.Usage.RSS == 0 || got.Usage.RSS%256 != 0 {
		t.Errorf("got %+v", got)
	}
	for _, bad := range []string{"", "77 name S 1", "77 (name) S 12 1", "x (name)" + rest} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q is no process status but was read", bad)
		}
	}
}

func TestProcessesAreGrouped(t *testing.T) {
	all := map[int]Stat{}
	for pid, parent := range map[int]int{1: 0, 10: 1, 11: 10, 12: 10, 13: 12, 20: 1, 30: 1} {
		all[pid] = Stat{PID: pid, Parent: parent, Usage: Usage{CPU: time.Second, RSS: int64(pid)}}
	}
	got := Group(all, map[int]string{10: Windlass, 11: Temporal, 20: Tools})
	for group, want := range map[string]Usage{
		Windlass: {CPU: time.Second, RSS: 10},
		Temporal: {CPU: time.Second, RSS: 11},
		Tools:    {CPU: 3 * time.Second, RSS: 12 + 13 + 20}, // what windlass started, and what was started for it
	} {
		if got[group] != want {
			t.Errorf("%s: got %+v, want %+v", group, got[group], want)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %v", got)
	}
}
