package sessions_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/nats-io/nats.go"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/bus/bustest"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// forger is on the bus without the mesh's key, and keeps what it hears.
type forger struct {
	t     *testing.T
	nc    *nats.Conn
	heard *nats.Subscription
	turn  *sessionsv1.Turn
}

func newForger(t *testing.T, url string, turn *sessionsv1.Turn) *forger {
	t.Helper()
	nc, err := nats.Connect(url, nats.NoEcho()) // else it would replay its own replays for ever
	must(t, err)
	t.Cleanup(nc.Close)
	heard, err := nc.SubscribeSync("windlass.>")
	must(t, err)
	must(t, nc.Flush())
	return &forger{t: t, nc: nc, heard: heard, turn: turn}
}

// strike publishes, for the place that the journal would fill next, an end of the turn, a message and deltas: bare, with a
// signature that was heard, on the subjects of the session and of another tenant; and garbage, and all that was heard once more.
func (f *forger) strike(next uint32) {
	f.t.Helper()
	end := f.event(&turnv1.Event{Seq: next, Type: "turn.completed", Data: &turnv1.Event_TurnEnded{TurnEnded: &turnv1.TurnEnded{
		Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, Output: "forged",
	}}})
	delta := f.event(&turnv1.Event{
		Seq: next - 1, Delta: 1, Type: "message.delta",
		Data: &turnv1.Event_MessageDelta{MessageDelta: &turnv1.MessageDelta{Text: "forged"}},
	})
	loose := f.event(&turnv1.Event{
		Seq: next, Type: "turn.completed",
		Data: &turnv1.Event_MessageDelta{MessageDelta: &turnv1.MessageDelta{Text: "forged"}},
	})
	events, deltas := contract.EventSubject("default", f.turn.GetSessionId()), contract.DeltaSubject("default", f.turn.GetSessionId())
	signed := nats.Header{}
	for {
		m, err := f.heard.NextMsg(10 * time.Millisecond)
		if err != nil {
			break
		}
		if m.Header != nil {
			signed = m.Header
		}
		f.send(&nats.Msg{Subject: m.Subject, Data: m.Data, Header: m.Header}) // a replay
	}
	for _, m := range []*nats.Msg{
		{Subject: events, Data: contract.PackEvents(nil, end)},
		{Subject: events, Data: contract.PackEvents(nil, end), Header: signed},
		{Subject: contract.EventSubject("other", f.turn.GetSessionId()), Data: contract.PackEvents(nil, end)},
		{Subject: events, Data: contract.PackEvents(nil, loose)},
		{Subject: events, Data: []byte("\xff\xff garbage")},
		{Subject: events},
		{Subject: events, Data: bytes.Repeat([]byte{0xa5}, 1<<20)},
		{Subject: deltas, Data: delta},
		{Subject: deltas, Data: delta, Header: signed},
		{Subject: deltas, Data: loose},
		{Subject: deltas, Data: end},
		{Subject: contract.CancelSubject("default", f.turn.GetSessionId()), Data: []byte(f.turn.GetId())},
	} {
		f.send(m)
	}
	must(f.t, f.nc.Flush())
}

func (f *forger) event(e *turnv1.Event) []byte {
	e.SessionId, e.TurnId = f.turn.GetSessionId(), f.turn.GetId()
	data, err := proto.Marshal(e)
	must(f.t, err)
	return data
}

func (f *forger) send(m *nats.Msg) { must(f.t, f.nc.PublishMsg(m)) }

// A sender that can publish on the bus, but has not the mesh's key, shows watchers nothing, hides nothing and repeats nothing,
// live and to those who come late.
func TestForgedMessagesReachNoWatcher(t *testing.T) {
	server := bustest.Foreign(t)
	b := openBus(t, bus.Config{URL: server, Key: authn.NewKey(), Credentials: bus.NoCredentials})
	must(t, b.EnsureKept(t.Context(), bus.KeptConfig{Name: contract.DeltaStream, Subjects: []string{contract.AllDeltas}}))
	k := newKit(t, options{bus: b, cfg: sessions.Config{PollActive: time.Hour, PollIdle: time.Hour}})
	turn := k.newTurn("hello")
	f := newForger(t, server, turn)
	w := k.worker(turn)
	w.begin()

	var watchers []*ledger
	ends := make(chan error)
	watch := func() {
		l := &ledger{turn: turn.GetId()}
		watchers = append(watchers, l)
		go func() { ends <- l.follow(t.Context(), k.turns, turn.GetId(), rand.New(rand.NewPCG(1, 1)), 0) }()
	}
	watch()
	for round := range 3 {
		l := w.lease([]string{"infer-1", "infer-2", "infer-3"}[round])
		f.strike(l.GetBaseSeq() + 1)
		for n := range 3 {
			w.delta(l, uint32(n+1), "x")
		}
		must(t, k.bus.Flush(t.Context()))
		f.strike(l.GetBaseSeq() + 1)
		watch()
		w.answer([]string{"infer-1", "infer-2", "infer-3"}[round], l, &turnv1.Message{Content: executiontest.Text("answer")}, 3)
	}
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	for range watchers {
		must(t, <-ends)
	}
	journal := k.watchTurn(turn, "")
	last := journal[len(journal)-1].GetEvent()
	for i, l := range watchers {
		if l.seq != last.GetSeq() {
			t.Errorf("watcher %d ended at %d, the journal at %d", i, l.seq, last.GetSeq())
		}
	}
	if last.GetTurnEnded().GetOutput() != "answer" {
		t.Errorf("the turn ended as %v", last)
	}
}

// Two tenants have no subject in common, whatever they are called.
func TestTenantsHaveNoSubjectInCommon(t *testing.T) {
	b := openBus(t, bus.Config{URL: bus.Embedded})
	for _, subject := range []func(tenant string) string{
		contract.EagerRunSubject, contract.WakeSubject,
		func(tenant string) string { return contract.EventSubject(tenant, "s") },
		func(tenant string) string { return contract.DeltaSubject(tenant, "s") },
		func(tenant string) string { return contract.CancelSubject(tenant, "s") },
	} {
		own, err := b.Subscribe(subject("a"), 1)
		must(t, err)
		for _, tenant := range []string{"b", "*", ">", "a.b", "", "a ", "A"} {
			must(t, b.Publish(subject(tenant), []byte("foreign")))
		}
		must(t, b.Publish(subject("a"), []byte("own")))
		if m := <-own.C(); string(m.Data) != "own" {
			t.Errorf("tenant a got what was sent to %s", m.Subject)
		}
		own.Close()
	}
}
