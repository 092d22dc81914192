package attempt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/health"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// unpaidTime is how long a key whose account has no credit is left alone.
const unpaidTime = 10 * time.Minute

// picked is a target that is called, with one of its provider's keys if there are several.
type picked struct {
	catalog.Model
	key catalog.PoolKey
	// callers: the key is that of the caller, which says nothing about the target for others.
	callers bool
	// unread is why the key cannot be read, nil if it can.
	unread error
	// trials are the subjects of which this is the one call after cooling.
	trials []health.Subject
}

// subjects are those whose health the call is about.
func (p *picked) subjects() []health.Subject {
	out := []health.Subject{targetOf(p.Model)}
	if p.key.Alias != "" {
		out = append(out, subjectOf(p.Provider.Name, p.key))
	}
	return out
}

func targetOf(m catalog.Model) health.Subject {
	return health.Subject{Kind: health.Target, Name: m.FullName()}
}

func subjectOf(provider string, key catalog.PoolKey) health.Subject {
	return health.Subject{Kind: health.Key, Name: provider + "/" + key.Alias, Mark: key.Mark}
}

// pick returns the target to call next, nil if none can be called: the first one that is healthy and has a healthy key, otherwise the first
// one with a healthy key. A key is never called while it cools down.
func (r *run) pick(ctx context.Context) *picked {
	var cooling []catalog.Model
	for _, t := range r.left() {
		var trials []health.Subject
		if len(r.Targets) > 1 {
			ok, trial := r.caller.health.Admit(targetOf(t))
			if !ok {
				cooling = append(cooling, t)
				continue
			}
			if !trial.IsZero() {
				trials = append(trials, targetOf(t))
			}
		}
		if p := r.withKey(ctx, t); p != nil {
			p.trials = append(trials, p.trials...)
			return p
		}
		r.release(trials)
	}
	for _, t := range cooling {
		if p := r.withKey(ctx, t); p != nil {
			return p
		}
	}
	return nil
}

// withKey returns a target with the key to use: that of the caller, or of several the first healthy one in the order of the session; nil if
// all cool down or are refused. A key that cannot be read now comes last.
func (r *run) withKey(ctx context.Context, t catalog.Model) *picked {
	callers, err := r.caller.models.CallersKey(ctx, t, r.Request.TurnID)
	if err != nil || !callers.IsZero() {
		return &picked{Model: t, key: catalog.PoolKey{Value: callers}, callers: true, unread: err}
	}
	aliases := r.caller.models.Aliases(t.Provider.Name)
	if len(aliases) == 0 {
		return &picked{Model: t}
	}
	slices.SortFunc(aliases, func(a, b string) int { return cmp.Compare(r.rank(t, a), r.rank(t, b)) })
	var spare *picked
	for _, alias := range aliases {
		if r.refused(t, alias) {
			continue
		}
		key, err := r.caller.models.PoolKey(t.Provider, alias)
		if err != nil {
			p := &picked{Model: t, key: catalog.PoolKey{Alias: alias}, unread: err}
			if !fault.Retryable(err) {
				return p
			}
			spare = cmp.Or(spare, p)
			continue
		}
		subject := subjectOf(t.Provider.Name, key)
		ok, until := r.caller.health.Admit(subject)
		if !ok {
			r.unfit(t, alias, r.caller.health.State(subject), until)
			continue
		}
		p := &picked{Model: t, key: key}
		if !until.IsZero() {
			p.trials = []health.Subject{subject}
		}
		return p
	}
	return spare
}

// unfit notes why a key is not called; from is when it is again, zero if that is unknown.
func (r *run) unfit(t catalog.Model, alias string, s health.State, from time.Time) {
	how := "cools down"
	if s.Status == health.Dead {
		how = "is refused"
	}
	text := fmt.Sprintf("the key %q of %s %s", alias, t.Provider.Name, how)
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	if !slices.Contains(r.closed, text) {
		r.closed = append(r.closed, text)
	}
	if !from.IsZero() && (r.from.IsZero() || from.Before(r.from)) {
		r.from = from
	}
}

// refused reports whether the key was refused for this target earlier in the call.
func (r *run) refused(t catalog.Model, alias string) bool {
	return slices.ContainsFunc(r.made, func(a *turnv1.ModelAttempt) bool {
		return a.GetModel() == t.FullName() && a.GetKey() == alias && a.GetClass() == refusedKey
	})
}

// rank orders keys in a session: each has its own order, so that keys share the sessions and a session keeps to its key.
func (r *run) rank(t catalog.Model, alias string) string {
	sum := sha256.Sum256([]byte(cmp.Or(r.Session, r.Request.TurnID) + "\x00" + t.Provider.Name + "\x00" + alias))
	return string(sum[:])
}

// release ends trials that nothing was learned from.
func (r *run) release(trials []health.Subject) {
	for _, s := range trials {
		r.caller.health.Release(s)
	}
}

// worked notes a call that was answered. rest is how long the key takes no further calls.
func (r *run) worked(p *picked, rest time.Duration) {
	subjects := p.subjects()
	r.caller.health.Worked(subjects[0], 0)
	if len(subjects) > 1 {
		r.caller.health.Worked(subjects[1], rest)
	}
	p.trials = nil
}

// noteFailure notes what a failure says about the key, or about the target.
func (r *run) noteFailure(p *picked, class turnv1.AttemptClass, err error) {
	subjects, f := p.subjects(), fault.From(err)
	last := subjects[len(subjects)-1]
	if class == refusedKey && p.key.Alias != "" {
		f.Todo = fmt.Sprintf("Check the key %q of %s in inference.keys.", p.key.Alias, p.Provider.Name)
	}
	switch {
	case p.callers && keys(class):
	case errors.Is(err, provider.ErrPermission): // the key may use other models
	case class == refusedKey && errors.Is(err, provider.ErrQuota) && last.Kind == health.Key:
		r.caller.health.Refused(last, f.Message, unpaidTime)
	case class == refusedKey && last.Kind == health.Key:
		r.caller.health.Refused(last, f.Message, 0)
	case class == refusedKey, class == rateLimit:
		r.caller.health.Failed(last, f.Message, f.Retry)
	case class == server, class == firstToken, class == slow, class == broken:
		r.caller.health.Failed(subjects[0], f.Message, f.Retry)
	}
}
