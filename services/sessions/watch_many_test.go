//go:build !race

package sessions_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestThousandWatchersOfOneTurn(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{WatchBuffer: 4096, BusBuffer: 4096}})
	turn := k.newTurn("hello")
	const watchers = 1000
	var all sync.WaitGroup
	for i := range watchers {
		all.Go(func() {
			led := &ledger{}
			if err := led.follow(t.Context(), k.turns, turn.GetId(), rand.New(rand.NewPCG(3, uint64(i))), i%2); err != nil {
				t.Errorf("watcher %d: %v", i, err)
			}
		})
	}
	w := k.worker(turn)
	w.begin()
	l := w.lease("infer-1")
	for n := range uint32(5) {
		w.delta(l, n+1, "x")
	}
	w.answer("infer-1", l, &turnv1.Message{Content: executiontest.Text("done")}, 5)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	all.Wait()
}
