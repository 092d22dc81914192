package step

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"google.golang.org/protobuf/types/known/timestamppb"

	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
)

// executors runs rounds of agents that are written elsewhere; *executor.Host does.
type executors interface {
	// Run does one round. Its errors are faults, but for those of the sink.
	Run(ctx context.Context, r executor.Round, sink executor.Sink) (*executor.Answer, error)
	// Forget ends an executor that waits for a round of a turn that will not come.
	Forget(turn string)
}

// hosted is how an agent's executor is asked. It reads the turn anew: what an earlier attempt was told of the executor's session counts, and
// so do the ids of all calls.
func (r *Runner) hosted(ctx context.Context, w *work, truncated bool) (*callIDs, ask, error) {
	if r.deps.Executors == nil {
		return nil, nil, Final(errors.New("this worker runs no executors"))
	}
	now, err := r.deps.Sessions.LoadTurn(ctx, &sessionsv1.LoadTurnRequest{TurnId: w.turn.TurnID})
	if err != nil {
		return nil, nil, fmt.Errorf("load turn: %w", err)
	}
	used := map[string]bool{}
	for _, o := range now.GetOutcomes() {
		for _, call := range o.GetCalls() {
			used[call.GetCallId()] = true
		}
	}
	ids := &callIDs{infer: number(w.ref), used: maps.Clone(used), given: map[int]string{}}
	return ids, func(ctx context.Context, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse)) (*inferencev1.Finished, error) {
		w.used, w.over = nil, nil // of an earlier try
		round := executor.Round{Executor: w.loaded.GetAgent().GetExecutor(), Used: used, Invocation: invocation(w, now, req, truncated)}
		limits := w.limits(now.GetOutcomes())
		round.Left = limits.left()
		if w.loaded.GetExecutorSealed() {
			round.Later = r.here
		}
		round.Asked = told(round.Invocation, req.GetMessages(), w.turn.TurnID)
		got, err := r.deps.Executors.Run(ctx, round, r.sink(w, add))
		if err != nil {
			return nil, err
		}
		if got.FinishReason == executor.FinishBudget {
			w.over = limits.over(got.Usage)
		}
		return &inferencev1.Finished{
			FinishReason: got.FinishReason, Text: got.Text, Reasoning: got.Reasoning, ToolCalls: got.Calls, Usage: got.Usage, Model: got.Model,
		}, nil
	}, nil
}

// invocation tells an executor of the turn, but not what is new since it spoke last.
func invocation(w *work, now *sessionsv1.LoadTurnResponse, req *inferencev1.GenerateRequest, truncated bool) *executorv1.Invocation {
	agent := w.loaded.GetAgent()
	in := &executorv1.Invocation{
		Schema: executor.Schema, Mode: executorv1.Mode_MODE_START, InvocationId: w.turn.TurnID + "/" + w.ref.GetKey(), Attempt: w.lease.GetAttempt(),
		SessionId: w.turn.SessionID, TurnId: w.turn.TurnID, Tenant: w.turn.Tenant, Subject: w.loaded.GetPrincipal().GetSubject(),
		ExecutorSessionId: now.GetExecutorSessionId(), Conversation: req.GetMessages(), ConversationTruncated: truncated,
		Agent: &executorv1.AgentSpec{
			Id: agent.GetId(), Revision: agent.GetRevision(), Instructions: req.GetInstructions(), Model: agent.GetModel(),
			Temperature: agent.Temperature, MaxOutputTokens: req.GetMaxOutputTokens(), MaxSteps: w.loaded.GetSurface().GetMaxSteps(),
		},
	}
	if in.GetExecutorSessionId() != "" {
		in.Mode = executorv1.Mode_MODE_RESUME
	}
	if deadline := w.deadline(); !deadline.IsZero() {
		in.Deadline = timestamppb.New(deadline)
	}
	for _, t := range req.GetTools() {
		in.Agent.Tools = append(in.Agent.Tools, &executorv1.ToolSpec{
			Name: t.GetName(), Description: t.GetDescription(), InputSchemaJson: t.GetInputSchemaJson(),
		})
	}
	return in
}

// told puts what is new since the turn's last answer into an invocation: results of its calls, and what people said. It gives the calls.
func told(in *executorv1.Invocation, messages []*turnv1.Message, turnID string) []*turnv1.ToolCall {
	var asked []*turnv1.ToolCall
	for _, m := range messages {
		switch {
		case m.GetTurnId() != turnID:
		case m.GetRole() == turnv1.Role_ROLE_ASSISTANT:
			asked, in.Input, in.ToolResults = m.GetToolCalls(), nil, nil
		case m.GetRole() == turnv1.Role_ROLE_TOOL:
			in.ToolResults = append(in.ToolResults, m.GetToolResult())
		case m.GetRole() == turnv1.Role_ROLE_USER:
			in.Input = append(in.Input, m)
		}
	}
	return asked
}

// sink passes on what an executor says as a model's stream would, and keeps its session's id.
func (r *Runner) sink(w *work, add func(*inferencev1.GenerateResponse)) executor.Sink {
	return executor.Sink{
		Attached: func(ctx context.Context, id string) error { return r.attached(ctx, w, id) },
		Used:     func(sum *turnv1.Usage) { w.used = sum },
		Text: func(piece string) {
			add(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: piece}})
		},
		Reasoning: func(piece string) {
			add(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_ReasoningDelta{ReasoningDelta: piece}})
		},
		Call: func(index int, call *turnv1.ToolCall) {
			add(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_ToolCallDelta{ToolCallDelta: &inferencev1.ToolCallDelta{
				Index: int32(index), CallId: call.GetCallId(), Tool: call.GetTool(), ArgumentsDelta: call.GetArgumentsJson(),
			}}})
		},
	}
}

// attached journals an executor's own id of the session, so that whoever does the next round can resume it.
func (r *Runner) attached(ctx context.Context, w *work, id string) error {
	x := w.loaded.GetAgent().GetExecutor()
	_, err := r.deps.Sessions.AppendEvents(ctx, &sessionsv1.AppendEventsRequest{
		TurnId: w.turn.TurnID, Step: w.ref.GetKey(), Fence: w.lease.GetFence(),
		Events: []*turnv1.Event{{Data: &turnv1.Event_ExecutorAttached{ExecutorAttached: &turnv1.ExecutorAttached{
			Kind: x.GetKind(), ExecutorSessionId: id, ExecutorHash: contract.ExecutorHash(x),
		}}}},
	})
	if err != nil {
		return fmt.Errorf("keep the executor's session: %w", err)
	}
	return nil
}

// forget ends an executor that waits for a round of a turn that is over.
func (r *Runner) forget(turn string) {
	if r.deps.Executors != nil {
		r.deps.Executors.Forget(turn)
	}
}
