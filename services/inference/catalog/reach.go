package catalog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/probe"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// How long the answer of a provider counts: that it can be reached, and that it cannot.
const (
	reachedAge   = 15 * time.Second
	unreachedAge = 5 * time.Second
	reachTimeout = 1500 * time.Millisecond
)

// Checks returns a check of each provider that is called over the network: "model openai". A provider passes if it answers the list of its
// models or the last call, whatever the answer, except that it refuses the key.
func (c *Catalog) Checks() map[string]probe.Check {
	out := map[string]probe.Check{}
	for _, p := range c.providers {
		if !p.Kind.BuiltIn {
			out["model "+p.Name] = probe.Degrades(func(ctx context.Context) error { return p.reach.check(ctx, p.Provider) })
		}
	}
	return out
}

// NoteResult records how a call of the provider ended, for its check.
func (p *Provider) NoteResult(err error) { p.reach.note(err) }

// reach is what is known of a provider: whether it can be reached and takes the key.
type reach struct {
	asking sync.Mutex // held while the provider is asked

	mu    sync.Mutex
	until time.Time // err counts until then
	err   error
}

// note remembers how a call ended.
func (r *reach) note(err error) {
	err = obstacle(err)
	age := reachedAge
	if err != nil {
		age = unreachedAge
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.until = err, time.Now().Add(age)
}

// known returns whether what note was told still counts, and that.
func (r *reach) known() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.until), r.err
}

// check asks the provider for its models unless what it said last still counts. Two checks do not ask at once.
func (r *reach) check(ctx context.Context, p provider.Provider) error {
	r.asking.Lock()
	defer r.asking.Unlock()
	if ok, err := r.known(); ok {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	_, err := p.Models(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "it does not answer within %v", reachTimeout).
			Hint("Check that it runs at its base_url.").Cause(err)
	}
	r.note(err)
	return obstacle(err)
}

// obstacle returns an error that says that no model of the provider can answer: it cannot be reached, or refuses the key. Others concern
// one call or one model.
func obstacle(err error) error {
	f := fault.As(err)
	if f == nil {
		return nil
	}
	switch {
	case f.Reason == faultv1.Reason_REASON_MODEL_UNAVAILABLE, f.Reason == faultv1.Reason_REASON_EGRESS_DENIED:
		return err
	case errors.Is(err, provider.ErrKey):
		return err
	}
	return nil
}
