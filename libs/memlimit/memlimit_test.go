package memlimit_test

import (
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/memlimit"
)

const mib = 1 << 20

func TestTheLimitFollowsTheNeed(t *testing.T) {
	for _, row := range []struct {
		name              string
		live, other, most int64
		want              int64
	}{
		{name: "little is in use", live: 20 * mib, other: 10 * mib, want: 256 * mib},
		{name: "5,000 watchers are connected", live: 380 * mib, other: 60 * mib, want: 640 * mib},
		{name: "a small change is none", live: 382 * mib, other: 60 * mib, want: 640 * mib},
		{name: "the machine has no more", live: 800 * mib, other: 100 * mib, most: 768 * mib, want: 768 * mib},
		{name: "the machine is very small", live: 20 * mib, most: 100 * mib, want: 256 * mib},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := memlimit.Limit(memlimit.Use{Live: row.live, Other: row.other}, row.most); got != row.want {
				t.Errorf("the limit is %d MiB, want %d", got/mib, row.want/mib)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, row := range []struct {
		limit, env string
		want       int64
		fails      string
		most       int64 // -1 = that of the machine
	}{
		{limit: "off", want: math.MaxInt64},
		{limit: "2GiB", want: 2 << 30, most: 2 << 30},
		{limit: "2GiB", env: "1GiB", want: math.MaxInt64}, // the runtime has read the variable
		{limit: "auto", env: "1GiB", want: math.MaxInt64},
		{limit: "much", want: math.MaxInt64, fails: `memory.limit "much"`},
		{limit: "", want: math.MaxInt64, fails: "memory.limit"},
		{limit: "auto", want: 256 * mib, most: -1},
	} {
		t.Run(row.limit+" "+row.env, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			err := memlimit.Start(t.Context(), memlimit.Config{Limit: row.limit}, row.env, slog.New(slog.DiscardHandler))
			if (err != nil) != (row.fails != "") || err != nil && !strings.Contains(err.Error(), row.fails) {
				t.Errorf("Start = %v", err)
			}
			if got := debug.SetMemoryLimit(-1); got != row.want {
				t.Errorf("the limit is %d, want %d", got, row.want)
			}
			if got := memlimit.Most(); row.most >= 0 && got != row.most || row.most < 0 && got != 0 && got < 256*mib {
				t.Errorf("the process may use %d bytes, want %d", got, row.most)
			}
		})
	}
}
