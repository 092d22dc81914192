package provider_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// TestRefusalsInEveryForm has each API answer with bodies that only some servers are known for: proxies and compatible servers stand before
// all of them. The status decides what kind of failure it is, and the words are shown wherever they are.
func TestRefusalsInEveryForm(t *testing.T) {
	const (
		rejected    = faultv1.Reason_REASON_MODEL_REJECTED
		unavailable = faultv1.Reason_REASON_MODEL_UNAVAILABLE
		tooLong     = faultv1.Reason_REASON_CONTEXT_TOO_LONG
		limited     = faultv1.Reason_REASON_RATE_LIMITED
		broken      = faultv1.Reason_REASON_MODEL_STREAM_BROKEN
	)
	rows := []struct {
		name   string
		status int
		body   string
		want   faultv1.Reason
		says   string
	}{
		{"an error that is a text", 400, `{"error":"invalid field n"}`, rejected, "invalid field n"},
		{"a key that is refused with a text", 401, `{"error":"invalid key"}`, rejected, "refused the key"},
		{"an error in a list", 400, `[{"error":{"code":400,"message":"bad field n"}}]`, rejected, "bad field n"},
		{"a detail", 422, `{"detail":"wrong field n"}`, rejected, "wrong field n"},
		{"a message", 400, `{"object":"error","message":"bad n"}`, rejected, "bad n"},
		{"a plain text", 400, "no such field: n", rejected, "no such field: n"},
		{"nothing", 400, "", rejected, ""},
		{"a page", 502, "<html>Bad gateway</html>", unavailable, ""},
		{"a limit", 429, `{"detail":"slow down"}`, limited, ""},
		{"too long, in a list", 400, `[{"error":{"code":400,"message":"The input token count (314175) exceeds the maximum number of tokens ` +
			`allowed (131072).","status":"INVALID_ARGUMENT"}}]`, tooLong, ""},
		{"too long, as a text", 400, "prompt is too long: 210000 tokens > 200000 maximum", tooLong, ""},
		{"too long, with 413", 413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for m1 model. Max size: 8000 ` +
			`tokens."}}`, tooLong, ""},
		{
			"a maximum for the answer", 400, `{"message":"max_tokens is too large: 20000. This model supports at most 16384 completion tokens."}`,
			rejected, "max_tokens",
		},
	}
	empty := map[string]string{
		"OpenAI": data(stops("stop"), done), "OpenAI's responses": events(created, completes()), "Gemini's own API": data(finishes("STOP")),
		"Anthropic": events(begin, ends("end_turn"), over), "Bedrock's Converse": startFrame + stopsWith("end_turn"),
		"Ollama": lines(lastLine("stop")),
	}
	for name, answer := range empty {
		v := vendors()[name]
		refusal := func(t *testing.T, answer http.HandlerFunc) error {
			t.Helper()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if other := v.other[r.URL.Path]; other != nil {
					other(w, r)
					return
				}
				answer(w, r)
			}))
			defer srv.Close()
			req := hello()
			req.Model = "test/" + v.model
			_, err := inferencetest.Ask(t.Context(), t, provide(t, v.kind, srv.URL), req)
			return err
		}
		for _, row := range rows {
			err := refusal(t, refuse(row.status, row.body))
			if fault.ReasonOf(err) != row.want || !strings.Contains(err.Error()+fault.From(err).Todo, row.says) {
				t.Errorf("%s, %s: %v", name, row.name, err)
			}
		}
		if err := refusal(t, v.respond(answer)); fault.ReasonOf(err) != broken {
			t.Errorf("%s, an answer with neither text nor a call: %v", name, err)
		}
	}
}
