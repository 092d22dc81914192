package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// called asks for an answer that must have a call, and adds it and its result to the conversation.
func called(t *testing.T, client inferencev1.InferenceServiceClient, req *inferencev1.GenerateRequest) {
	t.Helper()
	got, err := inferencetest.Ask(t.Context(), t, client, req)
	if err != nil {
		t.Fatal(err)
	}
	calls := got.Finished.GetToolCalls()
	if len(calls) != 1 {
		t.Fatalf("calls %v", calls)
	}
	req.Messages = append(req.Messages, &turnv1.Message{
		Role: turnv1.Role_ROLE_ASSISTANT, Reasoning: got.Finished.GetReasoning(), ToolCalls: calls, Verbatim: got.Finished.GetVerbatim(),
		Model: got.Finished.GetModel(),
	}, &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
		CallId: calls[0].GetCallId(), Tool: calls[0].GetTool(), Content: []*turnv1.ContentPart{inferencetest.Text("done")},
	}})
}

// TestWhatAProviderSentGoesBackToItAlone goes on with a conversation at a server that has not sent its reasoning and signatures.
func TestWhatAProviderSentGoesBackToItAlone(t *testing.T) {
	for name, mark := range map[string]string{
		"OpenAI's responses": "gAAA", "DeepSeek": "I should", "Gemini": "c2ln", "Anthropic": "EqQB", "Ollama": "thinking",
		"Gemini's own API": "c2ln", "Bedrock's Converse": "EqQB",
	} {
		t.Run(name, func(t *testing.T) {
			v, calls, read := vendors()[name], 0, ""
			first := httptest.NewServer(v.serve(t, &calls))
			t.Cleanup(first.Close)
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				read = string(raw)
				v.respond(v.say)(w, r)
			}))
			t.Cleanup(other.Close)
			req := &inferencev1.GenerateRequest{
				Model: "test/" + v.model, Tools: oddTools()[:1], Messages: []*turnv1.Message{inferencetest.User("turn 1")},
			}
			called(t, provide(t, v.kind, first.URL), req)
			if _, err := inferencetest.Ask(t.Context(), t, provide(t, v.kind, other.URL), req); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(read, "s__echo") || strings.Contains(read, mark) {
				t.Errorf("the other server reads %s", read)
			}
		})
	}
}

// TestAServerThatRefusesWhatItSent goes on without the field, and does not send it again.
func TestAServerThatRefusesWhatItSent(t *testing.T) {
	v, refused := vendors()["DeepSeek"], 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch body := string(raw); {
		case strings.Contains(body, "reasoning_content"):
			refused++
			refuse(400, `{"error":{"message":"Unrecognized request argument supplied: messages[1].reasoning_content","type":"invalid_request_error"}}`)(w, r)
		default:
			stream(v.call("call_1", "s__echo", `{"text":"x","id":`+bigID+`}`))(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	client := provide(t, v.kind, srv.URL)
	req := &inferencev1.GenerateRequest{
		Model: "test/" + v.model, Tools: oddTools()[:1], Messages: []*turnv1.Message{inferencetest.User("turn 1")},
	}
	for range 3 {
		called(t, client, req)
	}
	if refused != 1 {
		t.Errorf("the server refused %d requests, want the first with its reasoning alone", refused)
	}
}
