package provider_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// parts is an event of the Gemini API with parts.
func parts(of ...string) string {
	return `{"candidates":[{"content":{"parts":[` + strings.Join(of, ",") + `],"role":"model"},"index":0}],` +
		`"usageMetadata":{"promptTokenCount":20,"totalTokenCount":21},"modelVersion":"model-1-2026","responseId":"r1"}`
}

func saysPart(text string) string { return parts(fmt.Sprintf(`{"text":%q}`, text)) }

// finishes is the last event.
func finishes(reason string) string {
	return `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"` + reason + `","index":0}],` +
		`"usageMetadata":{"promptTokenCount":20,"cachedContentTokenCount":6,"candidatesTokenCount":9,"thoughtsTokenCount":5,` +
		`"totalTokenCount":34},"modelVersion":"model-1-2026"}`
}

func TestGeminiStreams(t *testing.T) {
	for _, row := range []struct {
		name            string
		pieces          []string
		text, reasoning string
		calls           []string
		finish          string // "" = stop
		silent          bool   // reports no usage
	}{
		{name: "text", pieces: []string{data(saysPart("Hel"), saysPart("lo"), finishes("STOP"))}, text: "Hello"},
		{name: "cut behind the end", pieces: []string{data(saysPart("Hi"), finishes("STOP")), cut}, text: "Hi"},
		{
			name: "no usage", pieces: []string{data(`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}`)},
			text: "Hi", silent: true,
		},
		{name: "UTF-8 split between pieces", pieces: split(data(saysPart("世界 🌍"), finishes("STOP"))), text: "世界 🌍"},
		{
			name: "thoughts, and a signature of its own", pieces: []string{data(parts(`{"text":"Let ","thought":true}`),
				parts(`{"text":"me see","thought":true}`), saysPart("Hi"), parts(`{"thoughtSignature":"c2ln"}`), finishes("STOP"))},
			reasoning: "Let me see", text: "Hi",
		},
		{
			name: "parallel calls", pieces: []string{data(parts(
				`{"text":"I look."}`, `{"functionCall":{"name":"add","args":{"a":1}},"thoughtSignature":"c2ln"}`,
				`{"functionCall":{"id":"b1","name":"ping"}}`), finishes("STOP"))},
			text: "I look.", calls: []string{`? add {"a":1}`, `b1 ping {}`}, finish: "tool_calls",
		},
		{
			name: "large numbers", pieces: []string{data(parts(`{"functionCall":{"name":"get","args":{"id":`+bigID+`}}}`), finishes("STOP"))},
			calls: []string{`? get {"id":` + bigID + `}`}, finish: "tool_calls",
		},
		{name: "another candidate", pieces: []string{data(`{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]}}]}`, saysPart("Hi"),
			finishes("STOP"))}, text: "Hi"},
		{name: "limit", pieces: []string{data(saysPart("Hi"), finishes("MAX_TOKENS"))}, text: "Hi", finish: "length"},
		{name: "safety", pieces: []string{data(saysPart("Hi"), finishes("SAFETY"))}, text: "Hi", finish: "content_filter"},
		{name: "recitation", pieces: []string{data(finishes("RECITATION"))}, finish: "content_filter"},
		{name: "prohibited", pieces: []string{data(finishes("PROHIBITED_CONTENT"))}, finish: "content_filter"},
		{
			name: "a blocked prompt", pieces: []string{data(`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":20}}`)},
			finish: "content_filter", silent: true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t, stream(row.pieces...))
			got, err := inferencetest.Ask(t.Context(), t, provide(t, "gemini", f.URL+"/v1beta"), hello())
			if err != nil {
				t.Fatal(err)
			}
			want(t, got, row.text, row.reasoning, row.finish, row.calls)
			u := got.Finished.GetUsage()
			if row.silent {
				return
			}
			if got.Finished.GetUsageEstimated() || u.GetInputTokens() != 20 || u.GetCachedInputTokens() != 6 || u.GetOutputTokens() != 14 ||
				u.GetReasoningTokens() != 5 {
				t.Errorf("usage %v", u)
			}
		})
	}
}

func TestGeminiRequest(t *testing.T) {
	for file, model := range map[string]string{"gemini_request.json": "gemini-3-pro", "gemini_old_request.json": "gemini-2.0-flash"} {
		f := newFake(t, stream(data(saysPart("Hi"), finishes("STOP"))))
		req := conversation()
		req.Model = "test/" + model
		if _, err := inferencetest.Ask(t.Context(), t, provide(t, "gemini", f.URL+"/v1beta/"), req); err != nil {
			t.Fatal(err)
		}
		got := f.seen()[0]
		if got.path != "/v1beta/models/"+model+":streamGenerateContent" || got.header.Get("X-Goog-Api-Key") != inferencetest.Key {
			t.Errorf("path %s, headers %v", got.path, got.header)
		}
		golden(t, file, got.body)
	}
}

// TestGeminiGetsItsPartsBack where it sent them: signatures of calls and of texts, its ids, and no thoughts.
func TestGeminiGetsItsPartsBack(t *testing.T) {
	f := newFake(t, stream(data(
		parts(`{"text":"hm","thought":true}`), parts(`{"text":"I "}`), parts(`{"text":"look."}`), parts(`{"text":"","thoughtSignature":"dGV4dA=="}`),
		parts(`{"functionCall":{"id":"f1","name":"s__echo","args":{"text":"x"}},"thoughtSignature":"c2ln"}`), finishes("STOP"))))
	client := provide(t, "gemini", f.URL)
	req := &inferencev1.GenerateRequest{
		Model: "test/gemini-3-pro", Tools: oddTools()[:1], Messages: []*turnv1.Message{inferencetest.User("turn 1")},
	}
	got, err := inferencetest.Ask(t.Context(), t, client, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, answered(got.Finished), &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
		CallId: "f1", Tool: "s__echo", Content: []*turnv1.ContentPart{inferencetest.Text("x")},
	}})
	if _, err := inferencetest.Ask(t.Context(), t, client, req); err != nil {
		t.Fatal(err)
	}
	want := `{"role":"model","parts":[{"text":"I look."},{"text":"","thoughtSignature":"dGV4dA=="},` +
		`{"functionCall":{"id":"f1","name":"s__echo","args":{"text":"x"}},"thoughtSignature":"c2ln"}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"f1","name":"s__echo","response":{"output":"x"}}}]}`
	if sent := f.seen()[1].body; !strings.Contains(sent, want) {
		t.Errorf("sent %s, want %s", sent, want)
	}
	// Another model of the API gets none of it, and a shield's text replaces the text.
	req.Model = "test/gemini-3-flash"
	if _, err := inferencetest.Ask(t.Context(), t, client, req); err != nil {
		t.Fatal(err)
	}
	if sent := f.seen()[2].body; strings.Contains(sent, "c2ln") || strings.Contains(sent, `"id":"f1"`) ||
		!strings.Contains(sent, "skip_thought_signature_validator") {
		t.Errorf("another model reads %s", sent)
	}
	req.Model, req.Messages[1].Content = "test/gemini-3-pro", []*turnv1.ContentPart{inferencetest.Text("[redacted text]")}
	if _, err := inferencetest.Ask(t.Context(), t, client, req); err != nil {
		t.Fatal(err)
	}
	if sent := f.seen()[3].body; !strings.Contains(sent, `[{"text":"[redacted text]"},{"functionCall"`) || strings.Contains(sent, "dGV4dA") {
		t.Errorf("with another text: %s", sent)
	}
}

// answered is an answer as the conversation has it.
func answered(f *inferencev1.Finished) *turnv1.Message {
	m := &turnv1.Message{
		Role: turnv1.Role_ROLE_ASSISTANT, Reasoning: f.GetReasoning(), ToolCalls: f.GetToolCalls(), Verbatim: f.GetVerbatim(),
		Model: f.GetModel(),
	}
	if text := f.GetText(); text != "" {
		m.Content = []*turnv1.ContentPart{inferencetest.Text(text)}
	}
	return m
}

// TestGeminiWithoutThoughts answers a model that refuses a request for thoughts.
func TestGeminiWithoutThoughts(t *testing.T) {
	f := newFake(t, nil)
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		if seen := f.seen(); strings.Contains(seen[len(seen)-1].body, "thinkingConfig") {
			refuse(400, `{"error":{"code":400,"message":"Thinking is not enabled for this model","status":"INVALID_ARGUMENT"}}`)(w, r)
			return
		}
		stream(data(saysPart("Hi"), finishes("STOP")))(w, r)
	}
	client := provide(t, "gemini", f.URL)
	for range 2 {
		if _, err := inferencetest.Ask(t.Context(), t, client, hello()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.seen()); n != 3 {
		t.Errorf("%d requests, want one refused", n)
	}
}

func TestGeminiListsItsModels(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"models":[{"name":"models/gemini-3-pro","supportedGenerationMethods":["generateContent","countTokens"]},`+
			`{"name":"models/gemini-embedding-001","supportedGenerationMethods":["embedContent"]}]}`)
	})
	own := func(cfg *inference.Config) { cfg.Providers[0].Models, cfg.DefaultModel = nil, "test/gemini-3-pro" }
	listed, err := provide(t, "gemini", f.URL, own).ListModels(t.Context(), &inferencev1.ListModelsRequest{})
	if err != nil || len(listed.GetModels()) != 2 || f.seen()[0].path != "/models" {
		t.Errorf("%v, %v", listed, err)
	}
}

// TestGeminiWithAServiceAccount gets a token for it, once.
func TestGeminiWithAServiceAccount(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	tokens := 0
	f := newFake(t, nil)
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			tokens++
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"ya29.token","token_type":"Bearer","expires_in":3600}`)
			return
		}
		stream(data(saysPart("Hi"), finishes("STOP")))(w, r)
	}
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@p.iam.gserviceaccount.com", "private_key_id": "k", "token_uri": f.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	})
	if err != nil {
		t.Fatal(err)
	}
	vertex := f.URL + "/v1/projects/p/locations/europe-west4/publishers/google"
	with := func(key string) func(*inference.Config) {
		return func(cfg *inference.Config) { cfg.Providers[0].APIKey = secret.New(key) }
	}
	client := provide(t, "gemini", vertex, with(string(account)))
	for range 2 {
		if _, err := inferencetest.Ask(t.Context(), t, client, hello()); err != nil {
			t.Fatal(err)
		}
	}
	got := f.seen()
	last := got[len(got)-1]
	if tokens != 1 || last.header.Get("Authorization") != "Bearer ya29.token" || last.header.Get("X-Goog-Api-Key") != "" ||
		last.path != "/v1/projects/p/locations/europe-west4/publishers/google/models/model-1:streamGenerateContent" {
		t.Errorf("%d tokens, path %s, headers %v", tokens, last.path, last.header)
	}
	_, err = inferencetest.Ask(t.Context(), t, provide(t, "gemini", vertex, with(`{"type":"authorized_user","refresh_token":"r3fr3sh"}`)), hello())
	if err == nil || !strings.Contains(fault.From(err).Text(), "no key of a service account") || strings.Contains(err.Error(), "r3fr3sh") {
		t.Error(err)
	}
	release := make(chan struct{})
	f.respond(func(http.ResponseWriter, *http.Request) { <-release })
	_, err = inferencetest.Ask(t.Context(), t, provide(t, "gemini", vertex, with(string(account)), noPatience), hello())
	close(release)
	if err == nil || !strings.Contains(fault.From(err).Text(), "did not begin") {
		t.Error(err)
	}
	for _, row := range []struct {
		answer http.HandlerFunc
		reason faultv1.Reason
		says   string
	}{
		{
			refuse(400, `{"error":"invalid_grant","error_description":"account not found"}`), faultv1.Reason_REASON_MODEL_REJECTED,
			"refused the service account: invalid_grant",
		},
		{refuse(401, `{"error":"unauthorized_client"}`), faultv1.Reason_REASON_MODEL_REJECTED, "refused the service account"},
		{refuse(400, `{"error":"invalid_scope"}`), faultv1.Reason_REASON_MODEL_REJECTED, "no token for the service account: invalid_scope"},
		{refuse(429, `{"error":"rate_limit_exceeded"}`, "Retry-After: 7"), faultv1.Reason_REASON_RATE_LIMITED, "limits the rate"},
		{refuse(503, `{"error":"backend_error"}`), faultv1.Reason_REASON_MODEL_UNAVAILABLE, "HTTP status 503"},
	} {
		f.respond(row.answer)
		_, err = inferencetest.Ask(t.Context(), t, provide(t, "gemini", vertex, with(string(account))), hello())
		if got := fault.From(err); err == nil || got.Reason != row.reason || !strings.Contains(got.Text(), row.says) {
			t.Errorf("%v, want %s: %s", err, row.reason, row.says)
		}
	}
	noKey := strings.Replace(string(account), "BEGIN RSA", "BEGIN NO", 1)
	_, err = inferencetest.Ask(t.Context(), t, provide(t, "gemini", vertex, with(noKey)), hello())
	if err == nil || !strings.Contains(fault.From(err).Text(), "private key of the service account cannot be read") {
		t.Error(err)
	}
}
