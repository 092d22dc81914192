package sessions_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// TestABudgetIsPassedByReservedCallsAtMost has 20 turns take calls from one budget in any order, each of which uses another part
// or multiple of its estimate. The budget is passed by no more than what the calls that were under way together used beyond what
// was reserved for them.
func TestABudgetIsPassedByReservedCallsAtMost(t *testing.T) {
	usualChecks(t, 6)
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{ReserveOutputTokens: spendOutput}})
		n, passed := 0, 0
		rapid.Check(t, func(t *rapid.T) {
			n++
			s := newSpending(t, k, fmt.Sprintf("spender-%d", n))
			for len(s.idle)+len(s.reserved) > 0 {
				s.act()
			}
			if s.verify() {
				passed++
			}
		})
		t.Logf("%d of %d budgets were passed", passed, n)
	})
}

// usualChecks sets how many sequences rapid tries unless RAPID_CHECKS or -rapid.checks says otherwise.
func usualChecks(t *testing.T, n int) {
	t.Helper()
	given := os.Getenv("RAPID_CHECKS") != ""
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if given {
		return
	}
	checks := flag.Lookup("rapid.checks").Value
	before := checks.String()
	must(t, checks.Set(strconv.Itoa(n)))
	t.Cleanup(func() { must(t, checks.Set(before)) })
}

const (
	spendTurns, spendPrompt, spendOutput = 20, 400, 300
)

// spending is turns that share a budget.
type spending struct {
	*rapid.T
	k        *kit
	strategy turnv1.Strategy
	budget   string
	max      int64
	// idle are turns between two calls; reserved are the calls under way.
	idle     []*worker
	reserved []*spent
	// last are the calls that were under way when one was admitted last.
	last []*spent
	// done counts the calls of each turn.
	done map[*worker]int
	// input is the estimate of what a call reads.
	input int64
}

// spent is a model step under way.
type spent struct {
	w     *worker
	lease *executionv1.Lease
	step  *turnv1.StepRef
	// bound is what it was admitted with, over what it used beyond that.
	bound, over int64
}

func newSpending(t *rapid.T, k *kit, agent string) *spending {
	s := &spending{T: t, k: k, done: map[*worker]int{}, max: rapid.Int64Range(3_000, 15_000).Draw(t, "budget")}
	s.strategy = rapid.SampledFrom([]turnv1.Strategy{
		turnv1.Strategy_STRATEGY_REACT, turnv1.Strategy_STRATEGY_REACT_TEXT, turnv1.Strategy_STRATEGY_ROUTE,
	}).Draw(t, "strategy")
	k.agent(agent)
	s.budget = k.budget(&sessionsv1.Budget{Scope: "agent", Target: agent, MaxTokens: s.max}).GetId()
	for range spendTurns {
		ses, err := k.sessions.CreateSession(k.t.Context(), &sessionsv1.CreateSessionRequest{AgentId: agent})
		must(k.t, err)
		w := k.worker(k.turn(ses.GetId(), "hello"))
		w.beginWith(&turnv1.Surface{PromptTokens: spendPrompt, Strategy: s.strategy})
		s.idle = append(s.idle, w)
	}
	return s
}

// act has a turn claim its next call, or a call end.
func (s *spending) act() {
	claims := len(s.reserved) == 0 || len(s.idle) > 0 && rapid.Bool().Draw(s.T, "claims")
	if claims {
		s.claim(rapid.IntRange(0, len(s.idle)-1).Draw(s.T, "turn"))
		return
	}
	s.end(rapid.IntRange(0, len(s.reserved)-1).Draw(s.T, "call"))
}

func (s *spending) claim(i int) {
	w, before := s.idle[i], s.k.stands(s.budget)
	step := &turnv1.StepRef{Key: stepkey.Infer(s.done[w] + 1), Kind: turnv1.StepKind_STEP_KIND_INFER}
	got, err := w.exec.ClaimStep(context.Background(),
		&executionv1.ClaimStepRequest{TurnId: w.turn.GetId(), Step: step, Owner: w.owner, Ttl: durationpb.New(time.Minute)})
	must(s.k.t, err)
	now := s.k.stands(s.budget)
	switch {
	case got.GetBusy() != nil:
		if len(s.reserved) == 0 {
			s.Fatalf("a call waits for a budget of which nothing is reserved: %v", got)
		}
		return
	case got.GetDone().GetExhausted() != nil:
		s.idle = append(s.idle[:i:i], s.idle[i+1:]...)
		return
	case got.GetLease() == nil:
		s.Fatalf("claim: %v", got)
	}
	call := &spent{w: w, lease: got.GetLease(), step: step, bound: now.GetReservedTokens() - before.GetReservedTokens()}
	if s.input == 0 { // nothing is learned yet: the plain estimate is reserved
		calls := contract.ModelCallsOf(step, &turnv1.Surface{Strategy: s.strategy})
		plain := budget.Estimate{ModelCalls: calls}.Need(int64(call.lease.GetMaxOutputTokens())).Tokens
		s.input = (call.bound - plain) / calls.Calls
	}
	if len(s.reserved) == 0 { // alone, the plain estimate decides
		call.bound = budget.Estimate{
			ModelCalls: contract.ModelCallsOf(step, &turnv1.Surface{Strategy: s.strategy}),
			Input:      s.input,
		}.Need(int64(call.lease.GetMaxOutputTokens())).Tokens
		now.ReservedTokens = call.bound
	}
	if now.GetUsedTokens()+now.GetReservedTokens() > s.max {
		s.Errorf("a call was admitted, and now %d tokens are used and %d reserved of %d", now.GetUsedTokens(), now.GetReservedTokens(), s.max)
	}
	s.idle = append(s.idle[:i:i], s.idle[i+1:]...)
	s.reserved = append(s.reserved, call)
	s.last = append([]*spent(nil), s.reserved...)
}

// end commits a call that has used some part or multiple of what was estimated.
func (s *spending) end(i int) {
	call := s.reserved[i]
	calls := contract.ModelCallsOf(call.step, &turnv1.Surface{Strategy: s.strategy}).Calls
	ratio := rapid.Int64Range(300, 8000)
	read := calls * s.input * ratio.Draw(s.T, "read") / 1000
	wrote := calls * int64(call.lease.GetMaxOutputTokens()) * ratio.Draw(s.T, "written") / 1000
	call.over = read + wrote - call.bound
	call.w.commit(call.step.GetKey(), call.lease, func(r *executionv1.CommitStepRequest) {
		r.Outcome.Usage = &turnv1.Usage{ModelCalls: int32(calls), InputTokens: int32(read), OutputTokens: int32(wrote)}
	})
	s.reserved = append(s.reserved[:i:i], s.reserved[i+1:]...)
	s.idle = append(s.idle, call.w)
	s.done[call.w]++
}

// verify reports whether the budget was passed.
func (s *spending) verify() bool {
	now := s.k.stands(s.budget)
	allowed := int64(0)
	for _, call := range s.last {
		allowed += max(0, call.over)
	}
	over := now.GetUsedTokens() - s.max
	if over > allowed {
		s.Errorf("passed by %d tokens; the %d calls that were reserved at last used %d more than that", over, len(s.last), allowed)
	}
	if now.GetReservedTokens() != 0 {
		s.Errorf("left over: %v", now)
	}
	return over > 0
}
