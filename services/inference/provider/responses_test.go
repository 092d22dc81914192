package provider_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/secret"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/openai"
	"github.com/windlass-dev/windlass/services/inference/provider/responses"
)

const (
	created = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","model":"model-1-2026","output":[]}}`
	thought = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"}`
)

// added and itemDone are events of an item.
func added(index int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, index, item)
}

func itemDone(index int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, index, item)
}

// textAt is a piece of the text of an item.
func textAt(index int, text string) string {
	return fmt.Sprintf(`{"type":"response.output_text.delta","item_id":"msg_1","output_index":%d,"content_index":0,"delta":"%s"}`, index, text)
}

func argumentsAt(index int, text string) string {
	return fmt.Sprintf(`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":%d,"delta":%q}`, index, text)
}

// completes is the end of an answer, with all its items.
func completes(output ...string) string {
	return ended("completed", `null`, output...)
}

func ended(status, details string, output ...string) string {
	return `{"type":"response.` + status + `","response":{"id":"resp_1","status":"` + status + `","model":"model-1-2026","incomplete_details":` +
		details + `,"output":[` + strings.Join(output, ",") + `],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":6},` +
		`"output_tokens":9,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":29}}}`
}

const (
	messageItem = `{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}`
	wholeItem   = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[]}]}`
)

func callItem(id, name, arguments string) string {
	return fmt.Sprintf(`{"id":"fc_1","type":"function_call","call_id":%q,"name":%q,"arguments":%q}`, id, name, arguments)
}

func TestResponsesStreams(t *testing.T) {
	for _, row := range []struct {
		name            string
		pieces          []string
		text, reasoning string
		calls           []string
		finish          string // "" = stop
	}{
		{
			name: "text", pieces: []string{events(created, added(0, messageItem), textAt(0, "H"), textAt(0, "i"), itemDone(0, wholeItem),
				completes(wholeItem))}, text: "Hi",
		},
		{name: "nothing but the end", pieces: []string{events(completes(wholeItem))}, text: "Hi"},
		{name: "items without pieces", pieces: []string{events(created, itemDone(0, wholeItem), completes())}, text: "Hi"},
		{name: "no names of events", pieces: []string{data(textAt(0, "Hi"), completes(), done)}, text: "Hi"},
		{name: "cut behind the end", pieces: []string{events(textAt(0, "Hi"), completes()), cut}, text: "Hi"},
		{name: "UTF-8 split between pieces", pieces: split(events(textAt(0, "世界 🌍"), completes())), text: "世界 🌍"},
		{
			name: "reasoning in two parts", pieces: []string{events(created, added(0, `{"id":"rs_1","type":"reasoning","summary":[]}`),
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"Let me"}`,
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":" see."}`,
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Yes."}`,
				itemDone(0, thought), textAt(1, "Hi"), completes())}, reasoning: "Let me see.\n\nYes.", text: "Hi",
		},
		{
			name: "two calls", pieces: []string{events(created, added(0, callItem("a", "add", "")), argumentsAt(0, `{"a":`), argumentsAt(0, `1}`),
				itemDone(0, callItem("a", "add", `{"a":1}`)), added(1, callItem("b", "ping", "")), itemDone(1, callItem("b", "ping", "{}")),
				completes())}, calls: []string{`a add {"a":1}`, `b ping {}`}, finish: "tool_calls",
		},
		{
			name: "a refusal", pieces: []string{events(`{"type":"response.refusal.delta","output_index":0,"delta":"No."}`, completes())}, text: "No.",
		},
		{name: "unknown events", pieces: []string{events(`{"type":"response.news","x":1}`, textAt(0, "Hi"), completes())}, text: "Hi"},
		{
			name: "limit", pieces: []string{events(textAt(0, "Hi"), ended("incomplete", `{"reason":"max_output_tokens"}`))}, text: "Hi",
			finish: "length",
		},
		{
			name: "filter", pieces: []string{events(ended("incomplete", `{"reason":"content_filter"}`))}, finish: "content_filter",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t, stream(row.pieces...))
			got, err := inferencetest.Ask(t.Context(), t, provide(t, "openai-responses", f.URL+"/v1"), hello())
			if err != nil {
				t.Fatal(err)
			}
			want(t, got, row.text, row.reasoning, row.finish, row.calls)
			u := got.Finished.GetUsage()
			if got.Finished.GetUsageEstimated() || u.GetInputTokens() != 20 || u.GetCachedInputTokens() != 6 || u.GetOutputTokens() != 9 ||
				u.GetReasoningTokens() != 5 {
				t.Errorf("usage %v", u)
			}
		})
	}
}

func TestResponsesRequest(t *testing.T) {
	f := newFake(t, stream(events(textAt(0, "Hi"), completes())))
	if _, err := inferencetest.Ask(t.Context(), t, provide(t, "openai-responses", f.URL+"/v1/"), conversation()); err != nil {
		t.Fatal(err)
	}
	got := f.seen()[0]
	if got.path != "/v1/responses" || got.header.Get("Authorization") != "Bearer "+inferencetest.Key {
		t.Errorf("path %s, headers %v", got.path, got.header)
	}
	golden(t, "responses_request.json", got.body)
}

// TestResponsesGetTheirReasoningBack before what came behind it, byte for byte, from the same model only.
func TestResponsesGetTheirReasoningBack(t *testing.T) {
	f := newFake(t, stream(events(itemDone(0, thought), added(1, strings.Replace(messageItem, `"role"`, `"phase":"commentary","role"`, 1)),
		textAt(1, "I "), textAt(1, "look."), added(2, callItem("c1", "s__echo", "")), argumentsAt(2, `{"text":"x"}`), completes())))
	client := provide(t, "openai-responses", f.URL)
	req := &inferencev1.GenerateRequest{
		Model: "test/gpt-x", Tools: oddTools()[:1], Messages: []*turnv1.Message{inferencetest.User("turn 1")},
	}
	got, err := inferencetest.Ask(t.Context(), t, client, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, answered(got.Finished), &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
		CallId: "c1", Tool: "s__echo", Content: []*turnv1.ContentPart{inferencetest.Text("x")},
	}})
	want := thought + `,{"role":"assistant","content":"I look.","phase":"commentary"},` +
		`{"type":"function_call","call_id":"c1","name":"s__echo","arguments":"{\"text\":\"x\"}"},` +
		`{"type":"function_call_output","call_id":"c1","output":"x"}`
	for i, model := range []string{"test/gpt-x", "test/gpt-y"} {
		req.Model = model
		if _, err := inferencetest.Ask(t.Context(), t, client, req); err != nil {
			t.Fatal(err)
		}
		if sent := f.seen()[i+1].body; strings.Contains(sent, want) != (i == 0) || strings.Contains(sent, "gAAA") != (i == 0) {
			t.Errorf("%s reads %s, want %s", model, sent, want)
		}
	}
}

// TestResponsesWithoutReasoning answers a model that has none to encrypt, and a server that cannot read what another one encrypted.
func TestResponsesWithoutReasoning(t *testing.T) {
	for name, refusal := range map[string]string{
		"no reasoning": `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include"}}`,
		"a stale one": `{"error":{"message":"The encrypted content could not be verified.","type":"invalid_request_error",` +
			`"code":"invalid_encrypted_content"}}`,
	} {
		f := newFake(t, nil)
		f.answer = func(w http.ResponseWriter, r *http.Request) {
			if seen := f.seen(); strings.Contains(seen[len(seen)-1].body, "encrypted_content") {
				refuse(400, refusal)(w, r)
				return
			}
			stream(events(textAt(0, "Hi"), completes()))(w, r)
		}
		if _, err := inferencetest.Ask(t.Context(), t, provide(t, "openai-responses", f.URL), hello()); err != nil || len(f.seen()) != 2 {
			t.Errorf("%s: %v, %d requests", name, err, len(f.seen()))
		}
	}
}

// sentHeader keeps the header of a request, and answers nothing.
type sentHeader struct{ http.Header }

// RoundTrip implements http.RoundTripper.
func (h *sentHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	h.Header = r.Header
	return nil, errors.New("not sent")
}

// TestAzureHasAHeaderOfItsOwn for its keys.
func TestAzureHasAHeaderOfItsOwn(t *testing.T) {
	for _, kind := range []provider.Kind{openai.Kind{}, responses.Kind{}} {
		for base, name := range map[string]string{
			"https://house.openai.azure.com/openai/v1": "Api-Key", "https://api.openai.com/v1": "Authorization",
		} {
			var sent sentHeader
			p, err := kind.New(provider.Config{
				Identity: provider.Identity{Name: "x"}, BaseURL: base, APIKey: secret.New("own"), HTTP: &http.Client{Transport: &sent},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"own", "other"} {
				req := provider.Request{Model: "m", Messages: []*turnv1.Message{inferencetest.User("hi")}}
				if key == "other" {
					req.APIKey = secret.New(key)
				}
				if _, err := p.Generate(t.Context(), req, func(provider.Delta) error { return nil }); err == nil {
					t.Error("no error")
				}
				for _, header := range []string{"Api-Key", "Authorization"} {
					if has := strings.HasSuffix(sent.Get(header), key); has != (header == name) {
						t.Errorf("%s at %s: %s is %q", kind.Traits().Name, base, header, sent.Get(header))
					}
				}
			}
		}
	}
}
