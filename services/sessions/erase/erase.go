// Package erase removes what other services have of the turns of deleted sessions: the registry's ledger, the decisions of
// policy, and the histories of Temporal. What is to be erased is in the database until it is done, so that it survives crashes.
package erase

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/backoff"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// batch is how many turns are erased at a time.
	batch = 100
	// together is how many histories are deleted at the same time.
	together = 8
	// timeout bounds the erasure of one batch.
	timeout = 30 * time.Second
	// firstPause is the time before the second attempt; it doubles up to maxPause.
	firstPause = time.Second
	maxPause   = 5 * time.Minute
)

// Store keeps what is to be erased.
type Store interface {
	// TakeErasures returns turns of one tenant that are due, and hides them from other calls until the given time.
	TakeErasures(ctx context.Context, now, until time.Time, limit int) ([]store.Erasure, error)
	// PostponeErasures has turns taken again from the given time on.
	PostponeErasures(ctx context.Context, turns []store.Erasure, until time.Time) error
	// Erased notes that nothing is left of turns. Those whose workflow may be started yet are due again.
	Erased(ctx context.Context, turns []store.Erasure, now time.Time) error
}

// Ledger is the registry's part.
type Ledger interface {
	ForgetTurns(ctx context.Context, in *registryv1.ForgetTurnsRequest, opts ...grpc.CallOption) (*registryv1.ForgetTurnsResponse, error)
}

// Decisions is policy's part.
type Decisions interface {
	ForgetTurns(ctx context.Context, in *policyv1.ForgetTurnsRequest, opts ...grpc.CallOption) (*policyv1.ForgetTurnsResponse, error)
}

// Histories is Temporal's part.
type Histories interface {
	// Forget deletes the workflow of a turn with its history. It succeeds when there is none.
	Forget(ctx context.Context, turnID string) error
}

// Eraser erases in the background. All fields but the wake-up are required.
type Eraser struct {
	Store     Store
	Ledger    Ledger
	Decisions Decisions
	Histories Histories
	Log       *slog.Logger
	// Every is the time between two checks when nothing wakes it.
	Every time.Duration
	// Now returns the time.
	Now func() time.Time

	wake chan struct{}
}

// New completes an eraser.
func New(e Eraser) *Eraser {
	e.wake = make(chan struct{}, 1)
	return &e
}

// Wake has it check soon.
func (e *Eraser) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run erases until ctx ends.
func (e *Eraser) Run(ctx context.Context) {
	tick := time.NewTicker(e.Every)
	defer tick.Stop()
	for {
		if err := e.drain(ctx); err != nil && ctx.Err() == nil {
			e.Log.ErrorContext(ctx, "turns of deleted sessions cannot be erased", "error", err)
		}
		select {
		case <-e.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// drain erases all that is due. What fails is due again later.
func (e *Eraser) drain(ctx context.Context) error {
	for {
		turns, err := e.Store.TakeErasures(ctx, e.Now(), e.Now().Add(2*timeout), batch)
		if err != nil || len(turns) == 0 {
			return err
		}
		done, left, err := e.erase(ctx, turns)
		if err != nil && ctx.Err() == nil {
			e.Log.WarnContext(ctx, "turns of deleted sessions are not erased everywhere yet", "turns", len(left), "error", err)
		}
		if len(done) > 0 {
			if err := e.Store.Erased(context.WithoutCancel(ctx), done, e.Now()); err != nil {
				return err
			}
		}
		if len(left) > 0 {
			if err := e.Store.PostponeErasures(context.WithoutCancel(ctx), left, e.Now().Add(pause(left))); err != nil {
				return err
			}
		}
	}
}

// pause grows with the fewest attempts of a batch.
func pause(turns []store.Erasure) time.Duration {
	attempts := turns[0].Attempts
	for _, t := range turns {
		attempts = min(attempts, t.Attempts)
	}
	return backoff.Policy{First: firstPause, Max: maxPause}.After(attempts)
}

// erase notifies every service that may keep something of turns. Turns that are left without an error have a call under way.
func (e *Eraser) erase(ctx context.Context, turns []store.Erasure) (done, left []store.Erasure, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tenant, ids := turns[0].Tenant, make([]string, len(turns))
	for i, t := range turns {
		ids[i] = t.TurnID
	}
	ledger, ledgerErr := e.Ledger.ForgetTurns(ctx, &registryv1.ForgetTurnsRequest{Tenant: tenant, TurnIds: ids})
	_, policyErr := e.Decisions.ForgetTurns(ctx, &policyv1.ForgetTurnsRequest{Tenant: tenant, TurnIds: ids})
	forgotten, err := e.forget(ctx, ids)
	if err = errors.Join(ledgerErr, policyErr, err); ledgerErr != nil || policyErr != nil || ledger.GetOpen() > 0 {
		return nil, turns, err
	}
	for i, t := range turns {
		if forgotten[i] {
			done = append(done, t)
		} else {
			left = append(left, t)
		}
	}
	return done, left, err
}

// forget deletes the histories of turns, several at a time, and reports which are gone. After the first failure it begins no more: the
// others would fail alike.
func (e *Eraser) forget(ctx context.Context, ids []string) ([]bool, error) {
	gone := make([]bool, len(ids))
	var all errgroup.Group
	all.SetLimit(together)
	var failed atomic.Bool
	for i, id := range ids {
		all.Go(func() error {
			if failed.Load() {
				return nil
			}
			if err := e.Histories.Forget(ctx, id); err != nil {
				failed.Store(true)
				return fmt.Errorf("history of %s: %w", id, err)
			}
			gone[i] = true
			return nil
		})
	}
	return gone, all.Wait()
}
