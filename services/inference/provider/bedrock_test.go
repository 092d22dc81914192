package provider_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/smithy-go/eventstream"

	"github.com/windlass-dev/windlass/libs/secret"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// frames responds with an event stream, piece by piece; pieces may end anywhere.
func frames(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		play(w, r, pieces)
	}
}

// frame is a message of an event stream. The name of an exception ends in Exception.
func frame(name, payload string) string {
	m := eventstream.Message{Payload: []byte(payload)}
	kind, key := eventstream.EventMessageType, eventstream.EventTypeHeader
	if strings.HasSuffix(name, "Exception") {
		kind, key = eventstream.ExceptionMessageType, eventstream.ExceptionTypeHeader
	}
	m.Headers.Set(eventstream.MessageTypeHeader, eventstream.StringValue(kind))
	m.Headers.Set(key, eventstream.StringValue(name))
	m.Headers.Set(eventstream.ContentTypeHeader, eventstream.StringValue("application/json"))
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		panic(err) // of a test
	}
	return out.String()
}

// blockDelta is a piece of a block.
func blockDelta(index int, delta string) string {
	return frame("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":{%s},"p":"abcd"}`, index, delta))
}

func saysFrame(text string) string { return blockDelta(0, `"text":"`+text+`"`) }

func stopFrame(index int) string {
	return frame("contentBlockStop", fmt.Sprintf(`{"contentBlockIndex":%d}`, index))
}

// useFrames is a call of a tool.
func useFrames(index int, id, name string, pieces ...string) string {
	out := frame("contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":{"toolUse":{"toolUseId":%q,"name":%q}}}`, index, id, name))
	for _, p := range pieces {
		out += blockDelta(index, fmt.Sprintf(`"toolUse":{"input":%q}`, p))
	}
	return out + stopFrame(index)
}

// stopsWith is the end of an answer.
func stopsWith(reason string) string {
	return frame("messageStop", `{"stopReason":"`+reason+`"}`) + frame("metadata", `{"usage":{"inputTokens":10,"outputTokens":9,`+
		`"totalTokens":29,"cacheReadInputTokens":6,"cacheWriteInputTokens":4},"metrics":{"latencyMs":10}}`)
}

var startFrame = frame("messageStart", `{"role":"assistant"}`)

// reasons are pieces of reasoning with a signature.
func reasons(index int, texts ...string) (out string) {
	for _, text := range texts {
		out += blockDelta(index, `"reasoningContent":{"text":"`+text+`"}`)
	}
	return out + blockDelta(index, `"reasoningContent":{"signature":"EqQB"}`) + stopFrame(index)
}

func TestBedrockStreams(t *testing.T) {
	for _, row := range []struct {
		name            string
		pieces          []string
		text, reasoning string
		calls           []string
		finish          string // "" = stop
		silent          bool   // reports no usage
	}{
		{name: "text", pieces: []string{startFrame, saysFrame("Hel"), saysFrame("lo"), stopFrame(0), stopsWith("end_turn")}, text: "Hello"},
		{name: "all at once", pieces: []string{startFrame + saysFrame("Hel") + saysFrame("lo") + stopsWith("end_turn")}, text: "Hello"},
		{name: "split anywhere", pieces: split(startFrame + saysFrame("世界 🌍") + stopsWith("end_turn")), text: "世界 🌍"},
		{name: "cut behind the end", pieces: []string{saysFrame("Hi"), stopsWith("end_turn"), cut}, text: "Hi"},
		{name: "no usage", pieces: []string{saysFrame("Hi"), frame("messageStop", `{"stopReason":"end_turn"}`)}, text: "Hi", silent: true},
		{
			name: "reasoning", pieces: []string{reasons(0, "Let ", "me see"), blockDelta(1, `"text":"Hi"`), stopsWith("end_turn")},
			reasoning: "Let me see", text: "Hi",
		},
		{name: "reasoning that is not shown", pieces: []string{
			blockDelta(0, `"reasoningContent":{"redactedContent":"eHl6"}`), stopFrame(0),
			blockDelta(1, `"text":"Hi"`), stopsWith("end_turn"),
		}, text: "Hi"},
		{name: "two calls", pieces: []string{
			saysFrame("I look."), useFrames(1, "tooluse_1", "add", `{"a":`, ` 1}`), useFrames(2, "tooluse_2", "ping"),
			stopsWith("tool_use"),
		}, text: "I look.", calls: []string{`tooluse_1 add {"a": 1}`, `tooluse_2 ping {}`}, finish: "tool_calls"},
		{name: "unknown events", pieces: []string{frame("news", `{"x":1}`), saysFrame("Hi"), stopsWith("stop_sequence")}, text: "Hi"},
		{name: "limit", pieces: []string{saysFrame("Hi"), stopsWith("max_tokens")}, text: "Hi", finish: "length"},
		{name: "window", pieces: []string{saysFrame("Hi"), stopsWith("model_context_window_exceeded")}, text: "Hi", finish: "length"},
		{name: "guardrail", pieces: []string{saysFrame("No"), stopsWith("guardrail_intervened")}, text: "No", finish: "content_filter"},
		{name: "filter", pieces: []string{stopsWith("content_filtered")}, finish: "content_filter"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t, frames(row.pieces...))
			got, err := inferencetest.Ask(t.Context(), t, provide(t, "bedrock", f.URL), hello())
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

// signed has the provider sign with an access key.
func signed(cfg *inference.Config) {
	p := &cfg.Providers[0]
	p.Region, p.AccessKeyID, p.SessionToken = "eu-central-1", "AKIDEXAMPLE", secret.New("session-token")
}

func TestBedrockRequest(t *testing.T) {
	for file, model := range map[string]string{
		"bedrock_request.json": "eu.anthropic.claude-sonnet-5-5-v1:0", "bedrock_plain_request.json": "meta.llama4-maverick-17b-instruct-v1:0",
	} {
		f := newFake(t, frames(saysFrame("Hi"), stopsWith("end_turn")))
		req := conversation()
		req.Model = "test/" + model
		for i, change := range []func(*inference.Config){func(*inference.Config) {}, signed} {
			if _, err := inferencetest.Ask(t.Context(), t, provide(t, "bedrock", f.URL, change), req); err != nil {
				t.Fatal(err)
			}
			got := f.seen()[i]
			authorization := []string{"Bearer " + inferencetest.Key, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"}[i]
			if got.path != "/model/"+model+"/converse-stream" || !strings.HasPrefix(got.header.Get("Authorization"), authorization) {
				t.Errorf("path %s, headers %v", got.path, got.header)
			}
			if i == 1 && (!strings.Contains(got.header.Get("Authorization"), "/eu-central-1/bedrock/aws4_request") ||
				got.header.Get("X-Amz-Security-Token") != "session-token" || strings.Contains(fmt.Sprint(got.header), inferencetest.Key)) {
				t.Errorf("headers %v", got.header)
			}
		}
		golden(t, file, f.seen()[0].body)
	}
}

// TestBedrockGetsItsReasoningBack in its order, beside calls.
func TestBedrockGetsItsReasoningBack(t *testing.T) {
	f := newFake(t, frames(startFrame, reasons(0, "I ", "should."), blockDelta(1, `"reasoningContent":{"redactedContent":"eHl6"}`), stopFrame(1),
		blockDelta(2, `"text":"I look."`), stopFrame(2), useFrames(3, "tooluse_1", "s__echo", `{"text":"x"}`), stopsWith("tool_use")))
	client := provide(t, "bedrock", f.URL)
	req := &inferencev1.GenerateRequest{
		Model: "test/deepseek.r3", Tools: oddTools()[:1], Messages: []*turnv1.Message{inferencetest.User("turn 1")},
	}
	got, err := inferencetest.Ask(t.Context(), t, client, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, answered(got.Finished), &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
		CallId: "tooluse_1", Tool: "s__echo", Content: []*turnv1.ContentPart{inferencetest.Text("x")},
	}})
	want := `[{"reasoningContent":{"reasoningText":{"signature":"EqQB","text":"I should."}}},{"reasoningContent":{"redactedContent":"eHl6"}},` +
		`{"text":"I look."},{"toolUse":{"toolUseId":"tooluse_1","name":"s__echo","input":{"text":"x"}}}]`
	if _, err := inferencetest.Ask(t.Context(), t, client, req); err != nil {
		t.Fatal(err)
	}
	if sent := f.seen()[1].body; !strings.Contains(sent, want) {
		t.Errorf("sent %s, want %s", sent, want)
	}
}

func TestBedrockListsItsModels(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/inference-profiles" {
			_, _ = io.WriteString(w, `{"inferenceProfileSummaries":[{"inferenceProfileId":"eu.anthropic.claude-x"}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"modelSummaries":[{"modelId":"anthropic.claude-x","inferenceTypesSupported":["INFERENCE_PROFILE"]},`+
			`{"modelId":"amazon.nova-x","inferenceTypesSupported":["ON_DEMAND"]}]}`)
	})
	own := func(cfg *inference.Config) { cfg.Providers[0].Models, cfg.DefaultModel = nil, "test/amazon.nova-x" }
	listed, err := provide(t, "bedrock", f.URL, own, signed).ListModels(t.Context(), &inferencev1.ListModelsRequest{})
	if err != nil || len(listed.GetModels()) != 3 || f.seen()[0].path != "/foundation-models" {
		t.Errorf("%v, %v", listed, err)
	}
}
