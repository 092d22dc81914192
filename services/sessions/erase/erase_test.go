package erase_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/sessions/erase"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// world is everything that has something of turns. A history takes a second to delete.
type world struct {
	mu     sync.Mutex
	due    []store.Erasure
	erased []string
	// broken is the turn whose history cannot be deleted, once.
	broken   string
	attempts map[string]int
}

func (w *world) TakeErasures(context.Context, time.Time, time.Time, int) ([]store.Erasure, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.due
	w.due = nil
	return taken, nil
}

func (w *world) PostponeErasures(_ context.Context, turns []store.Erasure, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = append(w.due, turns...)
	return nil
}

func (w *world) Erased(_ context.Context, turns []store.Erasure, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range turns {
		w.erased = append(w.erased, t.TurnID)
	}
	return nil
}

func (w *world) Forget(ctx context.Context, id string) error {
	w.mu.Lock()
	w.attempts[id]++
	broken := w.broken == id && w.attempts[id] == 1
	w.mu.Unlock()
	if broken {
		return errors.New("Temporal is away")
	}
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type ledger struct{}

func (ledger) ForgetTurns(context.Context, *registryv1.ForgetTurnsRequest, ...grpc.CallOption) (*registryv1.ForgetTurnsResponse, error) {
	return &registryv1.ForgetTurnsResponse{}, nil
}

type decisions struct{}

func (decisions) ForgetTurns(context.Context, *policyv1.ForgetTurnsRequest, ...grpc.CallOption) (*policyv1.ForgetTurnsResponse, error) {
	return &policyv1.ForgetTurnsResponse{}, nil
}

// TestHistoriesThatAreGoneAreNotDeletedAgain: a hundred histories take longer than a batch may, one by one, and one of them fails at first.
func TestHistoriesThatAreGoneAreNotDeletedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{attempts: map[string]int{}, broken: "trn_50"}
		for i := range 100 {
			w.due = append(w.due, store.Erasure{Tenant: "default", TurnID: fmt.Sprintf("trn_%d", i)})
		}
		e := erase.New(erase.Eraser{
			Store: w, Ledger: ledger{}, Decisions: decisions{}, Histories: w, Log: slog.New(slog.DiscardHandler), Every: time.Minute, Now: time.Now,
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { e.Run(ctx); close(done) }()
		time.Sleep(time.Minute - time.Second)
		cancel()
		<-done
		slices.Sort(w.erased)
		if len(w.erased) != 100 || len(slices.Compact(w.erased)) != 100 {
			t.Errorf("%d turns are erased", len(w.erased))
		}
		for id, n := range w.attempts {
			if n > 1 && id != w.broken {
				t.Errorf("the history of %s was deleted %d times", id, n)
			}
		}
	})
}
