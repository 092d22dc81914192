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

// allow counts an attempt and reports whether it may be made now. Names that do not exist share one limit. undo takes back an attempt that
// was right: who knows the password guesses nothing, however often they log in.
func (a *attempts) allow(user string, known bool) (undo func(), ok bool) {
	l, now := a.limiter(user, known), time.Now()
	r := l.ReserveN(now, 1)
	undo = func() { r.CancelAt(now) }
	if r.DelayFrom(now) > 0 {
		undo()
		return nil, false
	}
	return undo, true
}

func (a *attempts) limiter(user string, known bool) *rate.Limiter {
	if !known {
		return a.other
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	l, ok := a.byUser[user]
	if !ok {
		l = rate.NewLimiter(rate.Every(attemptEvery), attemptBurst)
		a.byUser[user] = l
	}
	return l
}
