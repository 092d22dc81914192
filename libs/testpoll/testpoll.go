// Package testpoll waits in tests for what nothing announces. Whatever has an event, a channel or a clock is waited for with that instead.
package testpoll

import (
	"testing"
	"time"
)

const (
	// pause is the time between two checks.
	pause = 5 * time.Millisecond
	// patience bounds the wait. It is far longer than anything takes on a busy machine.
	patience = time.Minute
)

// Until returns when is reports true. It ends the test if that takes too long; what says what was waited for.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(pause), time.NewTimer(patience)
	defer tick.Stop()
	defer limit.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
