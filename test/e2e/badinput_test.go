package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// problem is what an error's body says.
type problem struct {
	Type, Title, Detail, Code, Todo string
	Status                          int
	Fields                          []struct{ Field, Message string }
}

// refused makes a request that must be refused, and gives the problem.
func refused(t *testing.T, c *harness.Client, method, path string, body any) problem {
	t.Helper()
	status, out, err := c.Do(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if status < 400 || status >= 500 {
		t.Fatalf("%s %s with %.200v: %d %v, want a 4xx", method, path, body, status, out)
	}
	var p problem
	raw, err := json.Marshal(out)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Status != status || p.Code == "" || p.Title == "" || p.Detail == "" || p.Type != "urn:windlass:problem:"+p.Code {
		t.Fatalf("%s %s: %d %s (%v) is no problem document", method, path, status, raw, err)
	}
	if status == http.StatusBadRequest && p.Todo == "" {
		t.Errorf("%s %s: %s says not what to do", method, path, raw)
	}
	return p
}

// expect is a problem: status, code, the first field that is named, and a part of the detail.
type expect struct {
	status              int
	code, field, detail string
}

func (p problem) check(t *testing.T, want expect) {
	t.Helper()
	var field string
	if len(p.Fields) > 0 {
		field = p.Fields[0].Field
	}
	if p.Status != want.status || p.Code != want.code || want.field != "" && field != want.field || !strings.Contains(p.Detail, want.detail) {
		t.Errorf("got %d %s, field %q: %s\nwant %+v", p.Status, p.Code, field, p.Detail, want)
	}
}

// route is one method of one public path, as /openapi.json lists it.
type route struct {
	method, path string
	body         bool
	query        []string
}

func routes(t *testing.T, c *harness.Client) []route {
	t.Helper()
	type operation struct {
		RequestBody struct{ Content map[string]any } `json:"requestBody"`
		Parameters  []struct{ Name, In string }
	}
	var doc struct {
		Paths map[string]map[string]operation
	}
	resp, err := c.HTTP.Get(c.Base + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var out []route
	for path, methods := range doc.Paths {
		for method, op := range methods {
			r := route{method: strings.ToUpper(method), path: path, body: op.RequestBody.Content["application/json"] != nil}
			for _, p := range op.Parameters {
				if p.In == "query" {
					r.query = append(r.query, p.Name)
				}
			}
			if strings.HasPrefix(path, "/v1/") {
				out = append(out, r)
			}
		}
	}
	if len(out) < 30 {
		t.Fatalf("only %d routes in the API's description", len(out))
	}
	return out
}

// at fills a path's variable.
func (r route) at(id string) string {
	before, rest, found := strings.Cut(r.path, "{")
	if !found {
		return r.path
	}
	_, after, _ := strings.Cut(rest, "}")
	return before + id + after
}

func (r route) payload() any {
	if r.body {
		return harness.JSON{}
	}
	return nil
}

// TestEveryPathRefusesGarbage sends to every path of the API what no path takes.
func TestEveryPathRefusesGarbage(t *testing.T) {
	t.Parallel()
	c := client(t)
	for _, r := range routes(t, c) {
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			refused(t, c, r.method, r.at("x")+"?no_such_parameter=1", r.payload()).check(t, expect{400, "unknown_field", "no_such_parameter", ""})
			if strings.Contains(r.path, "{") {
				for _, id := range []string{"nope", "%00", "%F0%9F%98%80", "..", "a'b", strings.Repeat("x", 64)} {
					if p := refused(t, c, r.method, r.at(id), r.payload()); p.Status != 404 && p.Status != 400 {
						t.Errorf("%s: %d %s", id, p.Status, p.Code)
					}
				}
				if p := refused(t, c, r.method, r.at("%ff"), r.payload()); p.Status != 400 {
					t.Errorf("a path that is no UTF-8: %+v", p)
				}
				if p := refused(t, c, r.method, r.at(strings.Repeat("x", 8000)), r.payload()); p.Status != 400 {
					t.Errorf("a path of 8000 letters: %+v", p)
				}
			}
			if r.body {
				refused(t, c, r.method, r.at("x"), harness.JSON{"no_such_field": 1}).check(t, expect{400, "unknown_field", "no_such_field", ""})
				refused(t, c, r.method, r.at("x"), "{\n\"a\":}").check(t, expect{400, "malformed_body", "", "line 2, column 5"})
				refused(t, c, r.method, r.at("x"), "[]").check(t, expect{400, "invalid_argument", "body", ""})
				refused(t, c, r.method, r.at("x"), "{\"a\":\"\xff\"}").check(t, expect{400, "malformed_body", "", "UTF-8"})
			}
			if slices.Contains(r.query, "page_size") {
				for _, size := range []string{"-1", "ten", "1.5", "99999999999999999999"} {
					refused(t, c, r.method, r.at("x")+"?page_size="+size, nil).check(t, expect{400, "invalid_argument", "page_size", ""})
				}
			}
		})
	}
}

func TestGarbagePageTokensAreRefused(t *testing.T) {
	t.Parallel()
	c := client(t)
	session := c.Session("assistant")
	turn := ""
	for range 2 {
		turn = c.Turn(session, "say:hello")
		c.Wait(turn)
	}
	shared := c.Must("POST", "/v1/sessions/"+session+"/shares", harness.JSON{"access": "read", "audience": "anyone"}).Str("url")
	c.Must("POST", "/v1/banks", harness.JSON{"id": "paged"})
	hook := "/v1/webhooks/" + c.Must("POST", "/v1/webhooks", harness.JSON{"url": "http://127.0.0.1:1/", "disabled": true}).Str("id")
	lists := []string{
		"/v1/agents", "/v1/agents/assistant/revisions", "/v1/sources", "/v1/tools", "/v1/executions", "/v1/decisions", "/v1/models",
		"/v1/sessions", "/v1/events", "/v1/access-policies", "/v1/secrets", "/v1/connections", "/v1/grants", "/v1/audit", "/v1/quotas",
		"/v1/turns", "/v1/sessions/" + session + "/turns", "/v1/sessions/" + session + "/messages",
		"/v1/approvals", "/v1/budgets", "/v1/sessions/" + session + "/artifacts", "/v1/tool-groups", "/v1/schedules", "/v1/webhooks",
		"/v1/files", "/v1/routes", "/v1/model-health", hook + "/deliveries", "/v1/banks", "/v1/banks/paged/documents", "/v1/banks/paged/sources",
		"/v1/memory", "/v1/memory:versions", "/v1/sessions/" + session + "/shares", "/v1/turns/" + turn + "/journal", "/v1" + shared,
	}
	paged := 0
	for _, r := range routes(t, c) {
		if slices.Contains(r.query, "page_token") {
			paged++
		}
	}
	if paged != len(lists) {
		t.Errorf("%d lists have pages, the test knows %d", paged, len(lists))
	}
	foreign := c.Must("GET", "/v1/tools?page_size=1", nil).Str("next_page_token")
	for _, list := range lists {
		for _, token := range []string{"zzz", "%21%21", "0", strings.Repeat("A", 1000), foreign} {
			if token == foreign && list == "/v1/tools" {
				continue
			}
			refused(t, c, "GET", list+"?page_token="+token, nil).check(t, expect{status: 400, code: "invalid_page_token"})
		}
		refused(t, c, "GET", list+"?page_token="+strings.Repeat("A", 1025), nil).check(t, expect{400, "invalid_argument", "page_token", ""})
	}
}

func TestGarbageCursorsAreRefused(t *testing.T) {
	t.Parallel()
	c := client(t)
	session := c.Session("assistant")
	turn := c.Turn(session, "say:hello")
	c.Wait(turn)
	for _, stream := range []string{"/v1/turns/" + turn + "/events", "/v1/sessions/" + session + "/events"} {
		for _, cursor := range []string{
			"x", "-1", "1.", ".1", "1.2.3", "1e3", "+1", "0x1", "%00", "99999999999", "4000000000", "999999",
			"1.99999", strings.Repeat("1", 100),
		} {
			refused(t, c, "GET", stream+"?after="+cursor, nil).check(t, expect{status: 400, code: "invalid_cursor"})
		}
	}
	for _, stream := range []string{
		"/v1/turns/trn_nope/events", "/v1/sessions/ses_nope/events", "/v1/turns/" + session + "/events",
		"/v1/sessions/" + turn + "/events",
	} {
		refused(t, c, "GET", stream, nil).check(t, expect{status: 404, code: "not_found"})
		refused(t, c, "GET", stream+"?after=1", nil).check(t, expect{status: 404, code: "not_found"})
	}
}

func TestBadInputIsExplained(t *testing.T) {
	t.Parallel()
	c := client(t)
	session := c.Session("assistant")
	turn := c.Turn(session, "say:hello")
	c.Wait(turn)
	big := strings.Repeat("x", 1<<20+1)
	type J = harness.JSON
	for _, tc := range []struct {
		method, path string
		body         any
		want         expect
	}{
		{"POST", "/v1/agents", J{"id": "assistant"}, expect{409, "already_exists", "", "assistant"}},
		{"POST", "/v1/agents", J{"id": "Bad Id"}, expect{400, "invalid_argument", "id", ""}},
		{"POST", "/v1/agents", J{"id": "bad", "limits": J{"max_steps": 5000}}, expect{400, "invalid_argument", "limits.max_steps", "1000"}},
		{"POST", "/v1/agents", J{"id": "bad", "tools": []string{"a__*", "["}}, expect{400, "invalid_argument", "tools[1]", "pattern"}},
		{"POST", "/v1/agents", J{"id": "bad", "tools": []string{""}}, expect{400, "invalid_argument", "tools[0]", ""}},
		{"POST", "/v1/agents", J{"id": "bad", "temperature": 3}, expect{400, "invalid_argument", "temperature", ""}},
		{"POST", "/v1/agents", J{"id": "bad", "strategy": "guess"}, expect{400, "invalid_argument", "strategy", "react"}},
		{"POST", "/v1/agents", J{"id": "bad", "instructions": strings.Repeat("x", 262145)}, expect{400, "invalid_argument", "instructions", ""}},
		{"PATCH", "/v1/agents/assistant", J{"revision": 999, "description": "x"}, expect{409, "conflict", "", "999"}},
		{"PATCH", "/v1/agents/assistant?update_mask=nope", J{"description": "x"}, expect{400, "invalid_argument", "update_mask", "nope"}},
		{"GET", "/v1/agents/assistant?revision=999", nil, expect{404, "not_found", "", "999"}},
		{"GET", "/v1/agents/assistant?revision=-1", nil, expect{400, "invalid_argument", "revision", ""}},

		{"POST", "/v1/sessions", J{"agent_id": "nope"}, expect{404, "not_found", "", "nope"}},
		{"POST", "/v1/sessions", J{"title": strings.Repeat("x", 201)}, expect{400, "invalid_argument", "title", "200"}},
		{"POST", "/v1/sessions", J{"labels": J{"a": 1}}, expect{400, "invalid_argument", "labels", ""}},
		{"POST", "/v1/sessions/" + session + "/turns", J{}, expect{400, "invalid_argument", "input", "empty"}},
		{
			"POST", "/v1/sessions/" + session + "/turns",
			J{"input": "a", "content": []J{{"text": "b"}}},
			expect{400, "invalid_argument", "input", "not both"},
		},
		{"POST", "/v1/sessions/" + session + "/turns", J{"content": []J{{"text": "a"}, {}}}, expect{400, "invalid_argument", "content[1]", ""}},
		{"POST", "/v1/sessions/" + session + "/turns", J{"input": 3}, expect{400, "invalid_argument", "input", "text"}},
		{"POST", "/v1/sessions/" + session + "/turns", J{"input": "a", "mode": "nope"}, expect{400, "invalid_argument", "mode", "enqueue"}},
		{"POST", "/v1/sessions/" + session + "/turns", J{"input": big}, expect{413, "too_large", "input", "1048576"}},
		{"POST", "/v1/sessions/" + session + "/turns", `{"input":"` + strings.Repeat("x", 40<<20) + `"}`, expect{413, "too_large", "", "body"}},
		{"POST", "/v1/turns/" + turn + ":cancel", J{}, expect{409, "turn_ended", "", turn}},
		{"POST", "/v1/turns/" + turn + ":cancel", J{"reason": strings.Repeat("x", 501)}, expect{400, "invalid_argument", "reason", "500"}},
		{"GET", "/v1/turns/" + turn + "?wait=61s", nil, expect{400, "invalid_argument", "wait", "60s"}},
		{"GET", "/v1/turns/" + turn + "?wait=soon", nil, expect{400, "invalid_argument", "wait", "30s"}},
		{"GET", "/v1/turns?status=nope", nil, expect{400, "invalid_argument", "status", "queued"}},
		{"GET", "/v1/turns?session_id=nope", nil, expect{404, "not_found", "", "nope"}},

		{"POST", "/v1/chat", J{}, expect{400, "invalid_argument", "message", ""}},
		{"POST", "/v1/chat", J{"message": big}, expect{413, "too_large", "message", "1048576"}},
		{"POST", "/v1/chat", J{"message": "x", "session_id": "nope"}, expect{404, "not_found", "", "nope"}},
		{"POST", "/v1/chat", J{"message": "x", "agent_id": "nope"}, expect{404, "not_found", "", "nope"}},
		{
			"POST", "/v1/chat",
			J{"message": "x", "session_id": session, "agent_id": "other"},
			expect{400, "invalid_argument", "agent_id", "assistant"},
		},

		{"POST", "/v1/sources", J{"kind": "mcp", "url": "http://127.0.0.1:1"}, expect{400, "invalid_argument", "name", ""}},
		{"POST", "/v1/sources", J{"name": "bad", "url": "http://127.0.0.1:1"}, expect{400, "invalid_argument", "kind", "mcp"}},
		{"POST", "/v1/sources", J{"name": "bad", "kind": "fax"}, expect{400, "invalid_argument", "kind", "mcp"}},
		{
			"POST", "/v1/sources",
			J{"name": "bad__name", "kind": "mcp", "url": "http://127.0.0.1:1"},
			expect{400, "invalid_argument", "name", "lower-case"},
		},
		{
			"POST", "/v1/sources",
			J{"name": "calculator", "kind": "mcp", "url": "http://127.0.0.1:1"},
			expect{409, "already_exists", "", "calculator"},
		},
		{"POST", "/v1/sources", J{"name": "bad", "kind": "mcp"}, expect{400, "invalid_argument", "url", "exactly one"}},
		{"POST", "/v1/sources", J{"name": "bad", "kind": "mcp", "url": "ftp://x"}, expect{400, "invalid_argument", "url", "http://"}},
		{
			"POST", "/v1/sources",
			J{"name": "bad", "kind": "mcp", "url": "http://u:p@127.0.0.1:1"},
			expect{400, "invalid_argument", "url", "credentials"},
		},
		{"POST", "/v1/sources", J{"name": "bad", "kind": "mcp", "command": []string{""}}, expect{400, "invalid_argument", "command", "program"}},
		{
			"POST", "/v1/sources",
			J{"name": "bad", "kind": "mcp", "url": "http://127.0.0.1:1", "transport": "stdio"},
			expect{400, "invalid_argument", "transport", ""},
		},
		{
			"POST", "/v1/sources",
			J{"name": "bad", "kind": "mcp", "url": "http://127.0.0.1:1", "headers": J{"A": "b\nc"}},
			expect{400, "invalid_argument", "headers.A", ""},
		},
		{
			"POST", "/v1/sources",
			J{"name": "bad", "kind": "mcp", "url": "http://127.0.0.1:1", "headers": J{"Authorization": "Bearer x"}},
			expect{400, "invalid_argument", "headers.Authorization", "${env:"},
		},
		{
			"POST", "/v1/sources",
			J{"name": "bad", "kind": "mcp", "url": "http://127.0.0.1:1", "effects": J{"a": "never"}},
			expect{400, "invalid_argument", "effects", "idempotent"},
		},
		{"PATCH", "/v1/sources/calculator", J{"name": "other"}, expect{400, "invalid_argument", "name", "cannot be changed"}},
		{"PATCH", "/v1/sources/calculator", J{"kind": "builtin"}, expect{400, "invalid_argument", "kind", "cannot be changed"}},

		{"POST", "/v1/tools/calculator__evaluate:invoke", J{}, expect{400, "invalid_tool_arguments", "arguments/expression", "required"}},
		{
			"POST", "/v1/tools/calculator__evaluate:invoke",
			J{"arguments": J{"expression": 3}},
			expect{400, "invalid_tool_arguments", "arguments/expression", "string"},
		},
		{
			"POST", "/v1/tools/calculator__evaluate:invoke",
			J{"arguments": J{"expression": "1", "a/b~c": 2}},
			expect{400, "invalid_tool_arguments", "arguments/a~1b~0c", ""},
		},
		{"POST", "/v1/tools/calculator__evaluate:invoke", J{"arguments": []int{1}}, expect{400, "invalid_argument", "arguments", "object"}},
	} {
		refused(t, c, tc.method, tc.path, tc.body).check(t, tc.want)
	}
}
