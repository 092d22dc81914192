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
}

// subjects are those whose health the call is about.
func (p *picked) subjects() []health.Subject {
	out := []health.Subject{{Kind: health.Target, Name: p.FullName()}}
	if p.key.Alias != "" {
		out = append(out, subjectOf(p.Provider.Name, p.key))
	}
	return out
}

func subjectOf(provider string, key catalog.PoolKey) health.Subject {
	return health.Subject{Kind: health.Key, Name: provider + "/" + key.Alias, Mark: key.Mark}
}

// pick returns the target to call next, nil if none can be called: the first one that is healthy and has a healthy key, otherwise the first
// one with a healthy key. A key is never called while it cools down.
func (r *run) pick(ctx context.Context) (*picked, error) {
	var spare *picked
	for _, t := range r.left() {
		p, err := r.withKey(ctx, t)
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		if len(r.Targets) > 1 {
			if ok, _ := r.caller.health.Admit(p.subjects()[0]); !ok {
				spare = cmp.Or(spare, p)
				continue
			}
		}
		if spare != nil {
			r.release(spare)
		}
		return p, nil
	}
	return spare, nil
}

// withKey returns a target with the key to use: that of the caller, or of several the first healthy one in the order of the session; nil if
// all cool down or are refused.
func (r *run) withKey(ctx context.Context, t catalog.Model) (*picked, error) {
	aliases := r.caller.models.Aliases(t.Provider.Name)
	if len(aliases) == 0 {
		return &picked{Model: t}, nil
	}
	callers, err := r.caller.models.CallersKey(ctx, t, r.Request.TurnID)
	if err != nil || !callers.IsZero() {
		return &picked{Model: t, key: catalog.PoolKey{Value: callers}}, err
	}
	slices.SortFunc(aliases, func(a, b string) int { return cmp.Compare(r.rank(t, a), r.rank(t, b)) })
	for _, alias := range aliases {
		key, err := r.caller.models.PoolKey(t.Provider, alias)
		if err != nil {
			return nil, err
		}
		ok, from := r.caller.health.Admit(subjectOf(t.Provider.Name, key))
		if ok && !r.refused(t, alias) {
			return &picked{Model: t, key: key}, nil
		}
		if !from.IsZero() && (r.from.IsZero() || from.Before(r.from)) {
			r.from = from
		}
	}
	return nil, nil
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

// release ends what pick was admitted to, if nothing else has.
func (r *run) release(p *picked) {
	for _, s := range p.subjects() {
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
}

// noteFailure notes what a failure says about the key, or about the target.
func (r *run) noteFailure(p *picked, class turnv1.AttemptClass, err error) {
	subjects, f := p.subjects(), fault.From(err)
	last := subjects[len(subjects)-1]
	if class == refusedKey && p.key.Alias != "" {
		f.Todo = fmt.Sprintf("Check the key %q of %s in inference.keys.", p.key.Alias, p.Provider.Name)
	}
	switch {
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

// cooling says which targets cannot be called now.
func (r *run) cooling() string {
	return "all keys of " + r.Targets[0].Provider.Name + " are limited or refused"
}
