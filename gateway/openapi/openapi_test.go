package openapi_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway/openapi"
	"github.com/windlass-dev/windlass/gateway/rest"
)

type operation struct {
	OperationID string `json:"operationId"`
	Parameters  []struct{ Name, In string }
	Responses   map[string]json.RawMessage
	Security    []map[string][]string
}

type document struct {
	OpenAPI    string `json:"openapi"`
	Security   []map[string][]string
	Paths      map[string]map[string]operation
	Components struct {
		SecuritySchemes map[string]struct{ Scheme string }
		Schemas         map[string]struct {
			Enum       []string
			Properties map[string]json.RawMessage
		}
	}
}

func read(t *testing.T) (document, string) {
	t.Helper()
	text, err := openapi.Document()
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d, string(text)
}

func TestEveryRouteIsDescribed(t *testing.T) {
	d, _ := read(t)
	routes, err := rest.Routes()
	if err != nil {
		t.Fatal(err)
	}
	if len(routes) < 30 {
		t.Fatalf("only %d routes were found", len(routes))
	}
	for _, r := range routes {
		path := regexp.MustCompile(`\{(\w+)\.(\w+)\}`).ReplaceAllString(r.Pattern, "{${1}_${2}}")
		op, ok := d.Paths[path][strings.ToLower(r.Method)]
		for from, to := range map[string]string{"{tool_group_name}": "{name}", "{route_name}": "{name}", "{name}": "{access_policy_name}"} {
			if other := strings.ReplaceAll(path, from, to); !ok && d.Paths[other] != nil {
				path = other
				op, ok = d.Paths[path][strings.ToLower(r.Method)]
			}
		}
		if !ok {
			t.Errorf("%s %s (%s) is not in the document", r.Method, path, r.RPC)
			continue
		}
		if _, ok := op.Responses["default"]; !ok {
			t.Errorf("%s %s does not say what errors look like", r.Method, path)
		}
		for _, v := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
			if !slices.ContainsFunc(op.Parameters, func(p struct{ Name, In string }) bool { return p.Name == v[1] && p.In == "path" }) {
				t.Errorf("%s %s does not describe {%s}", r.Method, path, v[1])
			}
		}
	}
}

func TestWhatTheGeneratorCannotSay(t *testing.T) {
	d, text := read(t)
	for path, header := range map[string]string{
		"/v1/sessions/{session_id}/turns": "Idempotency-Key", "/v1/chat": "Idempotency-Key", "/v1/tools/{name}:invoke": "Idempotency-Key",
		"/v1/turns/{turn_id}/events": "Last-Event-ID", "/v1/turns/{turn_id}:rerun": "Last-Event-ID",
		"/v1/sessions/{session_id}/events": "Last-Event-ID",
	} {
		found := false
		for _, op := range d.Paths[path] {
			found = found || slices.ContainsFunc(op.Parameters,
				func(p struct{ Name, In string }) bool { return p.Name == header && p.In == "header" })
		}
		if !found {
			t.Errorf("%s does not describe the header %s", path, header)
		}
	}
	made := d.Paths["/v1/sessions/{session_id}/turns"]["post"].Responses
	if len(made) != 5 || made["200"] == nil || made["202"] == nil || made["204"] == nil {
		t.Error("creating a turn does not answer 200, 202 or 204")
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json"} {
		if d.Paths[path] == nil {
			t.Errorf("%s is missing", path)
		}
	}
	if got := d.Components.Schemas["EffectClass"].Enum; !slices.Equal(got, []string{"read", "idempotent", "once"}) {
		t.Errorf("effect classes are %q", got)
	}
	for _, wrong := range []string{"#/definitions/", "STRATEGY_", "agent.id", "collectionFormat", `"unspecified"`} {
		if strings.Contains(text, wrong) {
			t.Errorf("the document still holds %q", wrong)
		}
	}
}

// TestEveryOperationNamesItsPermission: a token is optional, because a server may have a local user, and the permission is that of the RPC.
func TestEveryOperationNamesItsPermission(t *testing.T) {
	d, _ := read(t)
	optional := func(permissions ...string) []map[string][]string {
		return []map[string][]string{{"bearer": permissions}, {}}
	}
	if !reflect.DeepEqual(d.Security, optional([]string{}...)) || d.Components.SecuritySchemes["bearer"].Scheme != "bearer" {
		t.Errorf("the document has %v and the schemes %v", d.Security, d.Components.SecuritySchemes)
	}
	for path, want := range map[string][]map[string][]string{
		"/v1/turns": optional("sessions.turns.list"), "/v1/audit": optional("policy.audit.list"), "/metrics": optional("metrics.get"),
		"/v1/me":   nil, // every caller with a principal, as the document says for all
		"/healthz": {}, "/openapi.json": {},
	} {
		if got := d.Paths[path]["get"].Security; !reflect.DeepEqual(got, want) {
			t.Errorf("GET %s needs %v, not %v", path, got, want)
		}
	}
	for path, ops := range d.Paths {
		for method, op := range ops {
			known := len(op.Security) == 2 && len(op.Security[0]["bearer"]) == 1 && len(op.Security[1]) == 0
			if strings.HasPrefix(path, "/v1/") && path != "/v1/me" && !strings.HasPrefix(path, "/v1/shared/{token}") && !known {
				t.Errorf("%s %s needs %v", method, path, op.Security)
			}
		}
	}
}

func TestReferencesAndIDsHold(t *testing.T) {
	d, text := read(t)
	for _, m := range regexp.MustCompile(`#/components/schemas/([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if _, ok := d.Components.Schemas[m[1]]; !ok {
			t.Errorf("schema %s does not exist", m[1])
		}
	}
	ids := map[string]bool{}
	for path, ops := range d.Paths {
		for method, op := range ops {
			if op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s %s: operation id %q is empty or taken", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
}
