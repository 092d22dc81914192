package provider_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// failure is what a call must end with.
type failure struct {
	code   codes.Code
	reason faultv1.Reason
	retry  bool
}

func TestFailuresAreMapped(t *testing.T) {
	var (
		tooLong     = failure{codes.FailedPrecondition, faultv1.Reason_REASON_CONTEXT_TOO_LONG, false}
		rejected    = failure{codes.FailedPrecondition, faultv1.Reason_REASON_MODEL_REJECTED, false}
		limited     = failure{codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, true}
		unavailable = failure{codes.Unavailable, faultv1.Reason_REASON_MODEL_UNAVAILABLE, true}
		late        = failure{codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, true}
		excessive   = failure{codes.FailedPrecondition, faultv1.Reason_REASON_MODEL_STREAM_BROKEN, false}
		broken      = failure{codes.DataLoss, faultv1.Reason_REASON_MODEL_STREAM_BROKEN, true}
	)
	openaiError := func(kind, code, message string) string {
		return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":` + code + `}}`
	}
	anthropicError := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_1"}`
	}
	asked := map[string]int{"ollama": 1} // before a call
	in := time.Now().Add(30 * time.Minute).UTC().Format(http.TimeFormat)
	for _, row := range []struct {
		name, kind string
		answer     http.HandlerFunc
		want       failure
		says       string // part of message and hint
		wait       [2]time.Duration
		change     func(*inference.Config)
	}{
		{
			name: "401", kind: "openai", answer: refuse(401,
				openaiError("invalid_request_error", `"invalid_api_key"`, "Incorrect API key provided: "+inferencetest.Key)), want: rejected,
			says: "Check inference.providers[0].api_key",
		},
		{
			name: "403", kind: "openai", answer: refuse(403, openaiError("permission_error", "null", "not for "+inferencetest.Key)), want: rejected,
			says: "does not let this key use model-1: not for [redacted]",
		},
		{
			name: "404", kind: "openai", answer: refuse(404, openaiError("invalid_request_error", `"model_not_found"`, "no such model")),
			want: rejected, says: `test has no model "model-1": no such model`,
		},
		{name: "404 of another server", kind: "openai", answer: refuse(404, "404 page not found"), want: rejected, says: "base_url"},
		{
			name: "400", kind: "openai", answer: refuse(400, openaiError("invalid_request_error", "null", "bad schema")), want: rejected,
			says: "bad schema",
		},
		{name: "422", kind: "openai", answer: refuse(422, `{"detail":"wrong field"}`), want: rejected, says: "wrong field"},
		{
			name: "an error that is a text", kind: "openai", answer: refuse(401, `{"error":"invalid key"}`), want: rejected,
			says: "Check inference.providers[0].api_key",
		},
		{name: "400 as text", kind: "openai", answer: refuse(400, `{"error":"no such field: foo"}`), want: rejected, says: "no such field: foo"},
		{
			name: "an error in a list", kind: "openai", answer: refuse(400, `[{"error":{"code":400,"message":"bad `+inferencetest.Key+`"}}]`), want: rejected,
			says: "bad",
		},
		{
			name: "errors of fields", kind: "anthropic", answer: refuse(422, `{"detail":[{"loc":["body","n",0],"msg":"too small","type":"x"}]}`),
			want: rejected, says: "body.n.0: too small",
		},
		{name: "an error of vLLM over HTTP", kind: "anthropic", answer: refuse(400, `{"object":"error","message":"bad n"}`), want: rejected, says: "bad n"},
		{name: "an error that is cut off", kind: "openai", answer: refuse(400, `{"error":{"message":"bad \"n\" an`), want: rejected, says: `bad "n" an`},
		{
			name: "a page", kind: "anthropic", want: rejected, says: "403 & Forbidden",
			answer: refuse(403, `<html><head><title>403 &amp; Forbidden</title></head>`, "Content-Type: text/html"),
		},
		{name: "not UTF-8", kind: "openai", answer: refuse(400, "bad \xff\xfe", "Content-Type: text/plain"), want: rejected, says: "bad \uFFFD"},
		{name: "nothing at 400", kind: "anthropic", answer: refuse(400, ``), want: rejected},
		{name: "nothing at 500", kind: "openai", answer: refuse(500, ``), want: unavailable, says: "HTTP status 500"},
		{
			name: "no answer in the stream", kind: "openai", answer: stream(data(stops("stop"))), want: broken, says: "neither text nor a tool call",
		},
		{
			name: "reasoning alone", kind: "anthropic", want: broken, says: "neither text nor a tool call",
			answer: stream(events(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}`, stop0,
				ends("end_turn"), over)),
		},
		{name: "a part without text", kind: "openai", answer: stream(data(delta(`{"content":{"type":"image"}}`), stops("stop"))), want: broken},
		{
			name: "402", kind: "openai", answer: refuse(402, `{"error":{"message":"Insufficient credits","code":402}}`), want: rejected,
			says: "no credit",
		},
		{
			name: "context length", kind: "openai", answer: refuse(400,
				openaiError("invalid_request_error", `"context_length_exceeded"`, "maximum context length is 8192 tokens")), want: tooLong,
			says: "longer than test/model-1 can read",
		},
		{name: "429 seconds", kind: "openai", answer: refuse(429, openaiError("requests", `"rate_limit_exceeded"`, "slow down"),
			"Retry-After: 2"), want: limited, says: "slow down", wait: [2]time.Duration{2 * time.Second, 2 * time.Second}},
		{
			name: "429 milliseconds", kind: "openai", answer: refuse(429, `{}`, "Retry-After-Ms: 1500", "Retry-After: 2"), want: limited,
			wait: [2]time.Duration{1500 * time.Millisecond, 1500 * time.Millisecond},
		},
		{
			name: "429 date", kind: "openai", answer: refuse(429, ``, "Retry-After: "+in), want: limited,
			wait: [2]time.Duration{time.Minute, 30 * time.Minute},
		},
		{name: "429 without a word", kind: "openai", answer: refuse(429, ``), want: limited},
		{name: "429 nonsense", kind: "openai", answer: refuse(429, ``, "Retry-After: soon"), want: limited},
		{
			name: "quota", kind: "openai", answer: refuse(429, openaiError("insufficient_quota", `"insufficient_quota"`, "You exceeded your quota")),
			want: rejected, says: "no credit or quota",
		},
		{
			name: "500", kind: "openai", answer: refuse(500, openaiError("server_error", "null", "oops")), want: unavailable,
			says: "HTTP status 500: oops",
		},
		{
			name: "503 with a wait", kind: "openai", answer: refuse(503, `busy`, "Retry-After: 3"), want: unavailable,
			wait: [2]time.Duration{3 * time.Second, 3 * time.Second},
		},
		{name: "502 of a proxy", kind: "openai", answer: refuse(502, `<html>Bad gateway</html>`, "Content-Type: text/html"), want: unavailable},
		{name: "408", kind: "openai", answer: refuse(408, ``), want: unavailable},
		{name: "redirect", kind: "openai", answer: refuse(302, ``, "Location: http://elsewhere.example/"), want: rejected, says: "redirect"},
		{
			name: "HTML", kind: "openai", answer: refuse(200, `<html>Welcome</html>`, "Content-Type: text/html"), want: broken,
			says: "text/html instead of a stream",
		},
		{name: "JSON instead of a stream", kind: "openai", answer: refuse(200, `{"choices":[]}`), want: broken, says: "application/json"},
		{
			name: "an error with status 200", kind: "openai", answer: refuse(200, `{"error":{"message":"No credit","code":402}}`), want: rejected,
			says: "no credit",
		},
		{name: "garbage", kind: "openai", answer: stream(data(says("Hi"), `{"choices":[`)), want: broken},
		{name: "invalid UTF-8", kind: "openai", answer: stream(data(says("Hi")),
			"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n"), want: broken, says: "UTF-8"},
		{name: "no end", kind: "openai", answer: stream(data(says("Hi"))), want: broken, says: "stopped before its end"},
		{name: "nothing but DONE", kind: "openai", answer: stream(data(done)), want: broken},
		{name: "nothing", kind: "openai", answer: stream(), want: broken},
		{name: "cut", kind: "openai", answer: stream(data(says("Hi")), cut), want: broken, says: "hung up in the middle"},
		{
			name: "cut at once", kind: "openai", answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			want: unavailable,
		},
		{name: "an endless line", kind: "openai", answer: stream("data: " + strings.Repeat("x", 9<<20)), want: excessive, says: "too long"},
		{
			name: "an error in the stream", kind: "openai",
			answer: stream(data(says("Hi"), `{"error":{"message":"engine died","type":"server_error"}}`)), want: unavailable, says: "engine died",
		},
		{name: "a rate limit in the stream", kind: "openai", answer: stream(data(`{"error":{"message":"slow","code":429}}`)), want: limited},
		{
			name: "an error of vLLM", kind: "openai",
			answer: stream(data(`{"object":"error","message":"too many tokens: maximum context length","type":"BadRequestError","code":400}`)),
			want:   tooLong, says: "longer than",
		},
		{
			name: "an error as text", kind: "openai", answer: stream(data(`{"error":"llama runner has terminated"}`)), want: unavailable,
			says: "llama runner",
		},
		{name: "finish reason error", kind: "openai", answer: stream(data(says("Hi"), stops("error"))), want: unavailable},
		{
			name: "a call without a name", kind: "openai",
			answer: stream(data(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}`), stops("tool_calls"))), want: broken,
		},
		{
			name: "too many calls", kind: "openai", answer: stream(data(delta(`{"tool_calls":[`+
				strings.TrimSuffix(strings.Repeat(`{"function":{"name":"x","arguments":"{}"}},`, 129), ",")+`]}`), stops("tool_calls"))),
			want: excessive, says: "128",
		},
		{name: "no first token", kind: "openai", answer: stream(hold), want: late, says: "did not begin", change: noPatience},
		{
			name: "no headers", kind: "openai", answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, want: late,
			says: "did not begin", change: noPatience,
		},
		{
			name: "comments are no first token", kind: "openai",
			answer: stream(": wait\n\n", data(delta(`{"role":"assistant","content":""}`)), hold), want: late, says: "did not begin",
			change: noPatience,
		},
		{
			name: "silence in the middle", kind: "openai", answer: stream(data(says("Hi")), hold), want: late, says: "in the middle",
			change: noSilence,
		},

		{
			name: "Anthropic 401", kind: "anthropic", answer: refuse(401, anthropicError("authentication_error", "invalid x-api-key")),
			want: rejected, says: "api_key",
		},
		{
			name: "Anthropic 404", kind: "anthropic", answer: refuse(404, anthropicError("not_found_error", "model: model-1")), want: rejected,
			says: "no model",
		},
		{
			name: "Anthropic 400", kind: "anthropic", answer: refuse(400, anthropicError("invalid_request_error", "max_tokens: too large")),
			want: rejected, says: "max_tokens",
		},
		{
			name: "Anthropic credit", kind: "anthropic", answer: refuse(400, anthropicError("billing_error", "Your credit balance is too low")),
			want: rejected, says: "no credit",
		},
		{
			name: "Anthropic context", kind: "anthropic",
			answer: refuse(400, anthropicError("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")), want: tooLong,
			says: "longer than",
		},
		{
			name: "Anthropic 413", kind: "anthropic", answer: refuse(413, anthropicError("request_too_large", "Request exceeds the maximum size")),
			want: rejected,
		},
		{
			name: "Anthropic 429", kind: "anthropic", answer: refuse(429, anthropicError("rate_limit_error", "slow"), "Retry-After: 12"),
			want: limited, wait: [2]time.Duration{12 * time.Second, 12 * time.Second},
		},
		{
			name: "Anthropic 529", kind: "anthropic", answer: refuse(529, anthropicError("overloaded_error", "Overloaded")), want: unavailable,
			says: "529: Overloaded",
		},
		{
			name: "Anthropic overloaded in the stream", kind: "anthropic",
			answer: stream(events(begin, textBlock, writes("Hi"), anthropicError("overloaded_error", "Overloaded"))), want: unavailable,
			says: "Overloaded",
		},
		{
			name: "Anthropic rate limit in the stream", kind: "anthropic", answer: stream(events(begin, anthropicError("rate_limit_error", "slow"))),
			want: limited,
		},
		{
			name: "Anthropic bad request in the stream", kind: "anthropic", answer: stream(events(anthropicError("invalid_request_error", "bad"))),
			want: rejected,
		},
		{
			name: "Anthropic without a stop reason", kind: "anthropic", answer: stream(events(begin, textBlock, writes("Hi"), stop0, over)),
			want: broken,
		},
		{name: "Anthropic garbage", kind: "anthropic", answer: stream(events(begin), "event: x\ndata: nonsense\n\n"), want: broken},
		{name: "Anthropic cut", kind: "anthropic", answer: stream(events(begin, textBlock, writes("Hi")), cut), want: broken},
		{
			name: "Anthropic pings are no first token", kind: "anthropic", answer: stream(events(begin, ping, textBlock, ping), hold), want: late,
			says: "did not begin", change: noPatience,
		},
		{name: "Ollama 404", kind: "ollama", answer: refuse(404, `{"error":"model 'model-1' not found"}`), want: rejected, says: "no model"},
		{
			name: "Ollama 400", kind: "ollama", answer: refuse(400, `{"error":"registry.ollama.ai/library/model-1 does not support tools"}`),
			want: rejected, says: "does not support tools",
		},
		{
			name: "Ollama context", kind: "ollama", answer: refuse(400, `{"error":"the input length exceeds the context length"}`), want: tooLong,
			says: "longer than",
		},
		{name: "Ollama 503", kind: "ollama", answer: refuse(503, `{"error":"server busy, please try again"}`), want: unavailable, says: "busy"},
		{
			name: "Ollama in the stream", kind: "ollama", answer: ndjson(lines(writesLine("Hi"), `{"error":"llama runner has terminated"}`)),
			want: unavailable, says: "llama runner",
		},
		{name: "Ollama without an end", kind: "ollama", answer: ndjson(lines(writesLine("Hi"))), want: broken, says: "stopped before its end"},
		{
			name: "Ollama with nothing", kind: "ollama", answer: ndjson(lines(lastLine("stop"))), want: broken, says: "neither text nor a tool call",
		},
		{name: "Ollama garbage", kind: "ollama", answer: ndjson(lines(writesLine("Hi"), `{"message":{`)), want: broken, says: "no piece"},
		{name: "Ollama not UTF-8", kind: "ollama", answer: ndjson("{\"message\":{\"content\":\"\xff\"}}\n"), want: broken, says: "UTF-8"},
		{name: "Ollama cut", kind: "ollama", answer: ndjson(lines(writesLine("Hi")), cut), want: broken, says: "hung up in the middle"},
		{
			name: "another server than Ollama", kind: "ollama", answer: stream(data(says("Hi"))), want: broken,
			says: "text/event-stream instead of a stream",
		},
		{name: "a call of Ollama without a name", kind: "ollama", want: broken, says: "without a name", answer: ndjson(lines(
			line(`"tool_calls":[{"function":{"arguments":{}}}]`), lastLine("stop")))},
		{
			name: "Gemini's key", kind: "gemini", answer: refuse(400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.",`+
				`"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`),
			want: rejected, says: "refused the key",
		},
		{
			name: "Gemini 403", kind: "gemini", answer: refuse(403, `{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}`), want: rejected,
			says: "does not let this key use",
		},
		{
			name: "Gemini 404", kind: "gemini", answer: refuse(404, `{"error":{"code":404,"message":"models/model-1 is not found","status":"NOT_FOUND"}}`),
			want: rejected, says: "no model",
		},
		{
			name: "Gemini 429", kind: "gemini", answer: refuse(429, `{"error":{"code":429,"message":"You exceeded your current quota","status":`+
				`"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"35s"}]}}`), want: limited,
			wait: [2]time.Duration{35 * time.Second, 35 * time.Second},
		},
		{
			name: "Gemini context", kind: "gemini", want: tooLong, says: "longer than", answer: refuse(400, `[{"error":{"code":400,"message":`+
				`"The input token count (314175) exceeds the maximum number of tokens allowed (131072).","status":"INVALID_ARGUMENT"}}]`),
		},
		{
			name: "Gemini overloaded", kind: "gemini", answer: refuse(503, `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`),
			want: unavailable, says: "overloaded",
		},
		{
			name: "Gemini overloaded in the stream", kind: "gemini", want: unavailable, says: "overloaded",
			answer: stream(data(saysPart("Hi"), `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`)),
		},
		{
			name: "Gemini with status 200", kind: "gemini", want: unavailable, says: "internal",
			answer: refuse(200, `[{"error":{"code":500,"message":"internal","status":"INTERNAL"}}]`),
		},
		{
			name: "Gemini's broken call", kind: "gemini", answer: stream(data(finishes("MALFORMED_FUNCTION_CALL"))), want: broken,
			says: "MALFORMED_FUNCTION_CALL",
		},
		{name: "Gemini without an end", kind: "gemini", answer: stream(data(saysPart("Hi"))), want: broken, says: "stopped before its end"},
		{name: "Gemini with nothing", kind: "gemini", answer: stream(data(finishes("STOP"))), want: broken, says: "neither text nor a tool call"},
		{name: "Gemini cut", kind: "gemini", answer: stream(data(saysPart("Hi")), cut), want: broken, says: "hung up in the middle"},
		{
			name: "Gemini with a part that nobody reads", kind: "gemini", want: broken, says: "cannot be read",
			answer: stream(data(parts(`{"inlineData":{"mimeType":"image/png","data":"cG5n"}}`), finishes("STOP"))),
		},
		{
			name: "Gemini's text is a number", kind: "gemini", answer: stream(data(parts(`{"text":7}`), finishes("STOP"))), want: broken, says: "no part",
		},
		{name: "Gemini garbage", kind: "gemini", answer: stream(data(saysPart("Hi"), `{"candidates":[`)), want: broken, says: "no event"},
		{
			name: "a call of Gemini without a name", kind: "gemini", want: broken, says: "without a name",
			answer: stream(data(parts(`{"functionCall":{"args":{}}}`), finishes("STOP"))),
		},
		{name: "Gemini thinks for long", kind: "gemini", answer: stream(hold), want: late, says: "did not begin", change: noPatience},
		{
			name: "responses 401", kind: "openai-responses", want: rejected, says: "api_key",
			answer: refuse(401, openaiError("invalid_request_error", `"invalid_api_key"`, "Incorrect API key provided: "+inferencetest.Key)),
		},
		{
			name: "responses context", kind: "openai-responses", want: tooLong, says: "longer than", answer: stream(events(created,
				`{"type":"error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}`)),
		},
		{
			name: "responses failed", kind: "openai-responses", want: unavailable, says: "try again", answer: stream(events(created, textAt(0, "Hi"),
				`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Please try again."}}}`)),
		},
		{
			name: "responses limited", kind: "openai-responses", want: limited, answer: stream(events(created,
				`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow"}}}`)),
		},
		{
			name: "responses with another error", kind: "openai-responses", want: unavailable, says: "gateway broke",
			answer: stream(data(`{"error":{"message":"gateway broke"}}`)),
		},
		{name: "responses with status 200", kind: "openai-responses", want: rejected, says: "no credit", answer: refuse(200,
			`{"error":{"message":"No credit","code":402}}`)},
		{
			name: "responses without an end", kind: "openai-responses", answer: stream(events(created, textAt(0, "Hi"))), want: broken,
			says: "stopped before its end",
		},
		{
			name: "responses with nothing", kind: "openai-responses", answer: stream(events(created, completes())), want: broken,
			says: "neither text nor a tool call",
		},
		{
			name: "responses with arguments alone", kind: "openai-responses", want: broken,
			answer: stream(events(argumentsAt(0, "{}"), completes())),
			says:   "out of order",
		},
		{
			name: "responses with a number for text", kind: "openai-responses", want: broken, says: "no event",
			answer: stream(events(`{"type":"response.output_text.delta","delta":7}`, completes())),
		},
		{
			name: "responses cut", kind: "openai-responses", answer: stream(events(textAt(0, "Hi")), cut), want: broken,
			says: "hung up in the middle",
		},
		{
			name: "responses think for long", kind: "openai-responses", answer: stream(events(created), hold), want: late, says: "did not begin",
			change: noPatience,
		},
		{
			name: "Bedrock's key", kind: "bedrock", want: rejected, says: "refused the key",
			answer: refuse(403, `{"message":"The security token included in the request is invalid."}`,
				"X-Amzn-Errortype: UnrecognizedClientException:http://internal.amazon.com/coral/com.amazon.coral.service/"),
		},
		{
			name: "Bedrock 403", kind: "bedrock", want: rejected, says: "does not let this key use",
			answer: refuse(403, `{"message":"You don't have access to the model."}`, "X-Amzn-Errortype: AccessDeniedException"),
		},
		{
			name: "Bedrock context", kind: "bedrock", want: tooLong, says: "longer than",
			answer: refuse(400, `{"message":"Input is too long for requested model."}`, "X-Amzn-Errortype: ValidationException"),
		},
		{
			name: "Bedrock's identifier", kind: "bedrock", want: rejected, says: "identifier is invalid",
			answer: refuse(400, `{"message":"The provided model identifier is invalid."}`, "X-Amzn-Errortype: ValidationException"),
		},
		{name: "Bedrock 429", kind: "bedrock", want: limited, answer: refuse(429, `{"message":"Too many requests"}`)},
		{name: "Bedrock 424", kind: "bedrock", want: unavailable, answer: refuse(424, `{"message":"The model failed"}`)},
		{
			name: "Bedrock throttles in the stream", kind: "bedrock", want: limited, says: "slow",
			answer: frames(startFrame, frame("throttlingException", `{"message":"slow"}`)),
		},
		{
			name: "Bedrock fails in the stream", kind: "bedrock", want: unavailable, says: "The model broke",
			answer: frames(saysFrame("Hi"), frame("modelStreamErrorException", `{"message":"The model broke","originalStatusCode":500}`)),
		},
		{
			name: "Bedrock refuses in the stream", kind: "bedrock", want: rejected, says: "bad",
			answer: frames(frame("validationException", `{"message":"bad"}`)),
		},
		{
			name: "Bedrock's broken call", kind: "bedrock", want: broken, says: "malformed_tool_use",
			answer: frames(stopsWith("malformed_tool_use")),
		},
		{name: "Bedrock without an end", kind: "bedrock", answer: frames(saysFrame("Hi")), want: broken, says: "stopped before its end"},
		{
			name: "Bedrock with nothing", kind: "bedrock", want: broken, says: "neither text nor a tool call",
			answer: frames(stopsWith("end_turn")),
		},
		{
			name: "Bedrock with half a frame", kind: "bedrock", want: broken, says: "hung up in the middle",
			answer: frames(saysFrame("Hi")[:40]),
		},
		{
			name: "Bedrock with a changed frame", kind: "bedrock", want: broken, says: "hung up in the middle",
			answer: frames(strings.Replace(saysFrame("Hi"), "Hi", "Ho", 1)),
		},
		{name: "Bedrock cut", kind: "bedrock", answer: frames(saysFrame("Hi"), cut), want: broken, says: "hung up in the middle"},
		{name: "Bedrock garbage", kind: "bedrock", answer: frames(frame("contentBlockDelta", `{"delta":`)), want: broken, says: "no event"},
		{name: "Bedrock's text is a number", kind: "bedrock", answer: frames(blockDelta(0, `"text":7`)), want: broken, says: "no event"},
		{
			name: "Bedrock thinks for long", kind: "bedrock", want: late, says: "did not begin", change: noPatience,
			answer: frames(startFrame, hold),
		},
		{
			name: "Ollama loads for long", kind: "ollama", answer: ndjson(hold), want: late, says: "did not begin", change: noPatience,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.kind == "ollama" {
				row.answer = ollama([]string{"completion"}, row.answer)
			}
			f := newFake(t, row.answer)
			var change []func(*inference.Config)
			if row.change != nil {
				change = append(change, row.change)
			}
			_, err := inferencetest.Ask(t.Context(), t, provide(t, row.kind, f.URL, change...), hello())
			got := fault.From(err)
			if got == nil {
				t.Fatal("no error")
			}
			if (failure{got.Code, got.Reason, fault.Retryable(err)}) != row.want {
				t.Errorf("%v %v: %s", got.Code, got.Reason, got.Text())
			}
			if !strings.Contains(got.Text(), row.says) {
				t.Errorf("says %q, want %q in it", got.Text(), row.says)
			}
			if strings.Contains(err.Error()+got.Text(), inferencetest.Key) {
				t.Errorf("shows the key: %s", got.Text())
			}
			if got.Retry < row.wait[0] || got.Retry > row.wait[1] {
				t.Errorf("retry after %s", got.Retry)
			}
			if n := len(f.seen()) - asked[row.kind]; n != 1 {
				t.Errorf("%d requests: the worker retries, not we", n)
			}
		})
	}
}

func TestAServerThatIsAway(t *testing.T) {
	f := newFake(t, nil)
	f.Close()
	_, err := inferencetest.Ask(t.Context(), t, provide(t, "openai", f.URL), hello())
	if !fault.Is(err, faultv1.Reason_REASON_MODEL_UNAVAILABLE) || !strings.Contains(fault.From(err).Text(), "cannot be reached") {
		t.Error(err)
	}
}

func TestAServerThatMayNotBeReached(t *testing.T) {
	cfg := inferencetest.Config()
	cfg.Providers = []catalog.ProviderConfig{{Name: "test", Kind: "openai", BaseURL: "http://169.254.169.254/v1", Models: []string{"m"}}}
	_, err := inferencetest.Ask(t.Context(), t, inferencetest.Serve(t, cfg, nil), hello())
	if f := fault.From(err); f.Reason != faultv1.Reason_REASON_EGRESS_DENIED || fault.Retryable(err) ||
		!strings.Contains(f.Message, "169.254.169.254") {
		t.Error(err)
	}
}

func TestAnAnswerHasALimit(t *testing.T) {
	many := strings.Repeat(data(says("0123456789")), 1000)
	f := newFake(t, stream(many, data(stops("stop"))))
	client := provide(t, "openai", f.URL, func(c *inference.Config) { c.MaxResponse = config.Size(20_000) })
	_, err := inferencetest.Ask(t.Context(), t, client, hello())
	if !fault.Is(err, faultv1.Reason_REASON_MODEL_STREAM_BROKEN) || !strings.Contains(fault.From(err).Text(), "max_response") {
		t.Error(err)
	}
}

func TestRequestsThatCannotBe(t *testing.T) {
	f := newFake(t, stream(data(says("Hi"), stops("stop"))))
	client := provide(t, "openai", f.URL)
	req := hello()
	req.Model = "nobody/x"
	if _, err := inferencetest.Ask(t.Context(), t, client, req); fault.From(err).Code != codes.InvalidArgument ||
		!fault.Is(err, faultv1.Reason_REASON_MODEL_UNKNOWN) || !strings.Contains(fault.From(err).Text(), "Providers: test, builtin") {
		t.Error(err)
	}
	req = hello()
	req.Messages = []*turnv1.Message{}
	if _, err := inferencetest.Ask(t.Context(), t, client, req); fault.From(err).Code != codes.InvalidArgument {
		t.Error(err)
	}
	if len(f.seen()) != 0 {
		t.Error("the provider was asked")
	}
}
