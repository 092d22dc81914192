package scripted

import (
	"encoding/json"
	"regexp"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/rules"
)

// speaker returns the reply at a position of the conversation.
type speaker func(s script, here place) reply

// understand reads the marks in the instructions: it returns the request without them, and how to answer it.
func understand(req provider.Request) (provider.Request, speaker) {
	usual := func(s script, here place) reply { return s.reply(here, req.Tools) }
	switch {
	case strings.Contains(req.Instructions, contract.MarkSelect):
		tools, agents := !strings.Contains(req.Instructions, contract.NoTools), agentsIn(req.Instructions)
		return req, func(s script, here place) reply { return saying(choose(s, here.text, tools, agents)) }
	case strings.Contains(req.Instructions, contract.MarkRoute):
		agents := agentsIn(req.Instructions)
		return req, func(_ script, here place) reply { return saying(route(here.text, agents)) }
	case strings.Contains(req.Instructions, contract.MarkPlan):
		if text := lastUser(req.Messages); strings.HasSuffix(text, contract.PlanRest) {
			req.Messages = withoutLast(req.Messages)
			return req, func(script, place) reply { return saying(map[string]any{"steps": []string{}}) }
		}
		return req, func(_ script, here place) reply { return saying(planOf(here.text)) }
	case strings.Contains(req.Instructions, contract.MarkPlanStep):
		req.Messages = onlyGoal(req.Messages)
		return req, usual
	case strings.Contains(req.Instructions, contract.MarkPlanAnswer):
		_, results, _ := strings.Cut(lastUser(req.Messages), contract.ResultsPrefix+"\n")
		req.Messages = withoutLast(req.Messages)
		return req, func(s script, _ place) reply { return answerOf(s, strings.TrimSpace(results)) }
	case strings.Contains(req.Instructions, contract.MarkCompact):
		summary := summaryOf(lastUser(req.Messages))
		req.Messages = []*turnv1.Message{textMessage(turnv1.Role_ROLE_USER, contract.CompactPrefix)}
		return req, func(script, place) reply { return reply{text: summary, finish: provider.Stop} }
	case strings.Contains(req.Instructions, contract.MarkReactText):
		req = fromText(req)
		return req, func(s script, here place) reply { return inText(s.oneByOne().reply(here, req.Tools)) }
	default:
		return req, usual
	}
}

// saying returns a JSON answer.
func saying(value any) reply {
	text, err := json.Marshal(value)
	if err != nil { // strings always encode
		text = []byte("{}")
	}
	return reply{text: string(text), finish: provider.Stop}
}

// choose selects a strategy for the message: by its directives, or by its words if it has none.
func choose(s script, text string, tools bool, agents []rules.Agent) map[string]string {
	calls := len(s.stages[0].calls) > 0
	switch {
	case len(partsOf(text)) > 1:
		return map[string]string{"strategy": rules.Plan, "reason": "The message has several parts."}
	case calls:
		return map[string]string{"strategy": rules.React, "reason": "The message has a call directive."}
	case len(s.say) > 0 && rules.Nearest(text, agents) < 0:
		return map[string]string{"strategy": rules.Direct, "reason": "The message needs no tool."}
	}
	strategy, reason := rules.Choose(text, tools, agents)
	return map[string]string{"strategy": strategy, "reason": reason}
}

// route selects the agent whose name and description share most words with the message.
func route(text string, agents []rules.Agent) map[string]string {
	best := rules.Nearest(text, agents)
	if best < 0 {
		return map[string]string{"agent": "none", "reason": "The message shares no words with any agent."}
	}
	return map[string]string{"agent": agents[best].ID, "reason": "Its name and description share most words with the message."}
}

// agentsIn reads the agents listed in instructions.
func agentsIn(instructions string) []rules.Agent {
	var agents []rules.Agent
	_, list, _ := strings.Cut(instructions, contract.AgentList+"\n")
	for line := range strings.Lines(list) {
		entry, ok := strings.CutPrefix(line, contract.ToolPrefix)
		name, description, named := strings.Cut(strings.TrimSpace(entry), ": ")
		if !ok || !named {
			break
		}
		agents = append(agents, rules.Agent{ID: name, Description: description})
	}
	return agents
}

// Limits of a plan.
const (
	maxParts = 10
	maxTitle = 60 // characters
)

var (
	item      = regexp.MustCompile(`(?m)^\s*\d+[.)]\s+(.+)$`)
	separator = regexp.MustCompile(`(?i)[,;.]?\s+(?:and\s+)?(?:then|finally)\b[,:]?\s+`)
	firstWord = regexp.MustCompile(`(?i)^first(?:ly)?\b[,:]?\s*`)
)

// partsOf splits a message into sequential parts: the items of a numbered list, or what "then" separates.
func partsOf(text string) []string {
	var parts []string
	if items := item.FindAllStringSubmatch(text, -1); len(items) > 1 {
		for _, m := range items {
			parts = append(parts, strings.TrimSpace(m[1]))
		}
	} else {
		for _, part := range separator.Split(text, -1) {
			if part = firstWord.ReplaceAllString(strings.TrimSpace(part), ""); part != "" {
				parts = append(parts, part)
			}
		}
	}
	return parts[:min(len(parts), maxParts)]
}

func planOf(text string) any {
	type step struct {
		Title string `json:"title"`
		Goal  string `json:"goal"`
	}
	steps := []step{}
	for _, part := range partsOf(text) {
		title := []rune(part)
		steps = append(steps, step{Title: string(title[:min(len(title), maxTitle)]), Goal: part})
	}
	return map[string]any{"steps": steps}
}

// answerOf quotes the results of a plan's steps, unless the message has say directives.
func answerOf(s script, results string) reply {
	r := reply{text: strings.Join(s.say, " "), finish: s.finish}
	if r.text == "" {
		r.text = "Results of the plan:\n" + results
	}
	return r
}

func lastUser(messages []*turnv1.Message) string { return locate(messages).text }

// withoutLast drops the message that the mesh sent as the user.
func withoutLast(messages []*turnv1.Message) []*turnv1.Message {
	if n := len(messages); n > 1 && messages[n-1].GetRole() == turnv1.Role_ROLE_USER {
		return messages[:n-1]
	}
	return messages
}

// onlyGoal replaces the last user message by the goal of a plan's step.
func onlyGoal(messages []*turnv1.Message) []*turnv1.Message {
	out := append([]*turnv1.Message(nil), messages...)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i].GetRole() != turnv1.Role_ROLE_USER {
			continue
		}
		text := provider.Text(out[i].GetContent())
		if at := strings.LastIndex(text, "\n"+contract.GoalPrefix); at >= 0 {
			out[i] = textMessage(turnv1.Role_ROLE_USER, text[at+1+len(contract.GoalPrefix):])
		}
		break
	}
	return out
}

func textMessage(role turnv1.Role, text string) *turnv1.Message {
	return &turnv1.Message{Role: role, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}}
}
