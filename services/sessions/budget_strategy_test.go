package sessions_test

import (
	"fmt"
	"sync"
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// TestTwentyTurnsPassABudgetByOneStepAtMost has 20 turns of each strategy take the calls that their steps may make from one
// budget, where prompts and answers are as estimated, and where both take many times that.
func TestTwentyTurnsPassABudgetByOneStepAtMost(t *testing.T) {
	const (
		direct, react, reactText = turnv1.Strategy_STRATEGY_DIRECT, turnv1.Strategy_STRATEGY_REACT, turnv1.Strategy_STRATEGY_REACT_TEXT
		plan, route, auto        = turnv1.Strategy_STRATEGY_PLAN, turnv1.Strategy_STRATEGY_ROUTE, turnv1.Strategy_STRATEGY_AUTO
	)
	first := map[turnv1.Strategy]*turnv1.StepRef{
		plan: {Key: "plan-1", Kind: turnv1.StepKind_STEP_KIND_PLAN}, auto: {Key: "select", Kind: turnv1.StepKind_STEP_KIND_SELECT},
	}
	for _, tt := range []struct {
		strategy turnv1.Strategy
		times    int64 // the estimate
		postgres bool
	}{
		{react, 1, true},
		{reactText, 1, false},
		{plan, 1, false},
		{route, 1, false},
		{auto, 1, false},
		{direct, 40, false},
		{reactText, 7, false},
		{route, 7, true},
	} {
		t.Run(fmt.Sprintf("%v times %d, postgres %v", tt.strategy, tt.times, tt.postgres), func(t *testing.T) {
			const turns, tokens, prompt, output = 20, 40_000, 400, 300
			k := newKit(t, options{postgres: tt.postgres, cfg: sessions.Config{ReserveOutputTokens: output}})
			b := k.budget(&sessionsv1.Budget{Scope: "tenant", MaxTokens: tokens})
			k.agent("assistant")
			var mu sync.Mutex
			var most int64
			ended := 0
			var all sync.WaitGroup
			for range turns {
				w := k.worker(k.turn(k.session().GetId(), "hello"))
				w.beginWith(&turnv1.Surface{PromptTokens: prompt, Strategy: tt.strategy})
				all.Go(func() {
					for n := 0; ; n++ {
						step := &turnv1.StepRef{Key: stepkey.Infer(n), Kind: turnv1.StepKind_STEP_KIND_INFER}
						if tt.strategy == auto { // it chooses what makes the most calls
							step.Strategy = route
						}
						if n == 0 && first[tt.strategy] != nil {
							step = first[tt.strategy]
						}
						got, err := w.claimRefSoon(step)
						if err != nil {
							t.Error(err)
							return
						}
						l := got.GetLease()
						if l == nil {
							mu.Lock()
							defer mu.Unlock()
							ended++
							return
						}
						calls := contract.ModelCallsOf(step, &turnv1.Surface{Strategy: tt.strategy})
						wrote := int64(l.GetMaxOutputTokens()) * tt.times
						used := &turnv1.Usage{
							ModelCalls: int32(calls.Calls), InputTokens: int32(calls.Calls*prompt*tt.times + calls.Reread*wrote),
							OutputTokens: int32(calls.Calls * wrote),
						}
						mu.Lock()
						most = max(most, int64(used.GetInputTokens()+used.GetOutputTokens()))
						mu.Unlock()
						w.commit(step.GetKey(), l, func(r *executionv1.CommitStepRequest) { r.Outcome.Usage = used })
					}
				})
			}
			all.Wait()
			now := k.stands(b.GetId())
			t.Logf("%d of %d tokens used, %d by one step", now.GetUsedTokens(), tokens, most)
			if over := now.GetUsedTokens() - tokens; tt.times == 1 && over > 0 || over > most {
				t.Errorf("passed by %d tokens; one step used %d at most", over, most)
			}
			if now.GetReservedTokens() != 0 || ended != turns || now.GetUsedTokens() < tokens/2 {
				t.Errorf("%d turns ended: %v", ended, now)
			}
		})
	}
}

// TestAStepThatWaitsForABudget is told so, and waits no longer than it has to: it is let in when there is room, when it is to be
// cancelled, and when its turn's time is up.
func TestAStepThatWaitsForABudget(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		b := k.budget(&sessionsv1.Budget{Scope: "tenant", MaxTokens: 100_000})
		k.agent("assistant")
		begin := func() *worker {
			w := k.worker(k.turn(k.session().GetId(), "hello"))
			w.beginWith(&turnv1.Surface{MaxOutputTokens: 100})
			return w
		}
		waits := func(w *worker) bool {
			t.Helper()
			got, err := w.claim("infer-1")
			must(t, err)
			return got.GetBusy().GetBudgetId() == b.GetId() && got.GetBusy().GetOwner() == "" && got.GetBusy().GetExpiresIn().AsDuration() > 0
		}
		one, two, three := begin(), begin(), begin()
		l := one.lease("infer-1")
		if !waits(two) || !waits(three) {
			t.Error("nothing is known of the model, and several calls are let in at once")
		}
		_, err := k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: three.turn.GetId()})
		must(t, err)
		three.lease("infer-1")
		three.finish(turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
		one.used("infer-1", l, 20, 10, nil)
		two.lease("infer-1")
		one.lease("infer-2") // now something is known
		late := k.worker(k.turn(k.session().GetId(), "hello"))
		late.beginWith(&turnv1.Surface{MaxOutputTokens: 99_950, DeadlineMicros: 1})
		late.lease("infer-1")
		for _, w := range []*worker{one, two, late} {
			w.finish(completed, "end")
		}
		if now := k.stands(b.GetId()); now.GetReservedTokens() != 0 || now.GetUsedTokens() != 30 {
			t.Errorf("the budget: %v", now)
		}
	})
}
