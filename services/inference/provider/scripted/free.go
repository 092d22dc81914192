package scripted

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/truncate"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// Limits of what an answer repeats.
const (
	maxQuote  = 1500 // characters of one result
	maxListed = 20   // tools
)

// free answers a message without directives: it searches the agent's documents, calls a tool, or says why it does not.
func (s script) free(r *reply, tools []*inferencev1.ToolDefinition) {
	var first *candidate
	ranked := rank(s.rest, tools)
	if searches(ranked, tools) {
		r.calls, r.finish = []call{searchFor(s.rest)}, provider.ToolCalls
		return
	}
	for _, c := range ranked {
		arguments, missing := c.schema.fill(s.rest)
		if len(missing) == 0 {
			written, err := json.Marshal(arguments)
			if err != nil {
				continue
			}
			r.calls, r.finish = []call{{tool: c.name, arguments: string(written)}}, provider.ToolCalls
			return
		}
		if first == nil {
			c.missing = missing
			first = &c
		}
	}
	if first != nil {
		r.text = fmt.Sprintf("%s seems to fit, but I cannot find its argument %s in your message. %s",
			first.name, strings.Join(first.missing, " and "),
			fmt.Sprintf("Write for example: call:%s {\"%s\": …}", first.name, first.missing[0]))
		return
	}
	r.text = introduction(tools)
}

// introduction describes the model.
func introduction(tools []*inferencev1.ToolDefinition) string {
	text := "I am builtin/scripted, a stand-in that comes with Windlass: rules, not an AI. I can call a tool whose name and " +
		"description share words with your message, and I follow directives such as call:NAME {json} and say:TEXT. "
	if len(tools) == 0 {
		text += "This agent has no tools that I could call now. "
	} else {
		names := make([]string, 0, maxListed)
		for _, t := range tools[:min(len(tools), maxListed)] {
			names = append(names, t.GetName())
		}
		if len(tools) > maxListed {
			names = append(names, fmt.Sprintf("and %d more", len(tools)-maxListed))
		}
		text += "No tool fits what you wrote; there are " + strings.Join(names, ", ") + ". "
	}
	return text + "For real answers set OPENAI_API_KEY or ANTHROPIC_API_KEY, run Ollama, or configure a provider, and start Windlass again."
}

// quote returns an answer that quotes results.
func quote(results []*turnv1.ToolResult) string {
	said := make([]string, 0, len(results))
	for _, res := range results {
		text := strings.TrimSpace(provider.Text(res.GetContent())) // the data beside a text are for models
		if text == "" || res.GetTruncated() {
			text = strings.TrimSpace(provider.ResultText(res))
		}
		text = truncate.Chars(text, maxQuote)
		verb := "answered"
		if res.GetIsError() {
			verb = "answered with an error"
		}
		if strings.Contains(text, "\n") {
			said = append(said, fmt.Sprintf("%s %s:\n%s", res.GetTool(), verb, text))
			continue
		}
		if !strings.ContainsAny(text[len(text)-1:], ".!?") {
			text += "."
		}
		said = append(said, fmt.Sprintf("%s %s: %s", res.GetTool(), verb, text))
	}
	return strings.Join(said, "\n")
}
