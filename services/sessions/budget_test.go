package sessions_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/money"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

func (k *kit) budgets() sessionsv1.BudgetServiceClient {
	return sessionsv1.NewBudgetServiceClient(k.conn)
}

func (k *kit) budget(b *sessionsv1.Budget) *sessionsv1.Budget {
	k.t.Helper()
	made, err := k.budgets().CreateBudget(k.t.Context(), &sessionsv1.CreateBudgetRequest{Budget: b})
	must(k.t, err)
	return made
}

func (k *kit) stands(id string) *sessionsv1.Budget {
	k.t.Helper()
	b, err := k.budgets().GetBudget(k.t.Context(), &sessionsv1.GetBudgetRequest{BudgetId: id})
	must(k.t, err)
	return b
}

// beginWith begins a turn with a surface.
func (w *worker) beginWith(surface *turnv1.Surface) {
	w.t.Helper()
	surface.AgentId, surface.BlueprintRevision, surface.Model, surface.MaxSteps = "assistant", 1, "test/model", 25
	w.commit("begin", w.lease("begin"), func(r *executionv1.CommitStepRequest) { r.Outcome.Surface = surface })
}

// used commits a model step that has used so much.
func (w *worker) used(key string, l *executionv1.Lease, input, output int32, fill func(*turnv1.StepOutcome)) *turnv1.StepOutcome {
	w.t.Helper()
	return w.commit(key, l, func(r *executionv1.CommitStepRequest) {
		r.Messages = []*turnv1.Message{{Id: l.GetMessageId(), Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("said")}}
		r.Outcome.Usage = &turnv1.Usage{InputTokens: input, OutputTokens: output, ModelCalls: 1}
		if fill != nil {
			fill(r.Outcome)
		}
	}).GetOutcome()
}

func (w *worker) exhausted(key string) *turnv1.LimitUse {
	w.t.Helper()
	got, err := w.claim(key)
	must(w.t, err)
	if got.GetDone().GetExhausted() == nil {
		w.t.Fatalf("claim of %s: %v, want it exhausted", key, got)
	}
	return got.GetDone().GetExhausted()
}

// events lists the types of a session's durable events.
func (k *kit) events(session, kind string) []*turnv1.Event {
	k.t.Helper()
	exp, err := k.sessions.ExportSession(k.t.Context(), &sessionsv1.ExportSessionRequest{SessionId: session, IncludeEvents: true})
	must(k.t, err)
	var out []*turnv1.Event
	for _, e := range exp.GetEvents() {
		if e.GetType() == kind {
			out = append(out, e)
		}
	}
	return out
}

func TestAModelStepIsReservedThenSettled(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		b := k.budget(&sessionsv1.Budget{Scope: "tenant", MaxTokens: 1000, MaxCost: "0.01", WarnAt: 10})
		w := k.worker(k.newTurn("hello"))
		w.beginWith(&turnv1.Surface{
			MaxOutputTokens: 300, PromptTokens: 100,
			Price: &turnv1.Price{InputMicros: 2_000_000, OutputMicros: 10_000_000},
		})
		l := w.lease("infer-1")
		if l.GetMaxOutputTokens() != 300 {
			t.Errorf("may write %d tokens", l.GetMaxOutputTokens())
		}
		now := k.stands(b.GetId())
		input := now.GetReservedTokens() - 300
		if input < 105 || input > 300 || now.GetUsedTokens() != 0 || now.GetReservedCost() != money.Micros(2*input+3000).String() {
			t.Errorf("reserved: %v", now)
		}
		w.used("infer-1", l, 90, 30, func(o *turnv1.StepOutcome) { o.Usage.CostMicros = 480 })
		now = k.stands(b.GetId())
		if now.GetUsedTokens() != 120 || now.GetUsedCost() != "0.00048" || now.GetReservedTokens() != 0 || now.GetReservedCost() != "" {
			t.Errorf("settled: %v", now)
		}
		if warned := k.events(w.turn.GetSessionId(), "budget.warning"); len(warned) != 1 ||
			warned[0].GetBudgetWarning().GetUse().GetUsed() != 120 {
			t.Errorf("warned: %v", warned)
		}
		got, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: w.turn.GetId()})
		must(t, err)
		if got.GetUsage().GetCostMicros() != 480 || got.GetUsage().GetCost() != "0.00048" {
			t.Errorf("usage %v", got.GetUsage())
		}
	})
}

func TestAReservationIsTheSteps(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		b := k.budget(&sessionsv1.Budget{Scope: "subject", Target: "local", MaxTokens: 10_000})
		w := k.worker(k.newTurn("hello"))
		w.beginWith(&turnv1.Surface{MaxOutputTokens: 500})
		first := w.lease("infer-1")
		reserved := k.stands(b.GetId()).GetReservedTokens()
		_, err := k.exec.RenewStep(t.Context(), &executionv1.RenewStepRequest{
			TurnId: w.turn.GetId(), Step: "infer-1", Fence: first.GetFence(),
			Ttl: durationpb.New(100 * time.Millisecond),
		})
		must(t, err)
		other := k.worker(w.turn)
		other.owner = "w2"
		second := other.leaseSoon("infer-1")
		if second.GetMaxOutputTokens() != first.GetMaxOutputTokens() || k.stands(b.GetId()).GetReservedTokens() != reserved {
			t.Errorf("the second attempt: %v; reserved %v, before %d", second, k.stands(b.GetId()), reserved)
		}
		_, err = k.exec.ReleaseStep(t.Context(), &executionv1.ReleaseStepRequest{
			TurnId: w.turn.GetId(), Step: "infer-1",
			Fence: second.GetFence(),
		})
		must(t, err)
		third := w.lease("infer-1")
		other.used("infer-1", third, 20, 10, nil)
		now := k.stands(b.GetId())
		if now.GetUsedTokens() != 30 || now.GetReservedTokens() != 0 {
			t.Errorf("settled: %v", now)
		}
		got, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: w.turn.GetId()})
		must(t, err)
		if u := got.GetUsage(); u.GetLostCalls() != 1 || u.GetModelCalls() != 1 || u.GetInputTokens() != 20 {
			t.Errorf("usage %v", u)
		}
	})
}

// leaseSoon claims until the lease of somebody else has run out.
func (w *worker) leaseSoon(key string) *executionv1.Lease {
	w.t.Helper()
	got, err := w.claimSoon(key)
	must(w.t, err)
	if got.GetLease() == nil {
		w.t.Fatalf("claim of %s: %v, want a lease", key, got)
	}
	return got.GetLease()
}

// claimSoon claims until the step is not held by somebody else and does not wait for a budget.
func (w *worker) claimSoon(key string) (*executionv1.ClaimStepResponse, error) {
	return w.claimRefSoon(ref(key))
}

func (w *worker) claimRefSoon(step *turnv1.StepRef) (*executionv1.ClaimStepResponse, error) {
	for {
		got, err := w.exec.ClaimStep(context.Background(),
			&executionv1.ClaimStepRequest{TurnId: w.turn.GetId(), Step: step, Owner: w.owner, Ttl: durationpb.New(30 * time.Second)})
		if err != nil || got.GetBusy() == nil {
			return got, err
		}
		<-time.After(got.GetBusy().GetExpiresIn().AsDuration())
	}
}

// TestManyTurnsNeverPassABudget has many workers claim at the same time from one budget.
func TestManyTurnsNeverPassABudget(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		const turns, tokens, calls = 12, 6000, 9
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{ReserveOutputTokens: 700}})
		b := k.budget(&sessionsv1.Budget{Scope: "tenant", MaxTokens: tokens, MaxToolCalls: calls})
		k.agent("assistant")
		var spent, made, refused atomic.Int64
		var all sync.WaitGroup
		for range turns {
			w := k.worker(k.turn(k.session().GetId(), "hello"))
			w.beginWith(&turnv1.Surface{PromptTokens: 50})
			all.Go(func() {
				for n := 1; n <= 3; n++ {
					got, err := w.claimSoon(stepkey.Infer(n))
					if err != nil {
						t.Error(err)
						return
					}
					l := got.GetLease()
					if l == nil {
						refused.Add(1)
						return
					}
					w.used(stepkey.Infer(n), l, 50, l.GetMaxOutputTokens(), nil)
					spent.Add(50 + int64(l.GetMaxOutputTokens()))
					key := stepkey.Tool(n, 0)
					if got, err = w.claim(key); err != nil {
						t.Error(err)
						return
					}
					if got.GetLease() == nil {
						refused.Add(1)
						return
					}
					w.commit(key, got.GetLease(), func(r *executionv1.CommitStepRequest) { r.Outcome.Usage = &turnv1.Usage{ToolCalls: 1} })
					made.Add(1)
				}
			})
		}
		all.Wait()
		now := k.stands(b.GetId())
		t.Logf("%d tokens in %d answers and %d calls; %d steps were refused", now.GetUsedTokens(), spent.Load()/750, made.Load(), refused.Load())
		if now.GetUsedTokens() != spent.Load() || now.GetUsedTokens() > tokens || now.GetUsedToolCalls() != made.Load() || made.Load() > calls {
			t.Errorf("used %v; the workers say %d tokens, %d calls", now, spent.Load(), made.Load())
		}
		if now.GetReservedTokens() != 0 || now.GetReservedToolCalls() != 0 || refused.Load() == 0 {
			t.Errorf("left over: %v, %d refused", now, refused.Load())
		}
	})
}
