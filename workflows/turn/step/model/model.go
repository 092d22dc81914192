// Package model asks models, and counts what the calls use.
package model

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/reacttext"
)

// Finish reasons with a meaning for the turn.
const (
	// FinishStop and FinishToolCalls are those of a whole answer.
	FinishStop      = "stop"
	FinishToolCalls = "tool_calls"
	// FinishFiltered is that of what the provider or a shield blocks.
	FinishFiltered = "content_filter"
)

// Ask asks a model for a step: it passes on what comes, and returns the whole answer.
type Ask func(
	context.Context, *step.Work, *inferencev1.GenerateRequest, func(*inferencev1.GenerateResponse),
) (*inferencev1.Finished, error)

// Stream returns the Ask that asks the inference service. It requests the turn's chain of models within a budget, and records the attempts
// of the step.
func Stream(client inferencev1.InferenceServiceClient, budget step.CallBudget) Ask {
	return func(
		ctx context.Context, w *step.Work, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse),
	) (*inferencev1.Finished, error) {
		chain(w, req)
		var left bool
		if req.Attempts, req.Budget, left = budget.Left(&w.Attempts, time.Now()); !left {
			return nil, fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "the model call has used up its attempts, time or cost")
		}
		ctx, cancel := context.WithCancel(ctx) // ends the stream when we return
		defer cancel()
		stream, err := client.Generate(ctx, req)
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
				answered(w, m.GetFinished())
				return m.GetFinished(), nil
			case m.GetAttempt() != nil:
				record(w, m.GetAttempt())
			default:
				add(m)
			}
		}
	}
}

// Bound limits what the model may write to what was reserved for the step.
func Bound(req *inferencev1.GenerateRequest, lease *step.Lease) {
	if most := lease.GetMaxOutputTokens(); most > 0 && (req.GetMaxOutputTokens() == 0 || req.GetMaxOutputTokens() > most) {
		req.MaxOutputTokens = most
	}
}

// TooLong reports whether a provider refuses a conversation because it is too long.
func TooLong(err error) bool { return fault.Is(err, faultv1.Reason_REASON_CONTEXT_TOO_LONG) }

// Corrected returns a conversation with an answer that cannot be read, and what is wrong with it.
func Corrected(messages []*turnv1.Message, answer, complaint string) []*turnv1.Message {
	if strings.TrimSpace(answer) != "" {
		messages = append(messages[:len(messages):len(messages)], reacttext.Text(turnv1.Role_ROLE_ASSISTANT, answer))
	}
	return append(messages[:len(messages):len(messages)], reacttext.Text(turnv1.Role_ROLE_USER, complaint))
}

// GiveUp is what a step with one model call commits when it has failed for good, or was cancelled, see step.Action.
func GiveUp(why *turnv1.TurnError) *step.Commit {
	if why == nil {
		return &step.Commit{}
	}
	return &step.Commit{Outcome: &turnv1.StepOutcome{Error: why, Usage: &turnv1.Usage{ModelCalls: 1}}}
}
