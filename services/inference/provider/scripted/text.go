package scripted

import (
	"strings"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/workflows/contract"
)

const (
	actionPrefix      = "Action: "
	inputPrefix       = "Action Input: "
	observationPrefix = "Observation: "
	errorPrefix       = "Error: "
)

// fromText reads tools, calls and results from the text protocol.
func fromText(req provider.Request) provider.Request {
	_, listed, _ := strings.Cut(req.Instructions, contract.MarkReactText)
	req.Tools = nil
	for line := range strings.Lines(listed) {
		line = strings.TrimRight(line, "\n")
		if schema, ok := strings.CutPrefix(line, contract.SchemaPrefix); ok && len(req.Tools) > 0 {
			req.Tools[len(req.Tools)-1].InputSchemaJson = schema
		} else if tool, ok := strings.CutPrefix(line, contract.ToolPrefix); ok {
			name, description, _ := strings.Cut(tool, ":")
			req.Tools = append(req.Tools, &inferencev1.ToolDefinition{Name: name, Description: strings.TrimSpace(description)})
		}
	}
	var out []*turnv1.Message
	var open []*turnv1.ToolCall
	for _, m := range req.Messages {
		text := provider.Text(m.GetContent())
		switch {
		case m.GetRole() == turnv1.Role_ROLE_ASSISTANT:
			open = callsIn(text)
			out = append(out, &turnv1.Message{Role: m.GetRole(), Content: m.GetContent(), ToolCalls: open})
		case strings.HasPrefix(text, observationPrefix) && len(open) > 0:
			out = append(out, observed(text, open)...)
			open = nil
		default:
			out = append(out, m)
		}
	}
	req.Messages = out
	return req
}

// callsIn returns the actions in a message.
func callsIn(text string) []*turnv1.ToolCall {
	var calls []*turnv1.ToolCall
	for _, part := range strings.Split("\n"+text, "\n"+actionPrefix)[1:] {
		tool, in, _ := strings.Cut(part, "\n"+inputPrefix)
		calls = append(calls, &turnv1.ToolCall{Tool: strings.TrimSpace(tool), ArgumentsJson: in})
	}
	return calls
}

// observed converts observations to results, in the order of the calls.
func observed(text string, calls []*turnv1.ToolCall) []*turnv1.Message {
	var out []*turnv1.Message
	for i, part := range strings.Split("\n"+text, "\n"+observationPrefix)[1:] {
		part, failed := strings.CutPrefix(part, errorPrefix)
		out = append(out, &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
			Tool: calls[min(i, len(calls)-1)].GetTool(), IsError: failed, Content: textMessage(turnv1.Role_ROLE_TOOL, part).GetContent(),
		}})
	}
	return out
}

// oneByOne splits parallel calls into stages.
func (s script) oneByOne() script {
	var stages []stage
	for _, st := range s.stages {
		if st.loop > 1 || len(st.calls) < 2 {
			stages = append(stages, st)
			continue
		}
		for i, c := range st.calls {
			next := stage{calls: []call{c}, loop: 1}
			if i == 0 {
				next.think = st.think
			}
			stages = append(stages, next)
		}
	}
	s.stages = stages
	return s
}

// inText writes an answer in the text protocol.
func inText(r reply) reply {
	thought := r.think
	if thought == "" {
		thought = "I follow the rules."
	}
	out := reply{step: r.step, finish: r.finish, text: "Thought: " + thought + "\n"}
	if len(r.calls) == 0 {
		out.text += "Final Answer: " + r.text
		return out
	}
	out.finish = provider.Stop
	out.text += actionPrefix + r.calls[0].tool + "\n" + inputPrefix + r.calls[0].arguments
	return out
}
