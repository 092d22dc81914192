package provider_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// data writes events of the chat completions API.
func data(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// says is a chunk with a piece of text, delta one with any delta, stops one with a finish reason.
func says(text string) string    { return delta(fmt.Sprintf(`{"content":%q}`, text)) }
func delta(fields string) string { return chunk(fields, "null") }
func stops(reason string) string { return chunk(`{}`, `"`+reason+`"`) }
func chunk(fields, reason string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"model-1-2026","choices":[{"index":0,"delta":` +
		fields + `,"finish_reason":` + reason + `}]}`
}

const (
	done  = "[DONE]"
	usage = `{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":7,` +
		`"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":3}}}`
)

// hello is a whole request.
func hello() *inferencev1.GenerateRequest {
	return &inferencev1.GenerateRequest{Messages: []*turnv1.Message{inferencetest.User("hello there")}}
}

func TestOpenAIStreams(t *testing.T) {
	call := func(fields string) string { return delta(`{"tool_calls":[` + fields + `]}`) }
	for _, row := range []struct {
		name             string
		pieces           []string
		text, reasoning  string
		calls            []string // "id tool arguments"
		finish           string   // "" = stop
		input, output    int32    // tokens; 0 = estimated
		cached, thoughts int32
	}{
		{
			name: "text with usage behind the end", pieces: []string{data(delta(`{"role":"assistant","content":""}`), says("Hel"), says("lo"),
				stops("stop"), usage, done)},
			text: "Hello", input: 20, output: 7, cached: 5, thoughts: 3,
		},
		{name: "no DONE", pieces: []string{data(says("Hi"), stops("stop"))}, text: "Hi"},
		{name: "no finish reason but DONE", pieces: []string{data(says("Hi"), done)}, text: "Hi"},
		{name: "no empty line at the end", pieces: []string{data(says("Hi")), "data: " + stops("stop")}, text: "Hi"},
		{name: "cut behind the end", pieces: []string{data(says("Hi"), stops("stop")), cut}, text: "Hi"},
		{name: "CRLF", pieces: []string{strings.ReplaceAll(data(says("Hi"), stops("stop"), done), "\n", "\r\n")}, text: "Hi"},
		{
			name: "no space behind the colon", pieces: []string{strings.ReplaceAll(data(says("Hi"), stops("stop"), done), "data: ", "data:")},
			text: "Hi",
		},
		{name: "keepalive comments", pieces: []string{
			": OPENROUTER PROCESSING\n\n", ": ping\n", data(says("Hi")), ":\n\n",
			data(stops("stop"), done),
		}, text: "Hi"},
		{name: "other fields and a byte order mark", pieces: []string{
			"\ufeffid: 1\nretry: 5\nevent: message\n",
			data(says("Hi"), stops("stop"), done),
		}, text: "Hi"},
		{name: "UTF-8 split between pieces", pieces: split(data(says("Grüße, 世界 🌍"), stops("stop"), done)), text: "Grüße, 世界 🌍"},
		{
			name:   "an event over several data lines",
			pieces: []string{"data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hi\"}}]}\n\n", data(stops("stop"))}, text: "Hi",
		},
		{
			name: "a line of a megabyte", pieces: []string{data(says(strings.Repeat("x", 1<<20)), stops("stop"), done)},
			text: strings.Repeat("x", 1<<20),
		},
		{
			name: "NUL and half a surrogate", pieces: []string{data(delta(`{"content":"a\u0000b\ud83dc"}`), stops("stop"))},
			text: "a\uFFFDb\uFFFDc",
		},
		{
			name: "nulls everywhere",
			pieces: []string{data(`{"id":null,"model":null,"error":null,"usage":null,"choices":[{"index":0,"delta":{"role":null,`+
				`"content":null,"tool_calls":null,"reasoning_content":null},"finish_reason":null}]}`, `{"choices":null}`, says("Hi"), stops("stop"),
				done)}, text: "Hi",
		},
		{
			name: "an empty finish reason before the real one", pieces: []string{data(chunk(`{"content":"Hi"}`, `""`), stops("length"), done)},
			text: "Hi", finish: "length",
		},
		{name: "a finish reason of one's own", pieces: []string{data(says("Hi"), stops("eos"), done)}, text: "Hi"},
		{name: "content filter", pieces: []string{data(says("Hi"), stops("content_filter"), done)}, text: "Hi", finish: "content_filter"},
		{name: "a refusal", pieces: []string{data(delta(`{"refusal":"No."}`), stops("stop"), done)}, text: "No."},
		{name: "content as parts", pieces: []string{data(delta(`{"content":[{"type":"text","text":"Hi"},{"type":"text","text":" you"}]}`),
			stops("stop"))}, text: "Hi you"},
		{name: "a second choice", pieces: []string{data(says("Hi"), `{"choices":[{"index":1,"delta":{"content":"Ho"},"finish_reason":null}]}`,
			stops("stop"))}, text: "Hi"},
		{
			name: "reasoning under both names", pieces: []string{data(delta(`{"reasoning_content":"Let ","reasoning":"Let "}`),
				delta(`{"reasoning":"me"}`), says("Hi"), stops("stop"))},
			reasoning: "Let me", text: "Hi",
		},
		{
			name: "a call in many pieces",
			pieces: []string{data(call(`{"index":0,"id":"call_a","type":"function","function":{"name":"add","arguments":""}}`),
				call(`{"index":0,"function":{"arguments":"{\"a\""}}`), call(`{"index":0,"function":{"arguments":":1,"}}`),
				call(`{"index":0,"id":"","function":{"name":null,"arguments":"\"b\":2}"}}`), stops("tool_calls"), usage, done)},
			calls: []string{`call_a add {"a":1,"b":2}`}, finish: "tool_calls", input: 20, output: 7, cached: 5, thoughts: 3,
		},
		{
			name: "two calls interleaved",
			pieces: []string{data(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{"}}`),
				call(`{"index":1,"id":"b","function":{"name":"two","arguments":"{\"x\":"}}`),
				call(`{"index":0,"function":{"arguments":"}"}}`), call(`{"index":1,"function":{"arguments":"2}"}}`), stops("tool_calls"))},
			calls: []string{`a one {}`, `b two {"x":2}`}, finish: "tool_calls",
		},
		{
			name: "two calls in one chunk, whole, arguments as objects",
			pieces: []string{data(call(`{"index":0,"id":"a","function":{"name":"one","arguments":{"x":1}}},{"index":1,"id":"b",`+
				`"function":{"name":"two","arguments":{}}}`), stops("stop"))},
			calls: []string{`a one {"x":1}`, `b two {}`}, finish: "tool_calls",
		},
		{
			name: "calls without an index", pieces: []string{data(call(`{"id":"a","function":{"name":"one","arguments":"{\"x\":"}}`),
				call(`{"function":{"arguments":"1}"}}`),
				call(`{"id":"b","function":{"name":"two"}}`), call(`{"id":"b","function":{"arguments":"{}"}}`), stops("tool_calls"))},
			calls: []string{`a one {"x":1}`, `b two {}`}, finish: "tool_calls",
		},
		{
			name: "calls without index and id", pieces: []string{data(call(`{"function":{"name":"one","arguments":"{}"}}`),
				call(`{"function":{"name":"one","arguments":"{}"}}`), stops("stop"))},
			calls: []string{`? one {}`, `? one {}`}, finish: "tool_calls",
		},
		{
			name: "calls that are all number 0", pieces: []string{data(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}`),
				call(`{"index":0,"id":"b","function":{"name":"two","arguments":"{}"}}`), stops("stop"))},
			calls: []string{`a one {}`, `b two {}`}, finish: "tool_calls",
		},
		{
			name: "the same id twice", pieces: []string{data(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}`),
				call(`{"index":1,"id":"a","function":{"name":"two","arguments":"{}"}}`), stops("stop"))},
			calls: []string{`a one {}`, `? two {}`}, finish: "tool_calls",
		},
		{
			name: "a call without arguments", pieces: []string{data(call(`{"index":0,"id":"a","function":{"name":"one"}}`), stops("tool_calls"))},
			calls: []string{`a one {}`}, finish: "tool_calls",
		},
		{
			name: "arguments that are no JSON", pieces: []string{data(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{oops"}}`),
				stops("tool_calls"))},
			calls: []string{`a one {oops`}, finish: "tool_calls",
		},
		{
			name: "a call cut at the limit", pieces: []string{data(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{\"x"}}`),
				stops("length"))},
			calls: []string{`a one {"x`}, finish: "length",
		},
		{
			name: "a whole message in the stream", text: "hello there",
			pieces: []string{data(`{"choices":[{"index":0,"message":{"role":"assistant","content":"hello there"},"finish_reason":"stop"}]}`)},
		},
		{
			name: "a call of the older API", calls: []string{`? s__echo {"a":1}`}, finish: "tool_calls",
			pieces: []string{data(delta(`{"function_call":{"name":"s__echo","arguments":"{\"a\""}}`), delta(`{"function_call":{"arguments":":1}"}}`),
				stops("function_call"))},
		},
		{
			name: "a number as text", pieces: []string{data(says("costs $"), delta(`{"content":7}`), delta(`{"content":["."," ok"]}`), stops("stop"))},
			text: "costs $7. ok",
		},
		{
			name: "halves of a character", text: "a🚀b", reasoning: "🚀",
			pieces: []string{data(delta(`{"reasoning_content":"\ud83d"}`), delta(`{"reasoning_content":"\ude80","content":""}`),
				delta(`{"content":"a\ud83d"}`), `{"choices":[]}`, delta(`{"content":""}`)), ": ping\n\n", data(delta(`{"content":"\ude80b"}`), stops("stop"))},
		},
		{
			name: "half a character at the end", text: "a\uFFFD", pieces: []string{data(delta(`{"content":"a\ud83d"}`), stops("stop"))},
		},
		{
			name: "halves in arguments", calls: []string{`a one {"t":"🚀"}`}, finish: "tool_calls",
			pieces: []string{data(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{\"t\":\"\ud83d"}}`),
				call(`{"index":0,"function":{"arguments":"\ude80\"}"}}`), stops("tool_calls"))},
		},
		{name: "tool_calls without any", pieces: []string{data(says("Hi"), stops("tool_calls"))}, text: "Hi"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t, stream(row.pieces...))
			got, err := inferencetest.Ask(t.Context(), t, provide(t, "openai", f.URL+"/v1"), hello())
			if err != nil {
				t.Fatal(err)
			}
			want(t, got, row.text, row.reasoning, row.finish, row.calls)
			u := got.Finished.GetUsage()
			if got.Finished.GetUsageEstimated() != (row.input == 0) {
				t.Errorf("estimated %t: %v", got.Finished.GetUsageEstimated(), u)
			}
			if row.input > 0 && (u.GetInputTokens() != row.input || u.GetOutputTokens() != row.output ||
				u.GetCachedInputTokens() != row.cached || u.GetReasoningTokens() != row.thoughts) {
				t.Errorf("usage %v", u)
			}
			if got.Finished.GetModel() != "test/model-1" {
				t.Errorf("model %q", got.Finished.GetModel())
			}
		})
	}
}

func TestCancelHangsUp(t *testing.T) {
	left := make(chan struct{})
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		stream(data(says("Hi")), hold)(w, r)
		close(left)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := provide(t, "openai", f.URL).Generate(ctx, hello())
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.Recv(); err != nil || m.GetTextDelta() != "Hi" {
		t.Fatal(m, err)
	}
	cancel()
	if _, err := s.Recv(); fault.From(err).Code != codes.Canceled {
		t.Error(err)
	}
	<-left
}

// want compares the end. A call's id "?" is any but empty.
func want(t *testing.T, g inferencetest.Answer, text, reasoning, finish string, calls []string) {
	t.Helper()
	if g.Finished.GetText() != text || g.Finished.GetReasoning() != reasoning {
		t.Errorf("said %.100q, thought %q", g.Finished.GetText(), g.Finished.GetReasoning())
	}
	if finish == "" {
		finish = "stop"
	}
	if g.Finished.GetFinishReason() != finish {
		t.Errorf("finish reason %q, want %q", g.Finished.GetFinishReason(), finish)
	}
	var got []string
	for i, c := range g.Finished.GetToolCalls() {
		id := c.GetCallId()
		if i < len(calls) && strings.HasPrefix(calls[i], "? ") && id != "" {
			id = "?"
		}
		got = append(got, id+" "+c.GetTool()+" "+c.GetArgumentsJson())
	}
	if !slices.Equal(got, calls) {
		t.Errorf("calls %q, want %q", got, calls)
	}
}

// split cuts a text into pieces of one byte.
func split(text string) (pieces []string) {
	for i := range len(text) {
		pieces = append(pieces, text[i:i+1])
	}
	return pieces
}

func TestOpenAIRequest(t *testing.T) {
	f := newFake(t, stream(data(says("Hi"), stops("stop"), done)))
	if _, err := inferencetest.Ask(t.Context(), t, provide(t, "openai", f.URL+"/v1/"), conversation()); err != nil {
		t.Fatal(err)
	}
	got := f.seen()[0]
	if got.path != "/v1/chat/completions" || got.header.Get("Authorization") != "Bearer "+inferencetest.Key {
		t.Errorf("path %s, headers %v", got.path, got.header)
	}
	golden(t, "openai_request.json", got.body)
}

// dot is an image of one pixel.
func dot() []byte {
	raw, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA" +
		"WjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		panic(err) // a constant
	}
	return raw
}

// conversation is a request with everything in it.
func conversation() *inferencev1.GenerateRequest {
	image := &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "image/png", Data: dot()}}}
	sound := &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "audio/wav", Data: []byte("wav")}}}
	link := &turnv1.ContentPart{Part: &turnv1.ContentPart_Link{Link: &turnv1.ResourceLink{Uri: "https://example.com/x", Name: "x"}}}
	temperature := 0.5
	result := func(id, tool string, isError bool, content ...*turnv1.ContentPart) *turnv1.Message {
		return &turnv1.Message{
			Role:       turnv1.Role_ROLE_TOOL,
			ToolResult: &turnv1.ToolResult{CallId: id, Tool: tool, Content: content, IsError: isError},
		}
	}
	return &inferencev1.GenerateRequest{
		Model: "test/some/model", Instructions: "Be brief.", MaxOutputTokens: 100, Temperature: &temperature,
		Tools: []*inferencev1.ToolDefinition{
			{
				Name: "notes__list", Description: "List notes.",
				InputSchemaJson: `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}`,
			},
			{Name: "notes__ping"},
		},
		Messages: []*turnv1.Message{
			{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{inferencetest.Text("Look:"), image, sound, link}},
			{
				Role: turnv1.Role_ROLE_ASSISTANT, Reasoning: "hm", Content: []*turnv1.ContentPart{inferencetest.Text("I look.")},
				ToolCalls: []*turnv1.ToolCall{
					{CallId: "a", Tool: "notes__list", ArgumentsJson: `{"z":"1"}`},
					{CallId: "b", Tool: "notes__list", ArgumentsJson: `{oops`},
					{CallId: "c", Tool: "notes__ping"},
					{CallId: "d", Tool: "notes__ping"},
				},
			},
			result("a", "notes__list", false, inferencetest.Text("two notes"), image),
			result("b", "notes__list", true, inferencetest.Text("not JSON")),
			result("c", "notes__ping", false),
			{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
				CallId: "d", Tool: "notes__ping", StructuredContent: structpb.NewStructValue(&structpb.Struct{
					Fields: map[string]*structpb.Value{"pong": structpb.NewBoolValue(true)},
				}),
			}},
			{Role: turnv1.Role_ROLE_ASSISTANT},
			inferencetest.User("Go on."),
			{Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{inferencetest.Text("Done.")}},
			inferencetest.User("Thanks."),
		},
	}
}
