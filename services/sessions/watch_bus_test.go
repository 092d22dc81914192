package sessions_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestWatchSurvivesALostBus(t *testing.T) {
	key := authn.NewKey()
	server, err := bus.StartServer(t.Context(), bus.ServerConfig{Listen: "127.0.0.1:0", Key: key})
	must(t, err)
	addr := server.Addr()
	client := openBus(t, bus.Config{URL: "nats://" + addr, Key: key})
	k := newKit(t, options{bus: client, cfg: sessions.Config{PollAway: 20 * time.Millisecond, PollActive: time.Minute}})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	led := &ledger{}
	done := make(chan error, 1)
	go func() { done <- led.follow(t.Context(), k.turns, turn.GetId(), rand.New(rand.NewPCG(1, 1)), 0) }()
	w.begin()
	must(t, server.Close(context.Background()))
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{Content: executiontest.Text("without a bus")}, 0)
	server, err = bus.StartServer(t.Context(), bus.ServerConfig{Listen: addr, Key: key})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close(context.Background())) })
	w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{Content: executiontest.Text("with a new bus")}, 0)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	must(t, <-done)
}

func TestWatchGoesOnWhenTheBusIsClosed(t *testing.T) {
	b, err := bus.Open(t.Context(), bus.Config{URL: bus.Embedded})
	must(t, err)
	k := newKit(t, options{bus: b, cfg: sessions.Config{PollAway: 20 * time.Millisecond, PollActive: time.Minute}})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	led := &ledger{}
	done := make(chan error, 1)
	go func() { done <- led.follow(t.Context(), k.turns, turn.GetId(), rand.New(rand.NewPCG(1, 1)), 0) }()
	must(t, b.Close(context.Background()))
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{Content: executiontest.Text("without a bus")}, 0)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	must(t, <-done)
}

func TestOverflowingFeedReadsTheJournal(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{BusBuffer: 1, WatchBuffer: 4096}})
	k.agent("assistant")
	turn := k.turn(k.session().GetId(), "tell me")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			l := &ledger{turn: turn.GetId()}
			if err := l.follow(t.Context(), k.turns, turn.GetId(), rand.New(rand.NewPCG(7, uint64(i))), 20); err != nil {
				t.Errorf("watcher %d: %v", i, err)
			}
		})
	}
	k.worker(turn).stream(k, 6, 200)
	all.Wait()
}

func TestSlowWatcherIsCutAndResumes(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{WatchBuffer: 8}})
	turn := k.newTurn(strings.Repeat("a long input ", 5000)) // fills the stream's window
	w := k.worker(turn)
	w.begin()
	stream, err := k.turns.WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	l := w.lease("infer-1")
	led := &ledger{}
	for led.seq < l.GetBaseSeq() {
		r, err := stream.Recv()
		must(t, err)
		must(t, led.take(r))
	}
	for n := range uint32(400) {
		w.delta(l, n+1, strings.Repeat("x", 4000))
	}
	for err == nil {
		var r *sessionsv1.WatchTurnResponse
		if r, err = stream.Recv(); err == nil {
			must(t, led.take(r))
		}
	}
	wantFault(t, err, "rate_limited")
	w.answer("infer-1", l, &turnv1.Message{Content: executiontest.Text("x")}, 400)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	must(t, led.follow(t.Context(), k.turns, turn.GetId(), rand.New(rand.NewPCG(1, 1)), 0))
}

func TestLargeEventsReachLiveWatchers(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{PollActive: time.Hour, PollIdle: time.Hour}})
	k.agent("assistant")
	ses := k.session()
	stream, err := k.turns.WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{SessionId: ses.GetId()})
	must(t, err)
	k.turn(ses.GetId(), "small")
	r, err := stream.Recv()
	must(t, err)
	led := &ledger{}
	must(t, led.take(r))
	input := strings.Repeat("x", 1<<20)
	second := k.turn(ses.GetId(), input)
	if r, err = stream.Recv(); err != nil || r.GetEvent().GetTurnQueued().GetInput()[0].GetText() != input {
		t.Fatalf("the large event came as %d bytes, %v", len(r.String()), err)
	}
	must(t, led.take(r))
	got, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: second.GetId()})
	must(t, err)
	if got.GetInput() != input {
		t.Error("the input is not whole")
	}
}
