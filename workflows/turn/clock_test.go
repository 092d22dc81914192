package turn

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/workflows/contract"
)

// TestTemporalsClockMayBeWrong: a turn's deadline and the ends of its waits are times of the database.
func TestTemporalsClockMayBeWrong(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newScript(1)
			s.skew = skew
			s.waits("tool-1.0", 10*time.Minute)
			env := start(t, s)
			expired := time.Duration(0)
			began := env.Now()
			s.expire = func() {
				expired = env.Now().Sub(began)
				s.later = append(s.later, s.ahead("wait-1.0", waitKind, 1, verdict(0, time.Minute, s.now())))
			}
			r := finish(t, env)
			if (r != contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2, ToolCalls: 1}) {
				t.Errorf("result = %+v", r)
			}
			if s.expiries != 1 || expired < 10*time.Minute || expired > 11*time.Minute {
				t.Errorf("a wait of 10 minutes was expired %d times, after %s", s.expiries, expired)
			}
		})
	}
}
