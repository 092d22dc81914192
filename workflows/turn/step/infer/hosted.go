package infer

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"google.golang.org/protobuf/types/known/timestamppb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
)

// Executors runs rounds of agents that are written elsewhere; *executor.Host does.
type Executors interface {
	// Run does one round. Its errors are faults, but for those of the sink.
	Run(ctx context.Context, r executor.Round, sink executor.Sink) (*executor.Answer, error)
	// Forget ends an executor that waits for a round of a turn that will not come.
	Forget(turn string)
}

// hosted returns how the agent's executor is asked. It reads the turn again: an earlier attempt may have learned the executor's session,
// and the ids of all calls are needed.
func (i *infer) hosted(ctx context.Context, truncated bool) (*callIDs, model.Ask, error) {
	if i.Executors == nil {
		return nil, nil, step.Final(errors.New("this worker runs no executors"))
	}
	now, err := i.Sessions.LoadTurn(ctx, &executionv1.LoadTurnRequest{TurnId: i.Turn.TurnID})
	if err != nil {
		return nil, nil, fmt.Errorf("load turn: %w", err)
	}
	used := map[string]bool{}
	for _, o := range now.GetOutcomes() {
		for _, call := range o.GetCalls() {
			used[call.GetCallId()] = true
		}
	}
	ids := &callIDs{infer: number(i.Ref), used: maps.Clone(used), given: map[int]string{}}
	return ids, func(
		ctx context.Context, _ *step.Work, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse),
	) (*inferencev1.Finished, error) {
		i.used, i.over = nil, nil // of an earlier try
		round := executor.Round{Executor: i.Loaded.GetAgent().GetExecutor(), Used: used, Invocation: i.invocation(now, req, truncated)}
		limits := i.limits(now.GetOutcomes())
		round.Left = limits.left()
		if i.Loaded.GetExecutorSealed() {
			round.Later = i.Pinned.Here
		}
		round.Asked = addNews(round.Invocation, req.GetMessages(), i.Turn.TurnID)
		got, err := i.Executors.Run(ctx, round, i.sink(add))
		if err != nil {
			return nil, err
		}
		if got.FinishReason == executor.FinishBudget {
			i.over = limits.over(got.Usage)
		}
		return &inferencev1.Finished{
			FinishReason: got.FinishReason, Text: got.Text, Reasoning: got.Reasoning, ToolCalls: got.Calls, Usage: got.Usage, Model: got.Model,
		}, nil
	}, nil
}

// invocation describes the turn to an executor, but not what is new since its last answer.
func (i *infer) invocation(now *step.Loaded, req *inferencev1.GenerateRequest, truncated bool) *executorv1.Invocation {
	agent := i.Loaded.GetAgent()
	in := &executorv1.Invocation{
		Schema: executor.Schema, Mode: executorv1.Mode_MODE_START, InvocationId: i.Turn.TurnID + "/" + i.Ref.GetKey(),
		Attempt:   i.Lease.GetAttempt(),
		SessionId: i.Turn.SessionID, TurnId: i.Turn.TurnID, Tenant: i.Turn.Tenant, Subject: i.Loaded.GetPrincipal().GetSubject(),
		ExecutorSessionId: now.GetExecutorSessionId(), Conversation: req.GetMessages(), ConversationTruncated: truncated,
		Agent: &executorv1.AgentSpec{
			Id: agent.GetId(), Revision: agent.GetRevision(), Instructions: req.GetInstructions(), Model: agent.GetModel(),
			Temperature: agent.Temperature, MaxOutputTokens: req.GetMaxOutputTokens(), MaxSteps: i.Loaded.GetSurface().GetMaxSteps(),
		},
	}
	if in.GetExecutorSessionId() != "" {
		in.Mode = executorv1.Mode_MODE_RESUME
	}
	if deadline := i.Deadline(); !deadline.IsZero() {
		in.Deadline = timestamppb.New(deadline)
	}
	for _, t := range req.GetTools() {
		in.Agent.Tools = append(in.Agent.Tools, &executorv1.ToolSpec{
			Name: t.GetName(), Description: t.GetDescription(), InputSchemaJson: t.GetInputSchemaJson(),
		})
	}
	return in
}

// addNews puts what is new since the turn's last answer into an invocation: results of its calls, and what people said. It returns the
// calls.
func addNews(in *executorv1.Invocation, messages []*turnv1.Message, turnID string) []*turnv1.ToolCall {
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

// sink passes on the output of an executor in the form of a model's stream, and keeps its session's id.
func (i *infer) sink(add func(*inferencev1.GenerateResponse)) executor.Sink {
	return executor.Sink{
		Attached: func(ctx context.Context, id string) error { return i.attached(ctx, id) },
		Used:     func(sum *turnv1.Usage) { i.used = sum },
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

// attached journals an executor's own id of the session, so that the worker that does the next round can resume it.
func (i *infer) attached(ctx context.Context, id string) error {
	x := i.Loaded.GetAgent().GetExecutor()
	_, err := i.Sessions.AppendEvents(ctx, &executionv1.AppendEventsRequest{
		TurnId: i.Turn.TurnID, Step: i.Ref.GetKey(), Fence: i.Lease.GetFence(),
		Events: []*turnv1.Event{{Data: &turnv1.Event_ExecutorAttached{ExecutorAttached: &turnv1.ExecutorAttached{
			Kind: x.GetKind(), ExecutorSessionId: id, ExecutorHash: contract.ExecutorHash(x),
		}}}},
	})
	if err != nil {
		return fmt.Errorf("keep the executor's session: %w", err)
	}
	return nil
}
