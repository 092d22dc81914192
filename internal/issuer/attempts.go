package issuer

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Attempts to log in: a person mistypes a few times, a program would try thousands.
const (
	attemptBurst = 10
	attemptEvery = 2 * time.Second
)

// attempts limits how often a password or code is tried. It is safe for concurrent use.
type attempts struct {
	mu     sync.Mutex
	byUser map[string]*rate.Limiter
	other  *rate.Limiter
}

func newAttempts() *attempts {
	return &attempts{byUser: map[string]*rate.Limiter{}, other: rate.NewLimiter(rate.Every(attemptEvery/10), 10*attemptBurst)}
}

// allow reports whether the user may be tried now. Names that do not exist share one limit.
func (a *attempts) allow(user string, known bool) bool {
	if !known {
		return a.other.Allow()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	l, ok := a.byUser[user]
	if !ok {
		l = rate.NewLimiter(rate.Every(attemptEvery), attemptBurst)
		a.byUser[user] = l
	}
	return l.Allow()
}
