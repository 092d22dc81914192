package step

import (
	"context"

	"google.golang.org/protobuf/proto"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// lookAhead adds to a commit what the engine would decide next: claims of further steps, or the turn's end. That saves a transaction for
// each. A wrong guess does no harm: the journal refuses what does not fit, and a lease that is not used is given back.
func (a *advance) lookAhead(ctx context.Context, w *work, req *sessionsv1.CommitStepRequest) {
	if req.GetOutcome().GetCancelled() || ctx.Err() != nil || w.ref.GetKind() == turnv1.StepKind_STEP_KIND_FINISH {
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
		if a.running[ref.GetKey()] || a.claiming[ref.GetKey()] || a.claimed[ref.GetKey()] != nil {
			continue
		}
		next := a.work(ref)
		next.loaded = loaded
		if k, err := a.runner.kindOf(ref); err != nil || k.prepare(ctx, next) != nil {
			return // it is claimed when its turn comes, and the error is met again there
		}
		req.Next = append(req.Next, a.runner.claimRequest(next))
		a.claiming[ref.GetKey()] = true
	}
}

// expected is the outcome that a commit will leave: a wait has no id yet.
func expected(req *sessionsv1.CommitStepRequest) *turnv1.StepOutcome {
	o := req.GetOutcome()
	if req.GetWait() != nil {
		o = proto.CloneOf(o)
		o.Wait = &turnv1.WaitRef{Kind: req.GetWait().GetKind()}
	}
	return o
}

// finish makes the commit of the finish step.
func (a *advance) finish(ref *turnv1.StepRef) *sessionsv1.CommitStepRequest {
	w := a.work(ref)
	req := finish{a.runner}.ending(ref.GetEnding())
	req.Inputs = ref.GetInputs()
	req.TurnId, req.Claim = a.turn.TurnID, a.runner.claimRequest(w)
	req.Outcome.Key, req.Outcome.Kind = ref.GetKey(), ref.GetKind()
	return req
}

// loadedAfter is what the turn looks like once a commit stands: the begin step pins the surface.
func (a *advance) loadedAfter(req *sessionsv1.CommitStepRequest) *sessionsv1.LoadTurnResponse {
	surface := req.GetOutcome().GetSurface()
	if surface == nil || a.loaded == nil {
		return a.loaded
	}
	return &sessionsv1.LoadTurnResponse{
		Turn: a.loaded.GetTurn(), Agent: a.loaded.GetAgent(), Principal: a.loaded.GetPrincipal(), Surface: surface, Tools: req.GetTools(),
		CreateMicros: a.loaded.GetCreateMicros(), ClientTools: a.loaded.GetClientTools(),
		AgentTools: req.GetAgentTools(), Rerun: a.loaded.GetRerun(), ExecutorSealed: a.loaded.GetExecutorSealed(),
		AgentPath: a.loaded.GetAgentPath(),
	}
}

// landed ends the claims of a commit, whatever became of it.
func (a *advance) landed(req *sessionsv1.CommitStepRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, next := range req.GetNext() {
		delete(a.claiming, next.GetStep().GetKey())
	}
}

// took takes the answer to a commit.
func (a *advance) took(req *sessionsv1.CommitStepRequest, resp *sessionsv1.CommitStepResponse) {
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
		a.runner.cache.turns.Add(a.turn.TurnID, a.loaded)
	}
	for i, c := range resp.GetNext() {
		a.claimed[req.GetNext()[i].GetStep().GetKey()] = c
	}
	if then := resp.GetThen(); then.GetOutcome() != nil {
		a.add(then.GetOutcome())
	}
}

// conversation gives what a model step reads, if this advance has it all, else nil: input of the running turn is not among what it wrote.
func (a *advance) conversation(infer string) *sessionsv1.GetContextResponse {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.talk.base.GetInputs() < engine.Inputs(a.outcomes) {
		return nil
	}
	return a.talk.before(infer)
}

// read notes what a model step was given by the journal.
func (a *advance) read(infer string, c *sessionsv1.GetContextResponse) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.talk = newTalk()
	a.talk.first, a.talk.base = infer, c
}

// talk is the conversation as far as an advance has read and written it.
type talk struct {
	// base is what the model step first was given.
	first string
	base  *sessionsv1.GetContextResponse
	// written are the messages of each step since.
	written map[string][]*turnv1.Message
}

func newTalk() talk { return talk{written: map[string][]*turnv1.Message{}} }

// maxTalk is the size in bytes up to which a conversation is kept: a longer one is cut by the journal, which knows where.
const maxTalk = 1 << 20

func (t *talk) wrote(req *sessionsv1.CommitStepRequest) {
	t.written[req.GetOutcome().GetKey()] = req.GetMessages()
}

// before puts the conversation before a model step together: each answer, then the results of its calls in their order, as the journal
// does. It is nil when something is missing or it grows too large.
func (t *talk) before(infer string) *sessionsv1.GetContextResponse {
	if t.base == nil || t.base.GetTruncated() {
		return nil
	}
	messages := append([]*turnv1.Message(nil), t.base.GetMessages()...)
	seen := false
	for n := 1; stepkey.Infer(n) != infer; n++ {
		if seen = seen || stepkey.Infer(n) == t.first; !seen {
			continue
		}
		answer := t.written[stepkey.Infer(n)]
		if len(answer) != 1 {
			return nil
		}
		messages = append(messages, answer[0])
		for m := range answer[0].GetToolCalls() {
			result := t.written[stepkey.Tool(n, m)]
			if len(result) != 1 {
				return nil
			}
			messages = append(messages, result[0])
		}
	}
	whole := &sessionsv1.GetContextResponse{Messages: messages, Inputs: t.base.GetInputs()}
	if !seen && infer != t.first || proto.Size(whole) > maxTalk {
		return nil
	}
	return whole
}
