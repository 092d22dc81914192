package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// events writes events of the messages API: each with its type as name.
func events(list ...string) string {
	var b strings.Builder
	for _, e := range list {
		var named struct{ Type string }
		if err := json.Unmarshal([]byte(e), &named); err != nil {
			named.Type = "message"
		}
		b.WriteString("event: " + named.Type + "\ndata: " + e + "\n\n")
	}
	return b.String()
}

const (
	begin = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"model-1-2026",` +
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_read_input_tokens":6,"cache_creation_input_tokens":4,` +
		`"output_tokens":1}}}`
	ping      = `{"type":"ping"}`
	textBlock = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	stop0     = `{"type":"content_block_stop","index":0}`
	stop1     = `{"type":"content_block_stop","index":1}`
	over      = `{"type":"message_stop"}`
)

func writes(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`
}

func ends(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":9}}`
}

func TestAnthropicStreams(t *testing.T) {
	for _, row := range []struct {
		name            string
		pieces          []string
		text, reasoning string
		calls           []string
		finish          string // "" = stop
		silent          bool   // tells no usage
	}{
		{
			name: "text", pieces: []string{events(begin, ping, textBlock, writes("Hel"), ping, writes("lo"), stop0, ends("end_turn"), over)},
			text: "Hello",
		},
		{name: "text in the block's start", pieces: []string{events(begin, strings.Replace(textBlock, `"text":""`, `"text":"Hi"`, 1), stop0,
			ends("end_turn"), over)}, text: "Hi"},
		{name: "no message_stop", pieces: []string{events(begin, textBlock, writes("Hi"), stop0, ends("end_turn"))}, text: "Hi"},
		{name: "cut behind the stop reason", pieces: []string{events(begin, textBlock, writes("Hi"), stop0, ends("end_turn")), cut}, text: "Hi"},
		{name: "no usage", pieces: []string{events(textBlock, writes("Hi"), stop0, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
			over)}, text: "Hi", silent: true},
		{
			name: "UTF-8 split between pieces", pieces: split(events(begin, textBlock, writes("世界 🌍"), stop0, ends("end_turn"), over)),
			text: "世界 🌍",
		},
		{name: "unknown events, blocks and deltas", pieces: []string{events(begin, `{"type":"news","x":1}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"hologram","id":"h"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"hologram_delta","light":1}}`, stop0,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"page_location"}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, stop1, ends("end_turn"), over)}, text: "Hi"},
		{
			name: "thinking with a signature", pieces: []string{events(begin,
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let "}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"me see"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`, stop0,
				`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, stop1, ends("end_turn"), over)},
			reasoning: "Let me see", text: "Hi",
		},
		{
			name: "redacted thinking", pieces: []string{events(begin,
				`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"xyz"}}`, stop0,
				`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, stop1, ends("end_turn"), over)},
			text: "Hi",
		},
		{
			name: "two tools, one without input", pieces: []string{events(begin, textBlock, writes("I look."), stop0,
				`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"add","input":{}}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\": "}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`, stop1,
				`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"ping","input":{}}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
				`{"type":"content_block_stop","index":2}`, ends("tool_use"), over)},
			text: "I look.", calls: []string{`toolu_1 add {"a": 1}`, `toolu_2 ping {}`}, finish: "tool_calls",
		},
		{
			name: "input whole in the block's start", pieces: []string{events(begin,
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"add","input":{"a":1}}}`, stop0,
				ends("tool_use"), over)},
			calls: []string{`t add {"a":1}`}, finish: "tool_calls",
		},
		{
			name: "a tool of the provider's own", pieces: []string{events(begin,
				`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, stop0,
				`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Hi"}}`, stop1, ends("pause_turn"), over)}, text: "Hi",
		},
		{
			name: "max_tokens", pieces: []string{events(begin, textBlock, writes("Hi"), stop0, ends("max_tokens"), over)}, text: "Hi",
			finish: "length",
		},
		{name: "context window", pieces: []string{events(begin, ends("model_context_window_exceeded"), over)}, finish: "length"},
		{
			name: "refusal", pieces: []string{events(begin, textBlock, writes("No"), stop0, ends("refusal"), over)}, text: "No",
			finish: "content_filter",
		},
		{name: "stop sequence", pieces: []string{events(begin, textBlock, writes("Hi"), stop0, ends("stop_sequence"), over)}, text: "Hi"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t, stream(row.pieces...))
			got, err := inferencetest.Ask(t.Context(), t, provide(t, "anthropic", f.URL), hello())
			if err != nil {
				t.Fatal(err)
			}
			want(t, got, row.text, row.reasoning, row.finish, row.calls)
			u := got.Finished.GetUsage()
			if got.Finished.GetUsageEstimated() != row.silent {
				t.Errorf("estimated %t: %v", got.Finished.GetUsageEstimated(), u)
			}
			if !row.silent && (u.GetInputTokens() != 20 || u.GetCachedInputTokens() != 6 || u.GetOutputTokens() != 9) {
				t.Errorf("usage %v", u)
			}
		})
	}
}

func TestAnthropicRequest(t *testing.T) {
	f := newFake(t, stream(events(begin, textBlock, writes("Hi"), stop0, ends("end_turn"), over)))
	if _, err := inferencetest.Ask(t.Context(), t, provide(t, "anthropic", f.URL+"/v1"), conversation()); err != nil {
		t.Fatal(err)
	}
	got := f.seen()[0]
	if got.path != "/v1/messages" || got.header.Get("X-Api-Key") != inferencetest.Key || got.header.Get("Anthropic-Version") == "" {
		t.Errorf("path %s, headers %v", got.path, got.header)
	}
	golden(t, "anthropic_request.json", got.body)
}
