package sessions_test

import (
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// BenchmarkStep measures the hot path on the in-memory network: the claim and the commit of an infer step, and the adoption of a done one.
func BenchmarkStep(b *testing.B) {
	k := newKit(b, options{})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	ctx, exec := b.Context(), k.asWorker()
	claim := func(key string) *executionv1.ClaimStepResponse {
		got, err := exec.ClaimStep(ctx, &executionv1.ClaimStepRequest{
			TurnId: turn.GetId(), Step: ref(key), Owner: "w1",
			Ttl:   durationpb.New(time.Minute),
			Model: "m",
		})
		must(b, err)
		return got
	}
	commit := func(key string, l *executionv1.Lease) {
		m := &turnv1.Message{Id: l.GetMessageId(), Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("some answer of a model")}
		_, err := exec.CommitStep(ctx, &executionv1.CommitStepRequest{
			TurnId: turn.GetId(), Fence: l.GetFence(), Outcome: &turnv1.StepOutcome{Key: key, Usage: &turnv1.Usage{InputTokens: 1}},
			Messages: []*turnv1.Message{m},
			Events:   []*turnv1.Event{{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m}}}},
		})
		must(b, err)
	}
	n := 0
	b.Run("claim", func(b *testing.B) {
		for b.Loop() {
			n++
			claim(stepkey.Infer(n))
		}
	})
	b.Run("claim+commit", func(b *testing.B) {
		for b.Loop() {
			n++
			key := stepkey.Infer(n)
			commit(key, claim(key).GetLease())
		}
	})
	b.Run("adopt", func(b *testing.B) {
		for b.Loop() {
			claim("begin")
		}
	})
	b.Run("renew", func(b *testing.B) {
		l := w.lease(stepkey.Infer(1))
		for b.Loop() {
			_, err := exec.RenewStep(ctx, &executionv1.RenewStepRequest{
				TurnId: turn.GetId(), Step: stepkey.Infer(1), Fence: l.GetFence(),
				Ttl: durationpb.New(time.Second),
			})
			must(b, err)
		}
	})
	b.Run("create", func(b *testing.B) {
		ctx := authn.With(b.Context(), authn.Local())
		for b.Loop() {
			ses := k.session()
			_, err := k.turns.CreateTurn(ctx, &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Input: "hello there"})
			must(b, err)
		}
	})
}

// BenchmarkIdleWatchers measures what a watcher of a session in which nothing happens costs in memory, client and connection included:
// each of a session of its own, then all of one session.
func BenchmarkIdleWatchers(b *testing.B) {
	k := newKit(b, options{})
	k.agent("assistant")
	used := func() uint64 {
		for range 6 { // each halves stacks that were grown once
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	measure := func(b *testing.B, session func() string) {
		before := used()
		for b.Loop() {
			stream, err := k.turns.WatchTurn(b.Context(), &sessionsv1.WatchTurnRequest{SessionId: session()})
			must(b, err)
			_, err = stream.Header()
			must(b, err)
		}
		b.ReportMetric(float64(int64(used())-int64(before))/float64(b.N), "B/watcher")
	}
	b.Run("own session", func(b *testing.B) { measure(b, func() string { return k.session().GetId() }) })
	one := k.session().GetId()
	b.Run("one session", func(b *testing.B) { measure(b, func() string { return one }) })
}
