package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

func TestBadInputIsExplained(t *testing.T) {
	s := serve(t, func(c *gateway.Config, _ *gateway.Deps) { c.MaxBody = 4096 })
	big := `{"id":"a","instructions":"` + strings.Repeat("x", 5000) + `"}`
	rows := []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code, field, detail      string
	}{
		// bodies
		{
			name: "unknown field", method: "POST", path: "/v1/sessions/s/turns", body: `{"inptu":"hi"}`, status: 400, code: "unknown_field",
			field: "inptu",
		},
		{
			name: "unknown field inside", method: "POST", path: "/v1/agents", body: `{"id":"a","limits":{"max":3}}`, status: 400,
			code: "unknown_field", field: "limits.max",
		},
		{
			name: "unknown field in a list", method: "POST", path: "/v1/sessions/s/turns", body: `{"content":[{"text":"a"},{"txt":"b"}]}`,
			status: 400, code: "unknown_field", field: "content[1].txt",
		},
		{
			name: "unknown field of a patch", method: "PATCH", path: "/v1/agents/a", body: `{"modell":"x"}`, status: 400, code: "unknown_field",
			field: "modell",
		},
		{
			name: "missing brace", method: "POST", path: "/v1/agents", body: "{\"id\":\"a\",\n \"model\":}", status: 400, code: "malformed_body",
			detail: "line 2, column 10",
		},
		{name: "cut off", method: "POST", path: "/v1/agents", body: `{"id":"a"`, status: 400, code: "malformed_body", detail: "line 1"},
		{name: "two values", method: "POST", path: "/v1/agents", body: `{"id":"a"}{}`, status: 400, code: "malformed_body"},
		{name: "no object", method: "POST", path: "/v1/agents", body: `[]`, status: 400, code: "invalid_argument", field: "body"},
		{name: "null", method: "POST", path: "/v1/chat", body: `null`, status: 400, code: "invalid_argument", field: "body"},
		{name: "white space", method: "POST", path: "/v1/agents", body: ` `, status: 400, code: "malformed_body"},
		{
			name: "invalid UTF-8", method: "POST", path: "/v1/agents", body: "{\"id\":\"a\xff\"}", status: 400, code: "malformed_body",
			detail: "UTF-8",
		},
		{
			name: "lone surrogate", method: "POST", path: "/v1/agents", body: `{"id":"a\ud800"}`, status: 400, code: "invalid_argument",
			field: "id",
		},
		{
			name: "number for text", method: "POST", path: "/v1/chat", body: `{"message":3}`, status: 400, code: "invalid_argument",
			field: "message", detail: "must be a text",
		},
		{
			name: "text for number", method: "POST", path: "/v1/agents", body: `{"id":"a","limits":{"max_steps":"many"}}`, status: 400,
			code: "invalid_argument", field: "limits.max_steps",
		},
		{
			name: "text for object", method: "POST", path: "/v1/agents", body: `{"id":"a","limits":"x"}`, status: 400, code: "invalid_argument",
			field: "limits",
		},
		{
			name: "text for list", method: "POST", path: "/v1/agents", body: `{"id":"a","tools":"x"}`, status: 400, code: "invalid_argument",
			field: "tools", detail: "a list",
		},
		{
			name: "list of numbers", method: "POST", path: "/v1/agents", body: `{"id":"a","tools":[1]}`, status: 400, code: "invalid_argument",
			field: "tools",
		},
		{
			name: "text for struct", method: "POST", path: "/v1/tools/a:invoke", body: `{"arguments":"x"}`, status: 400, code: "invalid_argument",
			field: "arguments", detail: "a JSON object",
		},
		{
			name: "huge number", method: "POST", path: "/v1/agents", body: `{"id":"a","limits":{"max_steps":1e999}}`, status: 400,
			code: "invalid_argument",
		},
		{
			name: "unknown enum", method: "POST", path: "/v1/agents", body: `{"id":"a","strategy":"guess"}`, status: 400, code: "invalid_argument",
			field: "strategy", detail: "react, direct",
		},
		{
			name: "unknown enum in a map", method: "POST", path: "/v1/sources", body: `{"name":"a","kind":"mcp","effects":{"x":"never"}}`,
			status: 400, code: "invalid_argument", field: "effects",
		},
		{
			name: "field twice", method: "POST", path: "/v1/agents", body: `{"id":"a","id":"b"}`, status: 400, code: "invalid_argument",
			field: "id",
		},
		{
			name: "both kinds of a part", method: "POST", path: "/v1/sessions/s/turns", body: `{"content":[{"text":"a","link":{"uri":"x"}}]}`,
			status: 400, code: "invalid_argument",
		},
		{
			name: "no base64", method: "POST", path: "/v1/sessions/s/turns", body: `{"content":[{"blob":{"data":"%"}}]}`, status: 400,
			code: "invalid_argument", field: "content[0].blob.data",
		},
		{name: "no body where one is needed", method: "POST", path: "/v1/agents", status: 400, code: "invalid_argument", field: "agent"},
		{
			name: "refused by the service", method: "POST", path: "/v1/agents", body: `{"id":"Not Good"}`, status: 400, code: "invalid_argument",
			field: "id",
		},
		{name: "required field", method: "POST", path: "/v1/chat", body: `{}`, status: 400, code: "invalid_argument", field: "message"},
		{name: "too large", method: "POST", path: "/v1/agents", body: big, status: 413, code: "too_large"},
		{
			name: "form", method: "POST", path: "/v1/chat", body: `{"message":"x"}`,
			headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, code: "unsupported_media_type",
		},
		{
			name: "text", method: "PATCH", path: "/v1/agents/a", body: `{}`, headers: []string{"Content-Type", "text/plain"}, status: 415,
			code: "unsupported_media_type",
		},
		{
			name: "broken type", method: "POST", path: "/v1/chat", body: `{}`, headers: []string{"Content-Type", ";;"}, status: 415,
			code: "unsupported_media_type",
		},
		// query
		{name: "unknown parameter", method: "GET", path: "/v1/agents?pagesize=3", status: 400, code: "unknown_field", field: "pagesize"},
		{
			name: "parameter of a POST", method: "POST", path: "/v1/chat?message=x", body: `{}`, status: 400, code: "unknown_field",
			field: "message",
		},
		{name: "variable as parameter", method: "GET", path: "/v1/agents/a?agent_id=b", status: 400, code: "unknown_field", field: "agent_id"},
		{name: "garbage number", method: "GET", path: "/v1/agents?page_size=ten", status: 400, code: "invalid_argument", field: "page_size"},
		{
			name: "huge number in the query", method: "GET", path: "/v1/agents?page_size=99999999999", status: 400, code: "invalid_argument",
			field: "page_size",
		},
		{name: "out of range", method: "GET", path: "/v1/agents?page_size=-1", status: 400, code: "invalid_argument", field: "page_size"},
		{name: "twice", method: "GET", path: "/v1/agents?page_size=1&page_size=2", status: 400, code: "invalid_argument", field: "page_size"},
		{name: "garbage wait", method: "GET", path: "/v1/turns/t?wait=soon", status: 400, code: "invalid_argument", field: "wait"},
		{name: "wait without a unit", method: "GET", path: "/v1/turns/t?wait=30", status: 400, code: "invalid_argument", field: "wait"},
		{name: "wait too long", method: "GET", path: "/v1/turns/t?wait=2h", status: 400, code: "invalid_argument", field: "wait"},
		{
			name: "garbage bool", method: "GET", path: "/v1/decisions?denied_only=perhaps", status: 400, code: "invalid_argument",
			field: "denied_only",
		},
		{name: "malformed query", method: "GET", path: "/v1/agents?page_token=%zz", status: 400, code: "invalid_argument", field: "query"},
		{name: "query not UTF-8", method: "GET", path: "/v1/agents?page_token=%ff", status: 400, code: "invalid_argument", field: "page_token"},
		// paths and methods
		{name: "path not UTF-8", method: "GET", path: "/v1/turns/%ff", status: 400, code: "invalid_argument", field: "path"},
		{name: "unknown path", method: "GET", path: "/v1/nope", status: 404, code: "not_found"},
		{name: "unknown path outside", method: "GET", path: "/nope", status: 404, code: "not_found"},
		{name: "empty variable", method: "GET", path: "/v1/agents/", status: 404, code: "not_found"},
		{name: "v1 alone", method: "GET", path: "/v1", status: 404, code: "not_found"},
		{name: "wrong method", method: "PUT", path: "/v1/agents", body: `{}`, status: 405, code: "method_not_allowed"},
		{name: "wrong method on a verb", method: "GET", path: "/v1/tools:refresh", status: 405, code: "method_not_allowed"},
		{name: "wrong method on a stream", method: "POST", path: "/v1/turns/t/events", body: `{}`, status: 405, code: "method_not_allowed"},
		{name: "wrong method outside", method: "POST", path: "/healthz", body: `{}`, status: 405, code: "method_not_allowed"},
		{name: "OPTIONS", method: "OPTIONS", path: "/v1/agents", status: 405, code: "method_not_allowed"},
		// headers
		{
			name: "other key in the body", method: "POST", path: "/v1/chat", body: `{"message":"x","idempotency_key":"a"}`,
			headers: []string{"Idempotency-Key", "b"}, status: 400, code: "invalid_argument", field: "idempotency_key",
		},
		{
			name: "long key", method: "POST", path: "/v1/chat", body: `{"message":"x"}`,
			headers: []string{"Idempotency-Key", strings.Repeat("k", 256)}, status: 400, code: "invalid_argument", field: "Idempotency-Key",
		},
		{
			name: "key not ASCII", method: "POST", path: "/v1/chat", body: `{"message":"x"}`, headers: []string{"Idempotency-Key", "k\xff"},
			status: 400, code: "invalid_argument", field: "Idempotency-Key",
		},
		{
			name: "garbage timeout", method: "GET", path: "/v1/agents", headers: []string{"Grpc-Timeout", "soon"}, status: 400,
			code: "invalid_argument", field: "Grpc-Timeout",
		},
		// streams
		{name: "garbage cursor", method: "GET", path: "/v1/turns/t/events?after=x", status: 400, code: "invalid_cursor"},
		{
			name: "negative cursor", method: "GET", path: "/v1/sessions/s/events", headers: []string{"Last-Event-ID", "-1"}, status: 400,
			code: "invalid_cursor",
		},
		{name: "half a cursor", method: "GET", path: "/v1/turns/t/events?after=4.", status: 400, code: "invalid_cursor"},
		{
			name: "unknown parameter of a stream", method: "GET", path: "/v1/turns/t/events?from=3", status: 400, code: "unknown_field",
			field: "from",
		},
		{name: "no such turn", method: "GET", path: "/v1/turns/t/events", status: 404, code: "not_found"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			a := s.do(r.method, r.path, r.body, r.headers...)
			p := a.problem(t)
			if a.status != r.status || p.Status != r.status || p.Code != r.code {
				t.Fatalf("got %d %s, want %d %s: %s", a.status, p.Code, r.status, r.code, a.body)
			}
			if r.field != "" && (len(p.Fields) == 0 || p.Fields[0].Field != r.field) {
				t.Errorf("fields are %v, want %q", p.Fields, r.field)
			}
			if !strings.Contains(p.Detail, r.detail) {
				t.Errorf("detail %q does not say %q", p.Detail, r.detail)
			}
			if strings.Contains(p.Detail, "proto") || p.Detail == "" || p.Type == "" || p.Title == "" {
				t.Errorf("the problem is not for a caller: %s", a.body)
			}
		})
	}
}

func TestMethodNotAllowedNamesMethods(t *testing.T) {
	s := serve(t, nil)
	for path, want := range map[string]string{
		"/v1/agents": "GET, HEAD, POST", "/v1/agents/a": "DELETE, GET, HEAD, PATCH", "/v1/turns/t/events": "GET", "/healthz": "GET, HEAD",
		"/v1/tools/a:invoke": "GET, HEAD, POST", // GET of a tool with that name
	} {
		if got := s.do("PUT", path, "{}").header.Get("Allow"); got != want {
			t.Errorf("%s: Allow is %q, want %q", path, got, want)
		}
	}
}

func TestChunkedBodyIsLimited(t *testing.T) {
	s := serve(t, func(c *gateway.Config, _ *gateway.Deps) { c.MaxBody = 4096 })
	body := io.MultiReader(strings.NewReader(`{"message":"`), strings.NewReader(strings.Repeat("x", 8192)), strings.NewReader(`"}`))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/chat", body) // unknown length
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if a := s.send(req); a.status != 413 || a.problem(t).Code != "too_large" {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestUpstreamErrorsBecomeProblems(t *testing.T) {
	s := serve(t, nil)
	rows := []struct {
		name   string
		err    error
		status int
		code   string
		retry  string
	}{
		{"not found", fault.NotFound("no agent"), 404, "not_found", ""},
		{
			"rate", fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "slow down").RetryAfter(1500e6), 429, "rate_limited",
			"2",
		},
		{"ended", fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "over"), 409, "turn_ended", ""},
		{"denied", fault.Denied("x.y.z", ""), 403, "permission_denied", ""},
		{"unavailable", fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away"), 503, "unavailable", "1"},
		{"internal", io.ErrUnexpectedEOF, 500, "internal", ""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s.up.fail(r.err)
			for _, path := range []string{"/v1/agents/a", "/v1/turns/t/events"} {
				a := s.do("GET", path, "")
				p := a.problem(t)
				if a.status != r.status || p.Code != r.code || a.header.Get("Retry-After") != r.retry || p.Instance != path {
					t.Errorf("%s: got %d %s, Retry-After %q: %s", path, a.status, p.Code, a.header.Get("Retry-After"), a.body)
				}
				if strings.Contains(string(a.body), "EOF") {
					t.Errorf("the cause leaks: %s", a.body)
				}
			}
		})
	}
}
