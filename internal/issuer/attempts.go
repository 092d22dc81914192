package issuer

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Attempts to log in: a person mistypes a few times, a program would try thousands.
const (
	attemptBurst = 10
	attemptEvery = 2 * time.Second
	// attemptsKept limits what is remembered. Who could make it forget has as many accounts on this machine.
	attemptsKept = 10_000
)

// tried is what is limited: attempts for a user's password, or for names that do not exist and codes (user is ""), by the operating-system
// user that makes them. So another account of the machine can use up its own attempts only.
type tried struct{ user, account string }

// attempts limits how often a password or code is tried. It is safe for concurrent use.
type attempts struct {
	mu       sync.Mutex
	limiters *lru.Cache[tried, *rate.Limiter]
}

func newAttempts() (*attempts, error) {
	limiters, err := lru.New[tried, *rate.Limiter](attemptsKept)
	return &attempts{limiters: limiters}, err
}

// allow counts an attempt and reports whether it may be made now. Names that do not exist share one limit. undo takes back an attempt that
// was right: who knows the password guesses nothing, however often they log in.
func (a *attempts) allow(account, user string, known bool) (undo func(), ok bool) {
	if !known {
		user = ""
	}
	l, now := a.limiter(tried{user, account}), time.Now()
	r := l.ReserveN(now, 1)
	undo = func() { r.CancelAt(now) }
	if r.DelayFrom(now) > 0 {
		undo()
		return nil, false
	}
	return undo, true
}

func (a *attempts) limiter(of tried) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	l, ok := a.limiters.Get(of)
	if !ok {
		l = rate.NewLimiter(rate.Every(attemptEvery), attemptBurst)
		a.limiters.Add(of, l)
	}
	return l
}
