package runner

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// lookAhead adds to a commit what the engine would decide next: claims of further steps, or the turn's end. That saves a transaction for
// each. It is optimistic: the journal refuses what does not fit, and a lease that is not used is released.
func (a *advance) lookAhead(ctx context.Context, w *task, req *step.Commit) {
	if req.GetOutcome().GetCancelled() || ctx.Err() != nil || w.Ref.GetKind() == turnv1.StepKind_STEP_KIND_FINISH {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	outcomes := append(a.outcomes[:len(a.outcomes):len(a.outcomes)], expected(req))
	decision := engine.Next(engine.State{Outcomes: outcomes, Now: a.runner.Now()})
	if decision.IsFinish() {
		if len(a.running) == 1 { // this step
			req.Then = a.finish(decision.Steps[0])
		}
		return
	}
	loaded := a.loadedAfter(req)
	for _, ref := range decision.Steps {
		if a.running[ref.GetKey()] || a.claiming[ref.GetKey()] != nil || a.claimed[ref.GetKey()] != nil {
			continue
		}
		next := a.task(ref)
		next.Loaded, next.inputs = loaded, engine.Inputs(a.outcomes)
		if a.prepare(ctx, next) != nil {
			return // it is claimed when its turn comes, and the error happens again there
		}
		req.Next = append(req.Next, a.runner.claimRequest(next))
		a.claiming[ref.GetKey()] = next
	}
	a.open(ctx, req)
}

// prepare makes a step's claim ready.
func (a *advance) prepare(ctx context.Context, w *task) error {
	k, err := a.runner.kindOf(w.Ref)
	if err != nil {
		return err
	}
	w.action, err = k.Prepare(ctx, w.Work)
	return err
}

// open begins the steps that a commit claims, as far as that may be repeated and is not visible before the commit is answered. The caller
// holds the lock.
func (a *advance) open(ctx context.Context, req *step.Commit) {
	surface := a.loadedAfter(req).GetSurface()
	held := req.GetFence() > 0 // or other workers may be about to do the same
	if req.GetOutcome().GetKind() == turnv1.StepKind_STEP_KIND_COMPACT {
		return // until this is committed, the journal and the memory have the conversation that was too long
	}
	if !held || !a.loaded.GetMayRunAhead() || surface.GetMaxTokens() > 0 || surface.GetMaxCostMicros() > 0 {
		return
	}
	a.talk.wrote(req)
	for _, claim := range req.GetNext() {
		next := a.claiming[claim.GetStep().GetKey()]
		if opener, ok := next.action.(step.Opener); ok {
			next.drop = opener.Open(context.WithoutCancel(ctx))
		}
	}
}

// expected is the outcome that a commit will leave: a wait has no id yet.
func expected(req *step.Commit) *turnv1.StepOutcome {
	o := req.GetOutcome()
	if req.GetWait() != nil {
		o = proto.CloneOf(o)
		o.Wait = &turnv1.WaitRef{Kind: req.GetWait().GetKind()}
	}
	return o
}

// finish makes the commit of the finish step.
func (a *advance) finish(ref *turnv1.StepRef) *step.Commit {
	req := ended(ref.GetEnding(), ref.GetInputs())
	req.TurnId, req.Claim = a.turn.TurnID, a.runner.claimRequest(a.task(ref))
	req.Outcome.Key, req.Outcome.Kind = ref.GetKey(), ref.GetKind()
	return req
}

// loadedAfter is what the turn looks like once a commit stands: the begin step pins the surface.
func (a *advance) loadedAfter(req *step.Commit) *step.Loaded {
	surface := req.GetOutcome().GetSurface()
	if surface == nil || a.loaded == nil {
		return a.loaded
	}
	return &step.Loaded{
		Turn: a.loaded.GetTurn(), Agent: a.loaded.GetAgent(), Principal: a.loaded.GetPrincipal(), Surface: surface, Tools: req.GetTools(),
		ClientTools: a.loaded.GetClientTools(),
		AgentTools:  req.GetAgentTools(), Rerun: a.loaded.GetRerun(), ExecutorSealed: a.loaded.GetExecutorSealed(),
		AgentPath: a.loaded.GetAgentPath(), MayRunAhead: a.loaded.GetMayRunAhead(),
	}
}

// endClaims ends the claims of a commit, whatever its result.
func (a *advance) endClaims(req *step.Commit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, claim := range req.GetNext() {
		key := claim.GetStep().GetKey()
		if a.claimed[key] == nil { // the commit did not come to it
			a.claiming[key].abandon()
		}
		delete(a.claiming, key)
	}
	if key := req.GetOutcome().GetKey(); !slices.ContainsFunc(a.outcomes, func(o *turnv1.StepOutcome) bool { return o.GetKey() == key }) {
		a.talk.forget(key)
	}
}

// committed takes the answer to a commit.
func (a *advance) committed(req *step.Commit, resp *executionv1.CommitStepResponse) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if resp.GetAdopted() {
		if resp.GetOutcome().GetKind() == turnv1.StepKind_STEP_KIND_BEGIN {
			a.loaded = nil // another's surface stands
		}
		return
	}
	a.add(resp.GetOutcome())
	for _, input := range resp.GetInputs() {
		a.add(input)
	}
	a.talk.wrote(req)
	if a.loaded = a.loadedAfter(req); a.loaded.GetSurface() != nil && req.GetOutcome().GetSurface() != nil {
		a.runner.pinned.KeepTurn(a.turn.TurnID, a.loaded)
	}
	for i, c := range resp.GetNext() {
		key := req.GetNext()[i].GetStep().GetKey()
		a.claimed[key] = a.claiming[key]
		a.claimed[key].claimed = c
	}
	if then := resp.GetThen(); then.GetOutcome() != nil {
		a.add(then.GetOutcome())
	}
}

// Recall implements step.Memory: it returns nil unless this advance has the whole conversation. Input of the running turn is not among
// what it wrote.
func (a *advance) Recall(infer string) *step.History {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.talk.base.GetInputs() < engine.Inputs(a.outcomes) {
		return nil
	}
	return a.talk.before(infer)
}

// Keep implements step.Memory.
func (a *advance) Keep(infer string, c *step.History) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.talk = newTalk()
	a.talk.first, a.talk.base = infer, c
}
