package step

import (
	"context"
	"strings"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/reacttext"
)

// strategy is how the step's turn is decided: as the select step chose, else as the surface says.
func (w *work) strategy() turnv1.Strategy {
	return or(w.ref.GetStrategy(), w.loaded.GetSurface().GetStrategy())
}

// showsTools tells whether the model may call tools in this step: not when it answers directly, nor when it answers over the results
// of a plan.
func (w *work) showsTools() bool {
	if plan := w.ref.GetPlan(); plan != nil {
		return plan.GetCurrent() > 0
	}
	return w.strategy() != turnv1.Strategy_STRATEGY_DIRECT
}

// ask is one way to ask a model: it passes on what comes and gives the whole answer.
type ask func(context.Context, *inferencev1.GenerateRequest, func(*inferencev1.GenerateResponse)) (*inferencev1.Finished, error)

// answerer is how the step's strategy asks.
func (i infer) answerer(w *work) ask {
	switch {
	case w.strategy() == turnv1.Strategy_STRATEGY_REACT_TEXT:
		return i.inText
	case w.routes():
		return i.inRoute(w)
	default:
		return i.stream
	}
}

// inText asks a model that knows no native tool calls, and gives its answer as one that does would have given it.
func (r *Runner) inText(ctx context.Context, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse)) (*inferencev1.Finished, error) {
	tools := req.GetTools()
	req.Instructions, req.Tools = reacttext.Instructions(req.GetInstructions(), tools), nil
	req.Messages = reacttext.Conversation(req.GetMessages())
	said := ""
	split := reacttext.Splitter{
		Think: func(piece string) {
			add(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_ReasoningDelta{ReasoningDelta: piece}})
		},
		Say: func(piece string) {
			said += piece
			add(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: piece}})
		},
	}
	finished, read, err := r.readable(ctx, req, add, &split)
	if err != nil {
		return nil, err
	}
	finished.Text, finished.Reasoning = read.Final, strings.TrimSpace(finished.GetReasoning()+"\n"+read.Thought)
	if rest, ok := strings.CutPrefix(read.Final, said); ok && rest != "" { // an answer that did not look like one when it came
		add(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: rest}})
	}
	if read.Tool != "" {
		tool := reacttext.Resolve(read.Tool, tools)
		call := &turnv1.ToolCall{Tool: tool.GetName(), ArgumentsJson: reacttext.Arguments(read.Input, tool.GetInputSchemaJson())}
		finished.ToolCalls = []*turnv1.ToolCall{call}
		add(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_ToolCallDelta{
			ToolCallDelta: &inferencev1.ToolCallDelta{Tool: call.GetTool(), ArgumentsDelta: call.GetArgumentsJson()},
		}})
		if finished.GetFinishReason() == finishStop {
			finished.FinishReason = finishToolCalls
		}
	}
	return finished, nil
}

// Finish reasons of providers that have a meaning here.
const (
	finishStop      = "stop"
	finishToolCalls = "tool_calls"
)

// readable asks until the text can be read, or until it has been asked often enough: then the text is the answer as it is. The
// usage is that of all calls.
func (r *Runner) readable(
	ctx context.Context, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse), split *reacttext.Splitter,
) (*inferencev1.Finished, reacttext.Answer, error) {
	used := &turnv1.Usage{}
	for attempt := 0; ; attempt++ {
		finished, err := r.stream(ctx, req, func(m *inferencev1.GenerateResponse) {
			switch e := m.GetEvent().(type) {
			case *inferencev1.GenerateResponse_TextDelta:
				split.Add(e.TextDelta)
			case *inferencev1.GenerateResponse_ReasoningDelta:
				add(m)
			}
		})
		split.Close()
		if err != nil {
			return nil, reacttext.Answer{}, err
		}
		addUsage(used, finished)
		finished.Usage = used
		read := reacttext.Parse(finished.GetText())
		switch {
		case read.Problem == "", finished.GetFinishReason() != finishStop && finished.GetFinishReason() != finishToolCalls:
		case len(finished.GetToolCalls()) > 0: // a native call, though none was offered
			return finished, reacttext.Answer{Thought: read.Thought}, nil
		case attempt < contract.TextRepairs:
			req.Messages = repaired(req.GetMessages(), finished.GetText(), reacttext.Repair(read.Problem))
			*split = reacttext.Splitter{Think: split.Think, Say: split.Say}
			continue
		}
		finished.ToolCalls = nil
		if read.Problem != "" {
			read = reacttext.Answer{Final: reacttext.Salvage(finished.GetText())}
		}
		return finished, read, nil
	}
}

// repaired is a conversation with an answer that cannot be read, and what is wrong with it.
func repaired(messages []*turnv1.Message, answer, complaint string) []*turnv1.Message {
	if strings.TrimSpace(answer) != "" {
		messages = append(messages[:len(messages):len(messages)], reacttext.Text(turnv1.Role_ROLE_ASSISTANT, answer))
	}
	return append(messages[:len(messages):len(messages)], reacttext.Text(turnv1.Role_ROLE_USER, complaint))
}

// addUsage adds a model call, and the call itself.
func addUsage(sum *turnv1.Usage, finished *inferencev1.Finished) {
	addCalls(sum, finished.GetUsage())
	sum.ModelCalls++
}

// addCalls adds what calls used, but not their number.
func addCalls(sum, u *turnv1.Usage) {
	sum.InputTokens += u.GetInputTokens()
	sum.OutputTokens += u.GetOutputTokens()
	sum.CachedInputTokens += u.GetCachedInputTokens()
	sum.ReasoningTokens += u.GetReasoningTokens()
}
