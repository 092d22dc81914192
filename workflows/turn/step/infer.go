package step

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/tokens"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// flushTime is how long a finished message waits for its deltas to be on their way, so that they arrive before it.
const flushTime = 500 * time.Millisecond

// infer asks the model once. Tokens go to the bus as they come; the whole message goes to the journal.
type infer struct{ *Runner }

func (i infer) prepare(ctx context.Context, w *work) (err error) {
	if w.loaded == nil {
		w.loaded, err = i.load(ctx, w.turn.TurnID)
	}
	return err
}

func (i infer) do(ctx context.Context, w *work) (*sessionsv1.CommitStepRequest, error) {
	if w.cancelled {
		return i.giveUp(w, nil), nil
	}
	req, truncated, err := i.request(ctx, w)
	if err != nil {
		return nil, err
	}
	partly := truncated || w.ref.GetPlan() != nil // a step of a plan does not see the calls of the others
	ids, ask := newCallIDs(w, req.GetMessages(), partly), i.answerer(w)
	if contract.Hosted(w.loaded.GetAgent()) {
		if ids, ask, err = i.hosted(ctx, w, truncated); err != nil {
			return nil, err
		}
	}
	ans := &answer{ids: ids, calls: map[int]*turnv1.ToolCall{}}
	out := &deltas{publish: i.transient(ctx, w), messageID: w.lease.GetMessageId(), pause: i.cfg.Coalesce}
	checked, err := i.looks(ctx, w.loaded.GetAgent(), stageOutput)
	if err != nil {
		return nil, err
	}
	w.reads = int64(w.loaded.GetSurface().GetPromptTokens()) + int64(tokens.Messages(req.GetMessages()))
	asked := time.Now()
	finished, err := ask(ctx, req, func(m *inferencev1.GenerateResponse) {
		if piece, ok := ans.add(m); ok && !checked { // what is to be checked is not shown before
			out.add(piece)
		}
	})
	n, first := out.close()
	if err != nil && !cut(ctx) {
		return nil, fmt.Errorf("ask model: %w", err)
	}
	faultpoint.Hit(faultpoint.InferDone)
	i.flush(ctx)
	done := &turnv1.MessageCompleted{Deltas: n, FinishReason: finished.GetFinishReason(), Usage: finished.GetUsage()}
	if !first.IsZero() {
		done.FirstTokenMs = int32(first.Sub(asked).Milliseconds())
	}
	outcome := &turnv1.StepOutcome{FinishReason: finished.GetFinishReason(), Usage: usageOf(finished), Inputs: w.inputs, ContextTokens: w.reads}
	done.Usage = outcome.GetUsage()
	done.Message = ans.message(w, finished)
	blocked, found, err := i.shieldAnswer(ctx, w, done.GetMessage())
	if err != nil {
		return nil, err
	}
	if blocked && finished != nil {
		done.FinishReason, outcome.FinishReason = finishFiltered, finishFiltered
	}
	if finished == nil {
		countUsed(outcome.GetUsage(), or(w.used, ans.used(w.reads)))
		done.FinishReason, outcome.FinishReason = "cancelled", "cancelled"
		w.cancelled = errors.Is(context.Cause(ctx), ErrCancelled)
		if !w.cancelled {
			done.FinishReason, outcome.FinishReason, outcome.Error = "deadline", "deadline", deadlineError()
		}
		if len(done.GetMessage().GetContent()) == 0 { // nothing was said, so there is no message
			return &sessionsv1.CommitStepRequest{Outcome: outcome}, nil
		}
	}
	if w.over != nil && len(done.GetMessage().GetContent()) == 0 {
		return w.broken(&sessionsv1.CommitStepRequest{Outcome: outcome}), nil
	}
	commit := i.planned(w, i.whole(w, outcome, done))
	commit.Events = slices.Concat(w.found, found, commit.Events)
	return w.broken(commit), nil
}

// cut tells whether the stream ended because the turn was cancelled or its time is up: then what was said so far is kept.
func cut(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, ErrCancelled) || errors.Is(cause, errDeadline)
}

// whole makes the commit of a message.
func (i infer) whole(w *work, outcome *turnv1.StepOutcome, done *turnv1.MessageCompleted) *sessionsv1.CommitStepRequest {
	m := done.GetMessage()
	outcome.MessageId = m.GetId()
	for _, call := range m.GetToolCalls() {
		outcome.Calls = append(outcome.Calls, &turnv1.ToolCallRef{
			CallId: call.GetCallId(), Tool: call.GetTool(), MessageId: m.GetId(), CallHash: contract.CallHash(call),
		})
		i.cache.calls.Add(callKey(w.turn.TurnID, m.GetId(), call.GetCallId()), call)
	}
	return &sessionsv1.CommitStepRequest{
		Outcome:  outcome,
		Events:   []*turnv1.Event{{Data: &turnv1.Event_MessageCompleted{MessageCompleted: done}}},
		Messages: []*turnv1.Message{m},
	}
}

// request gathers what the model is shown.
func (i infer) request(ctx context.Context, w *work) (*inferencev1.GenerateRequest, bool, error) {
	agent, surface := w.loaded.GetAgent(), w.loaded.GetSurface()
	history, err := i.context(ctx, w)
	if err != nil {
		return nil, false, fmt.Errorf("read context: %w", err)
	}
	w.inputs = history.GetInputs()
	instructions, err := i.instructions(agent)
	if err != nil {
		return nil, false, err
	}
	messages, found, err := i.shieldConversation(ctx, w, history.GetMessages())
	if err != nil {
		return nil, false, err
	}
	w.found = found
	req := &inferencev1.GenerateRequest{
		Model: surface.GetModel(), Instructions: instructions, Messages: withAnswers(messages),
		MaxOutputTokens: agent.GetMaxOutputTokens(), Temperature: agent.Temperature, TurnId: w.turn.TurnID, Step: w.ref.GetKey(),
	}
	if w.showsTools() {
		if req.Tools, err = i.shown(ctx, w.loaded, history.GetMessages()); err != nil {
			return nil, false, err
		}
	}
	if plan := w.ref.GetPlan(); plan != nil {
		planRequest(req, plan, w.turn.TurnID)
	}
	w.bound(req)
	return req, history.GetTruncated(), nil
}

// context gives the conversation: from the journal, or from the advance that wrote all that is new since it was read. Plans are messages
// too, which an advance does not keep.
func (i infer) context(ctx context.Context, w *work) (*sessionsv1.GetContextResponse, error) {
	if w.advance != nil && w.ref.GetPlan() == nil {
		if known := w.advance.conversation(w.ref.GetKey()); known != nil {
			return known, nil
		}
	}
	read, err := i.deps.Sessions.GetContext(ctx, &sessionsv1.GetContextRequest{TurnId: w.turn.TurnID})
	if err == nil && w.advance != nil {
		w.advance.read(w.ref.GetKey(), read)
	}
	return read, err
}

// stream reads the answer to its end, and passes on what comes before it.
func (r *Runner) stream(ctx context.Context, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse)) (*inferencev1.Finished, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the stream when we return
	defer cancel()
	stream, err := r.deps.Inference.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fault.New(codes.DataLoss, faultv1.Reason_REASON_MODEL_STREAM_BROKEN, "the model's answer ended before it was whole")
		case err != nil:
			return nil, err
		case m.GetFinished() != nil:
			return m.GetFinished(), nil
		}
		add(m)
	}
}

// flush sees to it that deltas are at the bus before the message's end is committed. A bus that is away is no reason to wait.
func (i infer) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := i.deps.Bus.Flush(ctx); err != nil {
		i.deps.Log.DebugContext(ctx, "deltas not flushed", "error", err)
	}
}

func (infer) giveUp(w *work, why *turnv1.TurnError) *sessionsv1.CommitStepRequest {
	if why == nil { // cancelled before the model was asked
		return &sessionsv1.CommitStepRequest{}
	}
	return &sessionsv1.CommitStepRequest{Outcome: &turnv1.StepOutcome{Error: why, Usage: &turnv1.Usage{ModelCalls: 1}, Inputs: w.inputs}}
}

// usageOf counts the call itself too, whatever the provider told.
func usageOf(finished *inferencev1.Finished) *turnv1.Usage {
	out := &turnv1.Usage{ModelCalls: 1}
	countUsed(out, finished.GetUsage())
	return out
}

// countUsed takes over what a model's or an executor's call used, also one that was cut in the middle. A cost is what an executor tells; that
// of a model follows from its price, see priced.
func countUsed(out, u *turnv1.Usage) {
	if u == nil {
		return
	}
	out.InputTokens, out.OutputTokens, out.CachedInputTokens = u.GetInputTokens(), u.GetOutputTokens(), u.GetCachedInputTokens()
	out.ReasoningTokens, out.ModelCalls, out.CostMicros = u.GetReasoningTokens(), max(1, u.GetModelCalls()), u.GetCostMicros()
}
