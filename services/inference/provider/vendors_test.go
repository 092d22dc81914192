package provider_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/services/inference/provider/vendortest"
)

const schemaOfSignature = `{"google":{"thought_signature":"c2ln"}}`

func vendors() map[string]*vendor {
	openaiCall := func(extra string) func(id, name, arguments string) string {
		return func(id, name, arguments string) string {
			half := len(arguments) / 2
			return data(delta(`{"role":"assistant"`+extra+`}`),
				delta(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, id, name, arguments[:half])),
				delta(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, arguments[half:])), stops("tool_calls"), done)
		}
	}
	openaiSay := data(delta(`{"content":"ship it \ud83d"}`), `{"choices":[],"usage":null}`, delta(`{"content":""}`),
		delta(`{"content":"\ude80!"}`), stops("stop"), done)
	signed := func(id, name, arguments string) string {
		return data(delta(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":%q,"arguments":%q},"extra_content":%s}]}`,
			id, name, arguments, schemaOfSignature)), stops("tool_calls"), done)
	}
	anthropicCall := func(thinks bool) func(id, name, arguments string) string {
		return func(id, name, arguments string) string {
			list := []string{begin}
			at := 0
			if thinks {
				list = append(list, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
					`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I \ud83d"}}`,
					`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ude80"}}`,
					`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`, stop0)
				at = 1
			}
			return events(append(list,
				fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, at, id, name),
				fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, at, arguments),
				fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, at), ends("tool_use"), over)...)
		}
	}
	anthropicSay := events(begin, textBlock, writes(`ship it \ud83d`), ping, writes(`\ude80!`), stop0, ends("end_turn"), over)
	thinks := openaiCall(`,"reasoning_content":"I should \ud83d\ude80."`)
	ollamaCall := func(id, name, arguments string) string {
		return lines(line(`"content":"","thinking":"I \ud83d"`), line(`"content":"","thinking":"\ude80"`), line(fmt.Sprintf(
			`"content":"","tool_calls":[{"id":%q,"function":{"index":0,"name":%q,"arguments":%s}}]`, id, name, arguments)), lastLine("stop"))
	}
	ollamaSay := lines(line(`"content":"ship it \ud83d"`), line(`"content":""`), line(`"content":"\ude80!"`), lastLine("stop"))
	geminiCall := func(id, name, arguments string) string {
		return data(parts(`{"text":"I \ud83d","thought":true}`), parts(`{"text":"\ude80","thought":true}`), parts(fmt.Sprintf(
			`{"functionCall":{"id":%q,"name":%q,"args":%s},"thoughtSignature":"c2ln"}`, id, name, arguments)), finishes("STOP"))
	}
	geminiSay := data(parts(`{"text":"ship it \ud83d"}`), parts(`{"text":""}`), parts(`{"text":"\ude80!"}`), finishes("STOP"))
	responsesCall := func(id, name, arguments string) string {
		half := len(arguments) / 2
		return events(created, itemDone(0, thought), added(1, callItem(id, name, "")),
			argumentsAt(1, arguments[:half]), argumentsAt(1, arguments[half:]),
			itemDone(1, callItem(id, name, arguments)), completes(thought, callItem(id, name, arguments)))
	}
	responsesSay := events(created, textAt(0, `ship it \ud83d`), textAt(0, ""), textAt(0, `\ude80!`), completes())
	converseCall := func(id, name, arguments string) string {
		half := len(arguments) / 2
		return startFrame + reasons(0, `I \ud83d`, `\ude80`) + useFrames(1, id, name, arguments[:half], arguments[half:]) + stopsWith("tool_use")
	}
	converseSay := startFrame + saysFrame(`ship it \ud83d`) + saysFrame("") + saysFrame(`\ude80!`) + stopFrame(0) + stopsWith("end_turn")
	return map[string]*vendor{
		"Bedrock's Converse": {
			kind: "bedrock", model: "eu.anthropic.claude-sonnet-5-5-v1:0", check: checkConverse, call: converseCall, say: converseSay, play: frames,
		},
		"OpenAI's responses": {
			kind: "openai-responses", model: "gpt-x", check: checkResponses, call: responsesCall, say: responsesSay, messages: "input",
		},
		"Gemini's own API": {
			kind: "gemini", model: "gemini-3-pro", check: checkGenerateContent, call: geminiCall, say: geminiSay, messages: "contents",
		},
		"Ollama": {
			kind: "ollama", model: "qwen3", check: checkOllama, call: ollamaCall, say: ollamaSay, play: ndjson,
			other: map[string]http.HandlerFunc{"/api/show": ollama([]string{"completion", "tools", "thinking"}, nil)},
		},
		"OpenAI":    {kind: "openai", model: "gpt-x", check: checkOpenAI, call: openaiCall(""), say: openaiSay},
		"DeepSeek":  {kind: "openai", model: "deepseek-x", check: checkDeepSeek, call: thinks, say: openaiSay},
		"Gemini":    {kind: "openai", model: "gemini-x", check: checkGemini, call: signed, say: openaiSay},
		"Anthropic": {kind: "anthropic", model: "claude-x", check: checkAnthropic, call: anthropicCall(true), say: anthropicSay},
		"Bedrock":   {kind: "anthropic", model: "claude-y", check: checkBedrock, call: anthropicCall(false), say: anthropicSay},
	}
}

// at reads a path in JSON: names and indexes.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, _ := v.(map[string]any)
			v = o[p]
		case int:
			list, _ := v.([]any)
			if p >= len(list) {
				return nil
			}
			v = list[p]
		}
	}
	return v
}

func list(v any) []any { l, _ := v.([]any); return l }

var (
	openaiName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)
)

// conversationFault checks that each call has a valid name and id, and its result right behind it.
func conversationFault(messages []any, name *regexp.Regexp) string {
	open := map[string]bool{}
	for i, m := range messages {
		role := at(m, "role")
		if role != "tool" && len(open) > 0 {
			return fmt.Sprintf("messages[%d]: an assistant message with 'tool_calls' must be followed by tool messages", i)
		}
		for _, c := range list(at(m, "tool_calls")) {
			called, _ := at(c, "function", "name").(string)
			if !name.MatchString(called) {
				return fmt.Sprintf("Invalid 'messages[%d].tool_calls[0].function.name': string does not match pattern", i)
			}
			id, _ := at(c, "id").(string)
			if len(id) > 40 || id == "" {
				return fmt.Sprintf("Invalid 'messages[%d].tool_calls[0].id': string too long. Expected maximum length 40", i)
			}
			open[id] = true
			if arguments, _ := at(c, "function", "arguments").(string); !strings.Contains(arguments, bigID) {
				return "the id was rounded: " + arguments
			}
		}
		if role == "tool" {
			id, _ := at(m, "tool_call_id").(string)
			if !open[id] {
				return fmt.Sprintf("messages[%d]: unknown tool_call_id", i)
			}
			delete(open, id)
		}
	}
	return ""
}

func checkOpenAITools(body map[string]any, name *regexp.Regexp) string {
	if wrong := vendortest.OpenAI.Tools("openai", body); wrong != "" {
		return wrong
	}
	return conversationFault(list(body["messages"]), name)
}

func checkOpenAI(body map[string]any) string {
	for i, m := range list(body["messages"]) {
		for key := range m.(map[string]any) {
			if !slices.Contains([]string{"role", "content", "tool_calls", "tool_call_id"}, key) {
				return fmt.Sprintf("Unknown parameter: 'messages[%d].%s'", i, key)
			}
		}
	}
	return checkOpenAITools(body, openaiName)
}

func checkDeepSeek(body map[string]any) string {
	for i, m := range list(body["messages"]) {
		thoughts, has := m.(map[string]any)["reasoning_content"]
		switch calls := len(list(at(m, "tool_calls"))) > 0; {
		case calls && thoughts != "I should 🚀.":
			return fmt.Sprintf("messages[%d]: the reasoning_content in the thinking mode must be passed back to the API, got %v", i, thoughts)
		case has && !calls:
			return fmt.Sprintf("messages[%d]: reasoning_content is not allowed here", i)
		}
	}
	return checkOpenAITools(body, openaiName)
}

func checkGemini(body map[string]any) string {
	messages := list(body["messages"])
	first := 0
	for i, m := range messages {
		if at(m, "role") == "user" {
			first = i
		}
	}
	for _, m := range messages[first:] {
		for _, c := range list(at(m, "tool_calls")) {
			if raw, _ := json.Marshal(at(c, "extra_content")); string(raw) != schemaOfSignature {
				return "Function call is missing a thought_signature in functionCall parts"
			}
		}
	}
	if wrong := vendortest.Google.Tools("openai", body); wrong != "" {
		return wrong
	}
	return conversationFault(messages, geminiName)
}

func checkAnthropic(body map[string]any) string {
	for i, m := range list(body["messages"]) {
		blocks := list(at(m, "content"))
		calls := slices.ContainsFunc(blocks, func(b any) bool { return at(b, "type") == "tool_use" })
		if calls && (at(blocks, 0, "type") != "thinking" || at(blocks, 0, "signature") != "EqQB" || at(blocks, 0, "thinking") != "I 🚀") {
			return fmt.Sprintf("messages.%d.content.0.type: Expected `thinking`, but found %v", i, at(blocks, 0))
		}
	}
	return checkMessages(body)
}

func checkBedrock(body map[string]any) string {
	for _, m := range list(body["messages"]) {
		for _, b := range list(at(m, "content")) {
			if at(b, "type") == "tool_use" && len(list(body["tools"])) == 0 {
				return "The toolConfig field must be defined when using toolUse and toolResult content blocks."
			}
		}
	}
	return checkMessages(body)
}

// checkMessages has the rules of the messages API.
func checkMessages(body map[string]any) string {
	if wrong := vendortest.Anthropic.Tools("anthropic", body); wrong != "" {
		return wrong
	}
	used, role := map[string]bool{}, "assistant"
	for i, m := range list(body["messages"]) {
		if at(m, "role") == role {
			return fmt.Sprintf("messages.%d: roles must alternate", i)
		}
		role, _ = at(m, "role").(string)
		for _, b := range list(at(m, "content")) {
			name, _ := at(b, "name").(string)
			id, _ := at(b, "id").(string)
			switch at(b, "type") {
			case "text":
				if text, _ := at(b, "text").(string); strings.TrimSpace(text) == "" {
					return "text content blocks must contain non-whitespace text"
				}
			case "tool_use":
				if !openaiName.MatchString(name) {
					return fmt.Sprintf("messages.%d.content.0.tool_use.name: String should match pattern", i)
				}
				if used[id] {
					return fmt.Sprintf("messages.%d: `tool_use` ids must be unique", i)
				}
				used[id] = true
			case "tool_result":
				if result, _ := at(b, "tool_use_id").(string); !used[result] {
					return fmt.Sprintf("messages.%d: unexpected `tool_use_id`", i)
				}
			}
		}
	}
	return ""
}

// checkOllama has the rules of Ollama's types: a value of another type is refused, and an unknown keyword of a schema is lost.
func checkOllama(body map[string]any) string {
	if wrong := vendortest.Ollama.Tools("ollama", body); wrong != "" {
		return wrong
	}
	open := map[string]bool{}
	for i, m := range list(body["messages"]) {
		calls := list(at(m, "tool_calls"))
		if len(calls) > 0 && at(m, "thinking") != "I 🚀" {
			return fmt.Sprintf("messages[%d]: the thinking is missing: %v", i, m)
		}
		if _, ok := at(m, "content").(string); !ok {
			return fmt.Sprintf("messages[%d]: json: cannot unmarshal content", i)
		}
		for _, c := range calls {
			if _, ok := at(c, "function", "arguments").(map[string]any); !ok {
				return fmt.Sprintf("messages[%d]: json: cannot unmarshal string into arguments", i)
			}
			id, _ := at(c, "id").(string)
			open[id] = true
		}
		if at(m, "role") == "tool" {
			id, _ := at(m, "tool_call_id").(string)
			if name, _ := at(m, "tool_name").(string); !open[id] || !geminiName.MatchString(name) {
				return fmt.Sprintf("messages[%d]: a result without a call: %v", i, m)
			}
			delete(open, id)
		}
	}
	return ""
}

// checkGenerateContent has the rules of the Gemini API.
func checkGenerateContent(body map[string]any) string {
	if wrong := vendortest.Google.Tools("gemini", body); wrong != "" {
		return wrong
	}
	before, open := "model", []string(nil) // of the content before, its calls
	for i, c := range list(body["contents"]) {
		role, _ := at(c, "role").(string)
		var calls, results []string
		for n, p := range list(at(c, "parts")) {
			if call := at(p, "functionCall"); call != nil {
				name, _ := at(call, "name").(string)
				id, _ := at(call, "id").(string)
				switch {
				case !geminiName.MatchString(name):
					return fmt.Sprintf("contents[%d].parts[%d].function_call.name: Invalid", i, n)
				case len(calls) == 0 && at(p, "thoughtSignature") != "c2ln":
					return "Function call is missing a thought_signature in functionCall parts"
				case !strings.Contains(fmt.Sprint(at(call, "args")), "🚀"):
					return fmt.Sprintf("contents[%d].parts[%d].function_call.args: %v", i, n, at(call, "args"))
				}
				calls = append(calls, id+" "+name)
			}
			if result := at(p, "functionResponse"); result != nil {
				results = append(results, fmt.Sprint(at(result, "id"), " ", at(result, "name")))
			}
			if at(p, "thought") != nil {
				return "thoughts are not returned"
			}
		}
		switch {
		case !slices.Equal(open, results):
			return fmt.Sprintf("contents[%d]: the function response parts %q are not equal to the function call parts %q", i, results, open)
		case len(calls) > 0 && (role != "model" || before != "user"):
			return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
		}
		before, open = role, calls
	}
	return ""
}

// checkResponses has the rules of the responses API.
func checkResponses(body map[string]any) string {
	if wrong := vendortest.OpenAI.Tools("openai-responses", body); wrong != "" {
		return wrong
	}
	for _, t := range list(body["tools"]) {
		if at(t, "strict") != false {
			return "In strict mode, each property must be required"
		}
	}
	if body["store"] != false {
		return "the conversation would be stored"
	}
	open, before := map[string]bool{}, ""
	for i, item := range list(body["input"]) {
		id, _ := at(item, "call_id").(string)
		switch kind, _ := at(item, "type").(string); {
		case before == "reasoning" && kind != "function_call":
			return fmt.Sprintf("input[%d]: a reasoning item was provided without its required following item", i)
		case kind == "reasoning" && (at(item, "encrypted_content") != "gAAA" || at(item, "summary", 0, "text") != "hm"):
			return fmt.Sprintf("input[%d]: the encrypted content could not be verified", i)
		case kind == "function_call" && before != "reasoning":
			return fmt.Sprintf("input[%d]: a function_call was provided without its required reasoning item", i)
		case kind == "function_call":
			name, _ := at(item, "name").(string)
			arguments, _ := at(item, "arguments").(string)
			if !openaiName.MatchString(name) || len(id) > 64 || id == "" || open[id] || !strings.Contains(arguments, bigID) {
				return fmt.Sprintf("input[%d]: %v", i, item)
			}
			open[id] = true
		case kind == "function_call_output" && !open[id]:
			return fmt.Sprintf("No tool call found for function call output with call_id %s", id)
		case kind == "function_call_output":
			delete(open, id)
		case len(open) > 0:
			return "No tool output found for function call"
		}
		before, _ = at(item, "type").(string)
	}
	return ""
}

// checkConverse has the rules of the Converse API.
func checkConverse(body map[string]any) string {
	offered := list(at(body, "toolConfig", "tools"))
	if wrong := vendortest.Anthropic.Tools("bedrock", body); wrong != "" {
		return wrong
	}
	points, open, role := 0, map[string]bool{}, any("assistant")
	for i, m := range list(body["messages"]) {
		if at(m, "role") == role {
			return fmt.Sprintf("messages.%d: roles must alternate", i)
		}
		role = at(m, "role")
		blocks := list(at(m, "content"))
		if len(blocks) == 0 {
			return fmt.Sprintf("The content field in the Message object at messages.%d is empty", i)
		}
		for n, b := range blocks {
			use, result := at(b, "toolUse"), at(b, "toolResult")
			id, _ := at(use, "toolUseId").(string)
			name, _ := at(use, "name").(string)
			done, _ := at(result, "toolUseId").(string)
			text, isText := at(b, "text").(string)
			switch {
			case at(b, "cachePoint") != nil:
				points++
			case (use != nil || result != nil) && len(offered) == 0:
				return "The toolConfig field must be defined when using toolUse and toolResult content blocks."
			case use != nil && (!openaiName.MatchString(name) || open[id]):
				return fmt.Sprintf("messages.%d.content.%d: %v", i, n, use)
			case use != nil && n == 0:
				return "Expected `thinking`, but found `tool_use`"
			case use != nil:
				open[id] = true
			case result != nil && (!open[done] || at(result, "status") != "error"):
				return fmt.Sprintf("messages.%d.content.%d: unexpected toolResult %v", i, n, result)
			case result != nil:
				delete(open, done)
			case at(b, "reasoningContent") != nil && (at(b, "reasoningContent", "reasoningText", "signature") != "EqQB" ||
				at(b, "reasoningContent", "reasoningText", "text") != "I 🚀"):
				return fmt.Sprintf("messages.%d.content.%d: the signature does not fit: %v", i, n, b)
			case isText && strings.TrimSpace(text) == "":
				return "The text field in the ContentBlock object is blank"
			}
		}
		if role == "user" && len(open) > 0 {
			return "Expected toolResult blocks for all toolUse blocks of the previous turn"
		}
	}
	if points > 4 {
		return "too many cache points"
	}
	return ""
}
