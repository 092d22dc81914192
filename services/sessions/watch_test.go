package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// drain reads a watch until it ends.
func drain(t testing.TB, turns sessionsv1.TurnServiceClient, req *sessionsv1.WatchTurnRequest) ([]*sessionsv1.WatchTurnResponse, error) {
	t.Helper()
	stream, err := turns.WatchTurn(t.Context(), req)
	if err != nil {
		return nil, err
	}
	var got []*sessionsv1.WatchTurnResponse
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, r)
	}
}

// ledger checks what one watcher has seen: each durable event once and in order, the deltas of each message without gap or repetition.
type ledger struct {
	turn   string // set when other turns' events may be in between
	seq    uint32
	base   uint32
	n      uint32
	deltas int
	ended  bool
	cursor string
}

func (l *ledger) take(r *sessionsv1.WatchTurnResponse) error {
	e := r.GetEvent()
	if l.turn != "" && e.GetTurnId() != l.turn {
		return fmt.Errorf("event of turn %s", e.GetTurnId())
	}
	if strings.HasSuffix(e.GetType(), ".delta") {
		if e.GetSeq() != l.base || e.GetDelta() != l.n+1 {
			return fmt.Errorf("delta %d.%d after %d.%d", e.GetSeq(), e.GetDelta(), l.base, l.n)
		}
		l.n, l.cursor = e.GetDelta(), r.GetCursor()
		l.deltas++
		if want := fmt.Sprintf("%d.%d", l.seq, l.n); r.GetCursor() != want {
			return fmt.Errorf("cursor %q of a delta, want %q", r.GetCursor(), want)
		}
		return nil
	}
	if e.GetSeq() != l.seq+1 && (l.turn == "" || e.GetSeq() <= l.seq) {
		return fmt.Errorf("event %d after %d", e.GetSeq(), l.seq)
	}
	l.seq, l.cursor = e.GetSeq(), r.GetCursor()
	switch e.GetData().(type) {
	case *turnv1.Event_MessageStarted, *turnv1.Event_MessageReset:
		l.base, l.n = e.GetSeq(), 0
	case *turnv1.Event_MessageCompleted:
		l.base, l.n = 0, 0
	case *turnv1.Event_TurnEnded:
		l.ended = true
	}
	want := strconv.FormatUint(uint64(l.seq), 10)
	if l.base != 0 && l.n > 0 {
		want += "." + strconv.FormatUint(uint64(l.n), 10)
	}
	if r.GetCursor() != want {
		return fmt.Errorf("cursor %q of event %d, want %q", r.GetCursor(), l.seq, want)
	}
	return nil
}

// follow watches a turn to its end, reconnecting after a random number of events.
func (l *ledger) follow(ctx context.Context, turns sessionsv1.TurnServiceClient, turn string, dice *rand.Rand, reconnects int) error {
	for !l.ended {
		watching, cancel := context.WithCancel(ctx)
		stream, err := turns.WatchTurn(watching, &sessionsv1.WatchTurnRequest{TurnId: turn, After: l.cursor})
		left := -1
		if reconnects > 0 {
			left = dice.IntN(6)
			reconnects--
		}
		for err == nil && left != 0 {
			var r *sessionsv1.WatchTurnResponse
			if r, err = stream.Recv(); err == nil {
				err = l.take(r)
			}
			left--
		}
		cancel()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if errors.Is(err, io.EOF) && !l.ended {
			return fmt.Errorf("stream ended after %s, before the turn did", l.cursor)
		}
	}
	return nil
}

// stream writes a turn with rounds of messages in deltas; foreign turns are queued in mid-message.
func (w *worker) stream(k *kit, rounds, deltas int) {
	w.begin()
	for round := range rounds {
		key := stepkey.Infer(round + 1)
		l := w.lease(key)
		for n := range deltas {
			w.delta(l, uint32(n+1), "x")
			if n == deltas/2 && round%3 == 0 {
				k.turn(w.turn.GetSessionId(), "and later this")
			}
		}
		w.answer(key, l, &turnv1.Message{Content: executiontest.Text("answer")}, uint32(deltas))
	}
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
}

func TestReconnectingWatchersLoseAndRepeatNothing(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{WatchBuffer: 4096, BusBuffer: 4096}})
		k.agent("assistant")
		ses := k.session()
		turn := k.turn(ses.GetId(), "tell me")
		const watchers, rounds, deltas = 8, 12, 30
		var all sync.WaitGroup
		for i := range watchers {
			all.Go(func() {
				l := &ledger{turn: turn.GetId()}
				if err := l.follow(t.Context(), k.turns, turn.GetId(), rand.New(rand.NewPCG(1, uint64(i))), 100); err != nil {
					t.Errorf("watcher %d: %v", i, err)
				}
			})
		}
		steady, err := k.turns.WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{TurnId: turn.GetId()})
		must(t, err)
		l := &ledger{turn: turn.GetId()}
		r, err := steady.Recv()
		must(t, err)
		must(t, l.take(r))
		all.Go(func() { k.worker(turn).stream(k, rounds, deltas) })
		for !l.ended {
			r, err := steady.Recv()
			must(t, err)
			must(t, l.take(r))
		}
		if l.deltas != rounds*deltas {
			t.Errorf("who stayed got %d deltas, want %d", l.deltas, rounds*deltas)
		}
		all.Wait()
	})
}

func TestSessionWatchersSeeEveryTurn(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{WatchBuffer: 4096}})
	k.agent("assistant")
	ses := k.session()
	first := k.turn(ses.GetId(), "one")
	k.turn(ses.GetId(), "two")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := k.turns.WatchTurn(ctx, &sessionsv1.WatchTurnRequest{SessionId: ses.GetId()})
	must(t, err)
	next := k.worker(first).run("1").GetNextTurnId()
	second := k.worker(&sessionsv1.Turn{Id: next, SessionId: ses.GetId()})
	second.run("2")
	l, ends := &ledger{}, 0
	for ends < 2 {
		r, err := stream.Recv()
		must(t, err)
		must(t, l.take(r))
		if r.GetEvent().GetTurnEnded() != nil {
			ends++
		}
	}
}

func TestLateJoinerGetsTheOpenMessage(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	l := w.lease("infer-1")
	for n := range uint32(20) {
		w.delta(l, n+1, "x")
	}
	must(t, k.bus.Flush(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, after := range []string{"", "1", strconv.Itoa(int(l.GetBaseSeq())) + ".7"} {
		stream, err := k.turns.WatchTurn(ctx, &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: after})
		must(t, err)
		led := &ledger{}
		if after == "1" {
			led.seq = 1
		} else if after != "" {
			led.seq, led.base, led.n = l.GetBaseSeq(), l.GetBaseSeq(), 7
		}
		for led.n < 20 {
			r, err := stream.Recv()
			must(t, err)
			must(t, led.take(r))
		}
	}
	w.answer("infer-1", l, &turnv1.Message{Content: executiontest.Text("done")}, 20)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	completed := false // a feed that is a moment behind may still have it open
	for _, r := range k.watchTurn(turn, "") {
		completed = completed || r.GetEvent().GetMessageCompleted() != nil
		if completed && strings.HasSuffix(r.GetEvent().GetType(), ".delta") {
			t.Fatal("a completed message was followed by its deltas")
		}
	}
}

func TestCursors(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	k.worker(turn).run("done")
	last := k.watchTurn(turn, "")
	end := last[len(last)-1].GetCursor()
	if got := k.watchTurn(turn, end); len(got) != 0 {
		t.Errorf("after the end came %v", got)
	}
	if got := k.watchTurn(turn, last[3].GetCursor()); len(got) != len(last)-4 || got[0].GetCursor() != last[4].GetCursor() {
		t.Errorf("after %s came %d events", last[3].GetCursor(), len(got))
	}
	if got := k.watchTurn(turn, "0"); len(got) != len(last) {
		t.Errorf("after 0 came %d events, want %d", len(got), len(last))
	}
	for _, row := range []struct {
		name string
		req  *sessionsv1.WatchTurnRequest
		code string
		path string
	}{
		{"garbage", &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: "abc"}, "invalid_cursor", "after"},
		{"a sign", &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: "+1"}, "invalid_cursor", "after"},
		{"a leading zero", &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: "01"}, "invalid_cursor", "after"},
		{"negative", &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: "-1"}, "invalid_cursor", "after"},
		{"too large", &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: "99999999999999"}, "invalid_cursor", "after"},
		{"zero deltas", &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: "1.0"}, "invalid_cursor", "after"},
		{"deltas of nothing", &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: "1.2"}, "invalid_cursor", "after"},
		{"ahead of the journal", &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), After: "5000"}, "invalid_cursor", "after"},
		{"neither session nor turn", &sessionsv1.WatchTurnRequest{}, "invalid_argument", "session_id"},
		{"both", &sessionsv1.WatchTurnRequest{TurnId: turn.GetId(), SessionId: turn.GetSessionId()}, "invalid_argument", "session_id"},
		{"unknown turn", &sessionsv1.WatchTurnRequest{TurnId: "trn_nope"}, "not_found", ""},
		{"unknown session", &sessionsv1.WatchTurnRequest{SessionId: "ses_\x00"}, "not_found", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := drain(t, k.turns, row.req)
			if row.path == "" {
				wantFault(t, err, row.code)
				return
			}
			wantFault(t, err, row.code, row.path)
		})
	}
	_, err := drain(t, k.as(authn.User("mallory")), &sessionsv1.WatchTurnRequest{TurnId: turn.GetId()})
	wantFault(t, err, "not_found")
}

func TestResetStartsTheDeltasAnew(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	stream, err := k.turns.WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	led := &ledger{}
	r, err := stream.Recv() // the watcher is connected before the deltas are sent
	must(t, err)
	must(t, led.take(r))
	first := w.lease("infer-1")
	w.delta(first, 1, "half an ans")
	_, err = k.exec.ReleaseStep(t.Context(), &executionv1.ReleaseStepRequest{TurnId: turn.GetId(), Step: "infer-1", Fence: first.GetFence()})
	must(t, err)
	second := w.lease("infer-1")
	w.delta(first, 2, "late words of the first attempt")
	w.delta(second, 1, "the answer")
	w.answer("infer-1", second, &turnv1.Message{Content: executiontest.Text("the answer")}, 1)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	for !led.ended {
		r, err := stream.Recv()
		must(t, err)
		must(t, led.take(r))
	}
	if led.deltas < 1 || led.deltas > 2 {
		t.Errorf("%d deltas", led.deltas)
	}
}

func TestWatchEndsWithTheService(t *testing.T) {
	k := newKit(t, options{idle: true})
	turn := k.newTurn("hello")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.svc.Run(ctx) }()
	stream, err := k.turns.WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	_, err = stream.Recv()
	must(t, err)
	cancel()
	must(t, <-done)
	_, err = stream.Recv()
	wantFault(t, err, "unavailable")
}

// TestAQueuedTurnEndsWhileAMessageIsOpen: the message stays open, for those who watch and for those who resume.
func TestAQueuedTurnEndsWhileAMessageIsOpen(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	l := w.lease("infer-1")
	w.delta(l, 1, "x")
	queued := k.turn(turn.GetSessionId(), "later")
	_, err := k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: queued.GetId()})
	must(t, err)
	over := k.watchTurn(queued, "")
	ended := over[len(over)-1].GetCursor()
	w.delta(l, 2, "y")
	must(t, k.bus.Flush(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, req := range []*sessionsv1.WatchTurnRequest{
		{TurnId: turn.GetId(), After: ended + ".1"}, {SessionId: turn.GetSessionId(), After: ended + ".1"},
	} {
		stream, err := k.turns.WatchTurn(ctx, req)
		must(t, err)
		if r, err := stream.Recv(); err != nil || r.GetCursor() != ended+".2" {
			t.Errorf("resumed with %v, %v", r, err)
		}
	}
}
