package provider_test

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// TestConversationsThatAreTooLong has what providers say of them, and what they say of other things that are too large.
func TestConversationsThatAreTooLong(t *testing.T) {
	object := func(message string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, message) }
	for _, row := range []struct {
		status int
		body   string
		long   bool
	}{
		{400, `[{"error":{"code":400,"message":"The input token count (314175) exceeds the maximum number of tokens allowed (131072).",` +
			`"status":"INVALID_ARGUMENT"}}]`, true},
		{400, `{"error":{"message":"Input is too long for requested model.","type":"invalid_request_error"}}`, true},
		{400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains ` +
			`137812 tokens."}`, true},
		{413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for m1 model. Max size: 8000 tokens."}}`, true},
		{422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 256 " +
			"`max_new_tokens`\",\"error_type\":\"validation\"}", true},
		{400, `{"object":"error","message":"Prompt contains 40960 tokens, too large for model with 32768 maximum context length",` +
			`"type":"invalid_request_prompt","code":"3051"}`, true},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, true},
		{400, object("The decoder prompt (length 40000) is longer than the maximum model length of 32768."), true},
		{400, object("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000."), true},
		{400, object("input length and `max_tokens` exceed context limit: 199000 + 21333 > 200000"), true},
		{400, `{"message":"Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."}`, true},
		{
			400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 9 tokens\"}}"}}}`,
			true,
		},
		{400, `prompt is too long: 210000 tokens > 200000 maximum`, true},

		{400, object("max_tokens is too large: 20000. This model supports at most 16384 completion tokens."), false},
		{400, object("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for m"), false},
		{413, object("Request too large for m in organization o on tokens per minute (TPM): Limit 6000, Requested 7000."), false},
		{400, object("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"), false},
		{400, object("Invalid 'tools[0].function.description': string too long. Expected maximum length 1024."), false},
		{400, object("Invalid 'messages[1].tool_calls[0].id': string too long. Expected maximum length 40."), false},
		{429, object("The input token count exceeds the maximum number of tokens allowed per minute"), false},
		{500, object("prompt is too long"), false},
	} {
		for _, kind := range []string{"openai", "anthropic"} {
			f := newFake(t, refuse(row.status, row.body))
			_, err := inferencetest.Ask(t.Context(), t, provide(t, kind, f.URL), hello())
			if got := fault.Is(err, faultv1.Reason_REASON_CONTEXT_TOO_LONG); got != row.long {
				t.Errorf("%s, %d %s: too long %t, %v", kind, row.status, row.body, got, err)
			}
		}
	}
	f := newFake(t, stream(data(`{"error":{"message":"Input is too long for requested model.","code":400}}`)))
	_, err := inferencetest.Ask(t.Context(), t, provide(t, "openai", f.URL), hello())
	if !fault.Is(err, faultv1.Reason_REASON_CONTEXT_TOO_LONG) {
		t.Errorf("in a stream: %v", err)
	}
}
