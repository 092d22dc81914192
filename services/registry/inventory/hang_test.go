package inventory_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/services/registry/inventory"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// someSilent are sources that answer, if they are named so.
type someSilent struct {
	silent

	mu      sync.Mutex
	answers map[string]bool // sources that were asked, and whether they answered
}

func (s *someSilent) Discover(ctx context.Context, src store.Source) (store.Inventory, error) {
	good := src.Name == "good"
	s.mu.Lock()
	s.answers[src.ID] = good
	s.mu.Unlock()
	if !good {
		return s.silent.Discover(ctx, src)
	}
	return store.Inventory{}, nil
}

// TestSourcesThatDoNotAnswerDelayNoOther: there are many more of them than there are syncs at once.
func TestSourcesThatDoNotAnswerDelayNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, _ := openStore(t)
		for i := range 40 {
			name := fmt.Sprintf("silent-%d", i)
			if i == 20 {
				name = "good"
			}
			if err := st.CreateSource(t.Context(), store.Source{
				Tenant: "t", ID: "src_" + name, Name: name, Kind: "mcp", State: store.Pending, Revision: 1,
			}); err != nil {
				t.Fatal(err)
			}
		}
		sources := &someSilent{answers: map[string]bool{}}
		syncer := inventory.New(inventory.Config{Every: time.Hour, FirstRetry: time.Hour}, st, sources,
			func(context.Context, int, int) {}, time.Now, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- syncer.Run(ctx) }()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		sources.mu.Lock()
		if len(sources.answers) != 41 || !sources.answers["src_good"] { // one more is that of openStore
			t.Errorf("%d sources were asked, the good one: %t", len(sources.answers), sources.answers["src_good"])
		}
		sources.mu.Unlock()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
