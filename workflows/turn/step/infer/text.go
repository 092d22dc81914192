package infer

import (
	"context"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
	"github.com/windlass-dev/windlass/workflows/turn/step/plan"
	"github.com/windlass-dev/windlass/workflows/turn/step/reacttext"
)

// showsTools reports whether the model may call tools in this step: not when it answers directly, nor when it answers over the results
// of a plan.
func (i *infer) showsTools() bool {
	if part := i.Ref.GetPlan(); part != nil {
		return part.GetCurrent() > 0
	}
	return i.Strategy() != turnv1.Strategy_STRATEGY_DIRECT
}

// unoffered returns the error of an answer that is nothing but calls although the model may call no tools: nothing would run them.
func (i *infer) unoffered(finished *inferencev1.Finished) error {
	calls := finished.GetToolCalls()
	if len(calls) == 0 || i.showsTools() || strings.TrimSpace(finished.GetText()) != "" || contract.Hosted(i.Loaded.GetAgent()) {
		return nil
	}
	return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_STREAM_BROKEN, "the model asked for the tool %s, but was offered no tools",
		truncate.Chars(calls[0].GetTool(), maxShownName)).
		Hint("Check that the sources of the agent's tools can be reached, or use another model.")
}

// maxShownName limits the name of a tool in an error, in characters.
const maxShownName = 100

// answerer is how the step's strategy asks.
func (i *infer) answerer() model.Ask {
	switch {
	case i.Strategy() == turnv1.Strategy_STRATEGY_REACT_TEXT:
		return i.inText
	case plan.Routes(i.Work):
		return i.Route
	case i.answersInSchema():
		return i.inSchema
	default:
		return i.Ask
	}
}

// inText asks a model without native tool calls, and returns its answer in the form of a model that has them.
func (i *infer) inText(
	ctx context.Context, w *step.Work, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse),
) (*inferencev1.Finished, error) {
	tools := req.GetTools()
	textForm(req)
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
	finished, read, err := i.readable(ctx, w, req, add, &split)
	if err != nil {
		return nil, err
	}
	finished.Verbatim = nil // its calls are not those of the answer
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
		if finished.GetFinishReason() == model.FinishStop {
			finished.FinishReason = model.FinishToolCalls
		}
	}
	return finished, nil
}

// readable asks until the text can be read, or until it has been asked often enough: then the text is the answer as it is. The
// usage is that of all calls.
func (i *infer) readable(
	ctx context.Context, w *step.Work, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse),
	split *reacttext.Splitter,
) (*inferencev1.Finished, reacttext.Answer, error) {
	used := &turnv1.Usage{}
	for attempt := 0; ; attempt++ {
		finished, err := i.Ask(ctx, w, req, func(m *inferencev1.GenerateResponse) {
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
		model.Add(used, finished)
		finished.Usage = used
		read := reacttext.Parse(finished.GetText())
		switch {
		case read.Problem == "", finished.GetFinishReason() != model.FinishStop && finished.GetFinishReason() != model.FinishToolCalls:
		case len(finished.GetToolCalls()) > 0: // a native call, though none was offered
			return finished, reacttext.Answer{Thought: read.Thought}, nil
		case attempt < contract.TextRepairs:
			req.Messages = model.Corrected(req.GetMessages(), finished.GetText(), reacttext.Repair(read.Problem))
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
