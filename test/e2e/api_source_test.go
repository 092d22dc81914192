package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestTheMeshAsASource: the mesh's own REST API, read from its own OpenAPI document, gives tools for people and agents.
func TestTheMeshAsASource(t *testing.T) {
	t.Parallel()
	c := client(t)
	windlass := func(code int, args ...string) (stdout, stderr string) {
		return run(t, code, "", harness.Bin(t, "windlass"), append(args, "--server", c.Base)...)
	}
	out, _ := windlass(0, "source", "create", "rest", "--openapi", c.Base+"/openapi.json", "--operation", "*Agent")
	if !strings.Contains(out, "ready") || strings.Contains(out, "unreachable") {
		t.Fatalf("created: %s", out)
	}
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "clerk", "description": "made by hand", "model": "builtin/scripted", "tools": []string{"rest__*Agent"},
	})
	if out, _ = windlass(0, "tool", "invoke", "rest__getAgent", `{"agent_id":"clerk"}`); !strings.Contains(out, "made by hand") {
		t.Errorf("invoked: %s", out)
	}
	_, message := windlass(1, "tool", "invoke", "rest__getAgent", `{"agent_id":7}`)
	if !strings.Contains(message, "arguments/agent_id") {
		t.Errorf("a wrong argument: %s", message)
	}
	end := c.Wait(c.Turn(c.Session("clerk"),
		`call:rest__createAgent {"body":{"id":"made-by-an-agent","model":"builtin/scripted"}} then `+
			`call:rest__getAgent {"agent_id":"made-by-an-agent"} then call:rest__getAgent {"agent_id":"nobody"}`))
	if end.Str("status") != "completed" || !strings.Contains(end.Str("output"), "404 Not Found") {
		t.Errorf("turn: %v", end)
	}
	if agent := c.Must("GET", "/v1/agents/made-by-an-agent", nil); agent.Str("model") != "builtin/scripted" {
		t.Errorf("made: %v", agent)
	}
}

// TestAnAPISurvivesItsRoundTrip: what is read of a source can be applied again, and a changed document is shown.
func TestAnAPISurvivesItsRoundTrip(t *testing.T) {
	t.Parallel()
	c := client(t)
	var mu sync.Mutex
	summary, keys := "List the pets", []string{}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/openapi.yaml" {
			fmt.Fprintf(w, `openapi: 3.0.3
info: {title: Pets, version: "1"}
paths:
  /pets:
    get: {operationId: list, summary: %s}
    post:
      operationId: add
      parameters: [{name: Idempotency-Key, in: header}]
      requestBody: {content: {application/json: {schema: {type: object}}}}
`, summary)
			return
		}
		body, _ := io.ReadAll(r.Body)
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	t.Cleanup(api.Close)
	windlass := func(code int, stdin string, args ...string) string {
		out, _ := run(t, code, stdin, harness.Bin(t, "windlass"), append(args, "--server", c.Base)...)
		return out
	}
	windlass(0, "kind: source\nname: petshop\nsource_kind: openapi\nurl: "+api.URL+"/openapi.yaml\npin: true\n"+
		"operations: {paths: ['/pets*']}\n", "apply", "-f", "-")
	yaml := windlass(0, "", "source", "get", "petshop", "-o", "yaml")
	if out := windlass(0, yaml, "apply", "-f", "-"); !strings.Contains(out, "unchanged") {
		t.Errorf("applied again: %s\n%s", out, yaml)
	}
	called := c.Must("POST", "/v1/tools/petshop__add:invoke", harness.JSON{"arguments": harness.JSON{"body": harness.JSON{"name": "Tom"}}})
	if text := fmt.Sprint(called); !strings.Contains(text, `POST /pets {"name":"Tom"}`) {
		t.Errorf("called: %s", text)
	}
	mu.Lock()
	if len(keys) != 1 || keys[0] == "" {
		t.Errorf("keys of calls: %q", keys)
	}
	summary = "List all pets of the shop"
	mu.Unlock()
	if out := windlass(0, "", "source", "sync", "petshop"); !strings.Contains(out, "! petshop__list") {
		t.Errorf("synced: %s", out)
	}
	if out := windlass(0, "", "source", "diff", "petshop"); !strings.Contains(out, `+  "title": "List all pets of the shop"`) {
		t.Errorf("diff: %s", out)
	}
	if out := windlass(0, "", "source", "accept", "petshop"); out != "tool petshop__list accepted\n" {
		t.Errorf("accepted: %s", out)
	}

	document := "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths: {/pets: {get: {operationId: list}}}\n"
	windlass(0, document, "source", "create", "petinline", "--openapi", "-", "--base-url", api.URL, "--bearer", "${env:WINDLASS_TOOL_ABSENT}")
	yaml = windlass(0, "", "source", "get", "petinline", "-o", "yaml")
	if out := windlass(0, yaml, "apply", "-f", "-"); !strings.Contains(out, "unchanged") {
		t.Errorf("applied again: %s\n%s", out, yaml)
	}
	if status, answer, err := c.Do(t.Context(), "POST", "/v1/tools/petinline__list:invoke", harness.JSON{}); err != nil ||
		!strings.Contains(fmt.Sprint(answer), "has no variable WINDLASS_TOOL_ABSENT") {
		t.Errorf("a credential that is not there: %d %v %v", status, answer, err)
	}

	yaml = fmt.Sprintf(`kind: source
name: petshand
source_kind: http
base_url: %s
endpoints:
  - name: add
    method: POST
    path: /pets/${args.id}
    body: {pet: {age: "${args.age}", tags: [new, "${args.tag}"]}}
    input_schema: {type: object, required: [id], properties: {id: {type: string}, age: {type: integer}, tag: {type: string}}}
`, api.URL)
	windlass(0, yaml, "apply", "-f", "-")
	yaml = windlass(0, "", "source", "get", "petshand", "-o", "yaml")
	if out := windlass(0, yaml, "apply", "-f", "-"); !strings.Contains(out, "unchanged") {
		t.Errorf("applied again: %s\n%s", out, yaml)
	}
	if out := windlass(0, "", "tool", "invoke", "petshand__add", `{"id":"a b","age":3}`); out != `POST /pets/a%20b {"pet":{"age":3,"tags":["new"]}}`+"\n" {
		t.Errorf("called: %s", out)
	}
}
