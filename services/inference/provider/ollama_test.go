package provider_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// ndjson responds with lines of JSON, piece by piece; pieces may end anywhere.
func ndjson(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		play(w, r, pieces)
	}
}

// ollama is an Ollama whose models have abilities; nil answers what a model is with 404.
func ollama(abilities []string, chat http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/show" {
			chat(w, r)
			return
		}
		if abilities == nil {
			refuse(404, `{"error":"model 'model-1' not found"}`)(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"capabilities": abilities, "model_info": map[string]any{"qwen3.context_length": 40960}})
	}
}

// lines writes lines of an answer.
func lines(of ...string) string { return strings.Join(of, "\n") + "\n" }

// line is a piece with fields of its message.
func line(fields string) string {
	return `{"model":"model-1","created_at":"2026-11-20T08:00:00.1Z","message":{"role":"assistant",` + fields + `},"done":false}`
}

func writesLine(text string) string { return line(fmt.Sprintf(`"content":%q`, text)) }

func lastLine(reason string) string {
	return `{"model":"model-1","created_at":"2026-11-20T08:00:01Z","message":{"role":"assistant","content":""},"done_reason":"` + reason +
		`","done":true,"total_duration":174560334,"load_duration":101397084,"prompt_eval_count":26,"prompt_eval_cached_count":6,` +
		`"prompt_eval_duration":13074791,"eval_count":9,"eval_duration":52479709}`
}

func TestOllamaStreams(t *testing.T) {
	for _, row := range []struct {
		name            string
		pieces          []string
		text, reasoning string
		calls           []string
		finish          string // "" = stop
		silent          bool   // reports no usage
	}{
		{name: "text", pieces: []string{lines(writesLine("Hel"), writesLine("lo"), lastLine("stop"))}, text: "Hello"},
		{name: "text with the end", pieces: []string{lines(strings.Replace(lastLine("stop"), `"content":""`, `"content":"Hi"`, 1))}, text: "Hi"},
		{name: "no line feed at the end", pieces: []string{writesLine("Hi") + "\n" + lastLine("stop")}, text: "Hi"},
		{name: "CRLF and empty lines", pieces: []string{writesLine("Hi") + "\r\n\r\n\n" + lastLine("stop") + "\r\n"}, text: "Hi"},
		{name: "cut behind the end", pieces: []string{lines(writesLine("Hi"), lastLine("stop")), cut}, text: "Hi"},
		{name: "no usage", pieces: []string{lines(writesLine("Hi"), `{"model":"model-1","done":true}`)}, text: "Hi", silent: true},
		{name: "UTF-8 split between pieces", pieces: split(lines(writesLine("世界 🌍"), lastLine("stop"))), text: "世界 🌍"},
		{
			name: "thinking", pieces: []string{lines(line(`"content":"","thinking":"Let "`), line(`"content":"","thinking":"me see"`), writesLine("Hi"),
				lastLine("stop"))}, reasoning: "Let me see", text: "Hi",
		},
		{
			name: "two tools", pieces: []string{lines(writesLine("I look."),
				line(`"content":"","tool_calls":[{"function":{"index":0,"name":"add","arguments":{"a":1}}}]`),
				line(`"content":"","tool_calls":[{"id":"call_b","function":{"index":1,"name":"ping","arguments":{}}}]`), lastLine("stop"))},
			text: "I look.", calls: []string{`? add {"a":1}`, `call_b ping {}`}, finish: "tool_calls",
		},
		{
			name: "arguments as text, none at all, and equal ids", pieces: []string{lines(line(`"content":"","tool_calls":[`+
				`{"id":"a","function":{"name":"add","arguments":"{\"a\":1}"}},{"function":{"name":"ping"}}]`), lastLine("stop"))},
			calls: []string{`a add {"a":1}`, `? ping {}`}, finish: "tool_calls",
		},
		{
			name: "large numbers", pieces: []string{lines(line(`"content":"","tool_calls":[{"function":{"name":"get","arguments":{"id":`+bigID+`}}}]`),
				lastLine("stop"))}, calls: []string{`? get {"id":` + bigID + `}`}, finish: "tool_calls",
		},
		{name: "length", pieces: []string{lines(writesLine("Hi"), lastLine("length"))}, text: "Hi", finish: "length"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t, ollama([]string{"completion"}, ndjson(row.pieces...)))
			got, err := inferencetest.Ask(t.Context(), t, provide(t, "ollama", f.URL), hello())
			if err != nil {
				t.Fatal(err)
			}
			want(t, got, row.text, row.reasoning, row.finish, row.calls)
			u := got.Finished.GetUsage()
			if got.Finished.GetUsageEstimated() != row.silent {
				t.Errorf("estimated %t: %v", got.Finished.GetUsageEstimated(), u)
			}
			if !row.silent && (u.GetInputTokens() != 26 || u.GetCachedInputTokens() != 6 || u.GetOutputTokens() != 9) {
				t.Errorf("usage %v", u)
			}
		})
	}
}

func TestOllamaRequest(t *testing.T) {
	for file, abilities := range map[string][]string{
		"ollama_request.json":       {"completion", "tools", "thinking", "vision"},
		"ollama_blind_request.json": {"completion", "tools"},
	} {
		f := newFake(t, ollama(abilities, ndjson(lines(writesLine("Hi"), lastLine("stop")))))
		window := func(cfg *inference.Config) {
			cfg.Models = []catalog.ModelConfig{{Model: "test/*", ContextWindow: 32768}}
		}
		client := provide(t, "ollama", f.URL+"/", window)
		for range 2 {
			if _, err := inferencetest.Ask(t.Context(), t, client, conversation()); err != nil {
				t.Fatal(err)
			}
		}
		got := f.seen()
		if len(got) != 3 || got[0].path != "/api/show" || got[1].path != "/api/chat" ||
			got[1].header.Get("Authorization") != "Bearer "+inferencetest.Key {
			t.Errorf("%d requests, the first %s with the headers %v", len(got), got[0].path, got[0].header)
		}
		golden(t, file, got[1].body)
	}
}

// TestOllamaGetsItsThinkingBack beside calls, in a model that thinks, and not the reasoning of another provider.
func TestOllamaGetsItsThinkingBack(t *testing.T) {
	thinks := lines(line(`"content":"","thinking":"I should."`), line(`"content":"","tool_calls":[{"function":{"name":"s__echo","arguments":{}}}]`),
		lastLine("stop"))
	f := newFake(t, ollama([]string{"completion", "tools", "thinking"}, ndjson(thinks)))
	client := provide(t, "ollama", f.URL)
	req := &inferencev1.GenerateRequest{Tools: oddTools()[:1], Messages: []*turnv1.Message{inferencetest.User("turn 1")}}
	called(t, client, req)
	called(t, client, req)
	got := f.seen()
	if body := got[len(got)-1].body; !strings.Contains(body, `"think":true`) || !strings.Contains(body, `"thinking":"I should."`) {
		t.Errorf("sent %s", body)
	}
	other := newFake(t, ollama(nil, ndjson(thinks)))
	called(t, provide(t, "ollama", other.URL), req)
	got = other.seen()
	if body := got[len(got)-1].body; strings.Contains(body, "think") {
		t.Errorf("another server reads %s", body)
	}
}

// TestOllamaWithoutThinking answers a model that is said to think, and does not.
func TestOllamaWithoutThinking(t *testing.T) {
	refused := 0
	f := newFake(t, ollama([]string{"completion", "thinking"}, func(w http.ResponseWriter, r *http.Request) {
		if refused++; refused == 1 {
			refuse(400, `{"error":"\"model-1\" does not support thinking"}`)(w, r)
			return
		}
		ndjson(lines(writesLine("Hi"), lastLine("stop")))(w, r)
	}))
	client := provide(t, "ollama", f.URL)
	for range 2 {
		if _, err := inferencetest.Ask(t.Context(), t, client, hello()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.seen()); n != 4 { // shown, refused, again, and the second call
		t.Errorf("%d requests", n)
	}
}

func TestOllamaListsItsModels(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"models":[{"name":"qwen3:8b","model":"qwen3:8b","size":1},{"name":""}]}`)
	})
	none := func(cfg *inference.Config) { cfg.Providers[0].Models = nil }
	listed, err := provide(t, "ollama", f.URL, none, func(cfg *inference.Config) { cfg.DefaultModel = "test/qwen3:8b" }).
		ListModels(t.Context(), &inferencev1.ListModelsRequest{})
	if err != nil || len(listed.GetModels()) != 2 || f.seen()[0].path != "/api/tags" {
		t.Errorf("%v, %v", listed, err)
	}
}
