// Package infer does the steps that call the model of a turn: it streams the answer as deltas and commits the complete message. An agent
// with an executor of its own is called here too.
package infer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/media"
	"github.com/windlass-dev/windlass/libs/tokens"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/augment"
	"github.com/windlass-dev/windlass/workflows/turn/step/cite"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
	"github.com/windlass-dev/windlass/workflows/turn/step/plan"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
	"github.com/windlass-dev/windlass/workflows/turn/step/toolsearch"
)

// flushTime is how long a finished message waits for its deltas to be on their way, so that they arrive before it.
const flushTime = 500 * time.Millisecond

// journal is what is asked of the sessions service.
type journal interface {
	GetContext(context.Context, *executionv1.GetContextRequest, ...grpc.CallOption) (*step.History, error)
	LoadTurn(context.Context, *executionv1.LoadTurnRequest, ...grpc.CallOption) (*step.Loaded, error)
	ReadTurnFile(context.Context, *executionv1.ReadTurnFileRequest, ...grpc.CallOption) (*executionv1.ReadTurnFileResponse, error)
	AppendEvents(context.Context, *executionv1.AppendEventsRequest, ...grpc.CallOption) (*executionv1.AppendEventsResponse, error)
}

// memory is what is asked of the knowledge service.
type memory interface {
	ReadFacts(context.Context, *knowledgev1.ReadFactsRequest, ...grpc.CallOption) (*knowledgev1.ReadFactsResponse, error)
	ReadPassages(context.Context, *knowledgev1.ReadPassagesRequest, ...grpc.CallOption) (*knowledgev1.ReadPassagesResponse, error)
}

// Deps are what model steps work with. All but Executors and Facts are required.
type Deps struct {
	Sessions journal
	Ask      model.Ask
	Pinned   *pinned.Cache
	Shields  *shield.Checker
	// Facts reads the facts that a turn has recalled and the passages that it has found; without it there are none.
	Facts memory
	// Route asks which agent deals with a routed turn, see plan.Deps.Route.
	Route model.Ask
	// Executors does the rounds of agents with an executor; nil refuses them.
	Executors Executors
	// Transient returns what publishes the step's transient events, and Flush waits until they are at the bus.
	Transient func(context.Context, *step.Work) func(*turnv1.Event)
	Flush     func(context.Context) error
	// Media scales images that take more than the room of a call.
	Media *media.Converter
	// Coalesce is how long deltas are collected before they are published.
	Coalesce time.Duration
	Log      *slog.Logger
}

// Kind is that of model steps: the model is asked once. Tokens go to the bus as they come; the whole message goes to the journal.
type Kind struct{ Deps }

// Prepare implements step.Kind.
func (k Kind) Prepare(ctx context.Context, w *step.Work) (_ step.Action, err error) {
	if w.Loaded == nil {
		w.Loaded, err = k.Pinned.Turn(ctx, w.Turn.TurnID)
	}
	return &infer{Deps: k.Deps, Work: w}, err
}

// infer is one model step.
type infer struct {
	Deps
	*step.Work
	prompt
	// opened is the model call that Open has made; nil if it has made none.
	opened *opened
	// used is what an executor has reported so far of its round, and over the limit that the round has passed, so that it was broken off.
	used *turnv1.Usage
	over *turnv1.LimitUse
}

// prompt is what the model is asked.
type prompt struct {
	request *inferencev1.GenerateRequest
	// instructed are the instructions that the request begins with.
	instructed instructed
	// truncated: messages of the conversation are missing.
	truncated bool
	// ids makes the ids of the answer's calls.
	ids *callIDs
	// inputs counts the inputs of the running turn that the step has read.
	inputs uint32
	// reads is about how many tokens the model reads.
	reads int64
	// tainted: what the model reads is not trusted.
	tainted bool
	// sources are what the turn has retrieved, which the answer can cite.
	sources *cite.Sources
	// found are the events of shields that found something in such input.
	found []*turnv1.Event
}

// Do implements step.Action.
func (i *infer) Do(ctx context.Context) (*step.Commit, error) {
	if i.Cancelled {
		return i.GiveUp(nil), nil
	}
	ask, asked, err := i.begin(ctx)
	if err != nil {
		return nil, err
	}
	ans := &answer{ids: i.ids, calls: map[int]*turnv1.ToolCall{}}
	out := &deltas{publish: i.Transient(ctx, i.Work), messageID: i.Lease.GetMessageId(), pause: i.Coalesce}
	defer out.close() // also if it panics
	finished, hold, err := i.listen(ctx, ask, ans, out)
	if err == nil {
		err = i.unoffered(finished)
	}
	if err != nil {
		return nil, err
	}
	done := &turnv1.MessageCompleted{
		FinishReason: finished.GetFinishReason(), Usage: model.Usage(finished), Message: i.message(ans, finished),
		Warnings: finished.GetWarnings(), OutputMode: finished.GetOutputMode(),
	}
	unfit, err := i.unfit(ctx, finished)
	if err != nil {
		return nil, err
	}
	blocked, found, err := i.Shields.Answer(ctx, i.Work, done.GetMessage())
	if err != nil {
		return nil, err
	}
	if hold != nil && !blocked {
		hold.publish(conversation.Text(done.GetMessage()), done.GetMessage().GetReasoning())
	}
	n, first := out.close()
	i.flush(ctx)
	if done.Deltas = n; !first.IsZero() {
		done.FirstTokenMs = int32(first.Sub(asked).Milliseconds())
	}
	return i.commit(ctx, ans, finished, done, verdict{blocked, found, unfit})
}

// begin makes the prompt, and returns how the model is asked and since when: by the call that Open has made, unless the lease bounds what
// the model may write.
func (i *infer) begin(ctx context.Context) (model.Ask, time.Time, error) {
	o := i.opened
	i.opened = nil // what it says is read once
	switch {
	case o == nil:
	case i.Lease.GetMaxOutputTokens() > 0, len(i.Lease.GetModelAttempts()) > 0: // it was asked without knowing them
		o.cancel()
	case o.made(ctx):
		i.prompt = *o.prompt
		return o.follow, o.asked, nil
	}
	history, err := i.context(ctx)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read context: %w", err)
	}
	i.prompt, err = i.newPrompt(ctx, history)
	if err != nil {
		return nil, time.Time{}, err
	}
	model.Bound(i.request, i.Lease)
	ask := i.answerer()
	if contract.Hosted(i.Loaded.GetAgent()) {
		i.ids, ask, err = i.hosted(ctx, i.truncated)
	}
	return ask, time.Now(), err
}

// verdict is what the shields say of an answer, and why it does not fit its schema, nil if it does.
type verdict struct {
	blocked bool
	found   []*turnv1.Event
	unfit   *turnv1.TurnError
}

// listen asks the model and publishes deltas of what comes, or of what shields have settled of it. Nothing is finished, without an error,
// if the turn's end cuts the answer off.
func (i *infer) listen(
	ctx context.Context, ask model.Ask, ans *answer, out *deltas,
) (*inferencev1.Finished, *held, error) {
	say := out.add
	hold, err := i.hold(ctx, out)
	if err != nil {
		return nil, nil, err
	}
	if hold != nil {
		defer hold.stop()
		say = hold.add
	}
	say, end := i.citing(say)
	finished, err := ask(ctx, i.Work, i.request, func(m *inferencev1.GenerateResponse) {
		if piece, ok := ans.add(m); ok {
			say(piece)
		}
	})
	end()
	if err != nil && !step.Cut(ctx) {
		return nil, nil, fmt.Errorf("ask model: %w", err)
	}
	faultpoint.Hit(faultpoint.InferDone)
	return finished, hold, nil
}

// hold returns what holds back what shields check; nil if none does.
func (i *infer) hold(ctx context.Context, out *deltas) (*held, error) {
	checked, settles, err := i.Shields.Settles(ctx, i.Loaded)
	switch {
	case err != nil || !checked:
		return nil, err
	case !settles:
		return newHeld(ctx, out, nil), nil
	}
	return newHeld(ctx, out, func(ctx context.Context, text, reasoning string) (string, string, error) {
		return i.Shields.Settled(ctx, i.Loaded, text, reasoning)
	}), nil
}

// commit makes the commit of an answer, as the shields leave it.
func (i *infer) commit(
	ctx context.Context, ans *answer, finished *inferencev1.Finished, done *turnv1.MessageCompleted, by verdict,
) (*step.Commit, error) {
	outcome := &turnv1.StepOutcome{FinishReason: done.GetFinishReason(), Usage: done.GetUsage(), Inputs: i.inputs, ContextTokens: i.reads}
	silent := len(done.GetMessage().GetContent()) == 0
	switch {
	case finished == nil:
		used := cmp.Or(i.used, ans.used(i.reads))
		model.Count(outcome.GetUsage(), used)
		if !contract.Hosted(i.Loaded.GetAgent()) {
			done.Message.Model = model.Cut(i.Work, outcome.GetUsage())
		}
		outcome.FinishReason = "cancelled"
		if i.Cancelled = errors.Is(context.Cause(ctx), step.ErrCancelled); !i.Cancelled {
			outcome.FinishReason, outcome.Error = "deadline", step.DeadlineError()
		}
		if silent { // so there is no message
			return &step.Commit{Outcome: outcome}, nil
		}
	case by.blocked:
		outcome.FinishReason = model.FinishFiltered
	default:
		outcome.Error = by.unfit
	}
	done.FinishReason = outcome.GetFinishReason()
	if i.over != nil && silent {
		return i.broken(&step.Commit{Outcome: outcome}), nil
	}
	commit := plan.Commit(i.Work, i.whole(outcome, done))
	commit.Events = slices.Concat(i.found, by.found, commit.Events)
	return i.broken(commit), nil
}

// whole makes the commit of a message.
func (i *infer) whole(outcome *turnv1.StepOutcome, done *turnv1.MessageCompleted) *step.Commit {
	m := done.GetMessage()
	outcome.MessageId = m.GetId()
	for _, call := range m.GetToolCalls() {
		outcome.Calls = append(outcome.Calls, &turnv1.ToolCallRef{
			CallId: call.GetCallId(), Tool: call.GetTool(), MessageId: m.GetId(), CallHash: contract.CallHash(call),
		})
		i.Pinned.KeepCall(i.Turn.TurnID, m.GetId(), call)
	}
	return &step.Commit{
		Outcome:  outcome,
		Events:   []*turnv1.Event{{Data: &turnv1.Event_MessageCompleted{MessageCompleted: done}}},
		Messages: []*turnv1.Message{m},
	}
}

// newPrompt gathers what the model is shown after a conversation. With an error it has what is known by then.
func (i *infer) newPrompt(ctx context.Context, history *step.History) (p prompt, err error) {
	agent, surface := i.Loaded.GetAgent(), i.Loaded.GetSurface()
	p.truncated, p.inputs, p.tainted = history.GetTruncated(), history.GetInputs(), conversation.Tainted(history.GetMessages())
	if p.instructed, err = i.instructions(ctx); err != nil {
		return p, err
	}
	messages := history.GetMessages()
	if !contract.Hosted(agent) { // an executor reads files by itself
		if messages, err = i.withFiles(ctx, messages); err != nil {
			return p, err
		}
	}
	messages, documents, err := i.checkable(ctx, messages)
	if err != nil {
		return p, err
	}
	messages, found, err := i.Shields.Conversation(ctx, i.Work, messages)
	if err != nil {
		return p, err
	}
	restore(messages, documents)
	p.sources = cite.Read(history.GetMessages(), i.Turn.TurnID)
	messages = p.sources.Prompt(messages, i.Turn.TurnID)
	passages, err := augment.Read(ctx, i.Work, i.Facts, i.Shields)
	if err != nil {
		return p, err
	}
	if len(passages.Found) > 0 {
		p.tainted, p.sources = true, p.sources.With(passages.Found)
	}
	messages = passages.Into(messages, i.Turn.TurnID)
	req := &inferencev1.GenerateRequest{
		Model: surface.GetModel(), Instructions: p.instructed.text(), Messages: conversation.WithResults(messages),
		MaxOutputTokens: agent.GetMaxOutputTokens(), Temperature: agent.Temperature, TurnId: i.Turn.TurnID, Step: i.Ref.GetKey(),
		Degrade: agent.GetDegrade(),
	}
	if i.Pinned.Searches(i.Loaded) {
		req.Messages = toolsearch.Wrap(req.GetMessages(), func(tool string) bool { return !i.Pinned.Hidden(i.Loaded, tool) })
	}
	if i.showsTools() {
		if req.Tools, err = i.Pinned.Definitions(ctx, i.Loaded, history.GetMessages()); err != nil {
			return p, err
		}
	}
	req.Generation = i.generation(req)
	if i.answersInSchema() {
		req.OutputFormat = &inferencev1.OutputFormat{SchemaJson: string(canon.StructJSON(agent.GetOutputSchema()))}
	}
	part := i.Ref.GetPlan()
	if part != nil {
		plan.Request(req, part, i.Turn.TurnID)
	}
	p.request, p.found = req, append(found, passages.Events...)
	p.ids = i.newCallIDs(req.GetMessages(), p.truncated || part != nil) // a step of a plan does not see the calls of the others
	// The estimate of the surface has the passages.
	p.reads = int64(surface.GetPromptTokens()) + int64(tokens.Messages(req.GetMessages())-passages.Tokens())
	return p, nil
}

// context returns the conversation: from the memory of the runner, which wrote all that is new since it was read, or from the journal.
// Plans are messages too, which a memory does not hold.
func (i *infer) context(ctx context.Context) (*step.History, error) {
	remembers := i.Memory != nil
	if remembers && i.Ref.GetPlan() == nil {
		if known := i.Memory.Recall(i.Ref.GetKey()); known != nil {
			return known, nil
		}
	}
	read, err := i.Sessions.GetContext(ctx, &executionv1.GetContextRequest{TurnId: i.Turn.TurnID})
	if err == nil && remembers {
		i.Memory.Keep(i.Ref.GetKey(), read)
	}
	return read, err
}

// flush waits until deltas are at the bus, so that they arrive before the message that is committed next. A bus that is away is no
// reason to wait.
func (i *infer) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := i.Flush(ctx); err != nil {
		i.Log.DebugContext(ctx, "deltas not flushed", "error", err)
	}
}

// GiveUp implements step.Action.
func (i *infer) GiveUp(why *turnv1.TurnError) *step.Commit {
	if why == nil { // cancelled before the model was asked
		return &step.Commit{}
	}
	return &step.Commit{Outcome: &turnv1.StepOutcome{Error: why, Usage: &turnv1.Usage{ModelCalls: 1}, Inputs: i.inputs}}
}
