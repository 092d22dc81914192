package mcp

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// testWire sends what clients should not send.
func testWire(t *testing.T, up *harness.Embedded) {
	list := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for name, test := range map[string]struct {
		body   []byte
		header map[string]string
		status int
		code   float64
	}{
		"not JSON":             {body: []byte(`{`), status: 400, code: -32700},
		"a batch":              {body: []byte(`[` + string(list) + `]`), status: 400, code: -32600},
		"another version":      {body: []byte(`{"jsonrpc":"1.0","id":1,"method":"ping"}`), status: 400, code: -32600},
		"no method":            {body: []byte(`{"jsonrpc":"2.0","id":1}`), status: 400, code: -32600},
		"null as id":           {body: []byte(`{"jsonrpc":"2.0","id":null,"method":"ping"}`), status: 400, code: -32600},
		"an object as id":      {body: []byte(`{"jsonrpc":"2.0","id":{},"method":"ping"}`), status: 400, code: -32600},
		"a long id":            {body: []byte(`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"ping"}`), status: 400, code: -32600},
		"a list as params":     {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`), status: 400, code: -32602},
		"a number as name":     {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`), status: 400, code: -32602},
		"no name":              {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`), status: 200, code: -32602},
		"an unknown method":    {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/eat"}`), status: 200, code: -32601},
		"a foreign cursor":     {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`), status: 200, code: -32602},
		"a large body":         {body: append(list, bytes.Repeat([]byte(" "), 60<<20)...), status: 413, code: -32600},
		"another media type":   {body: list, header: map[string]string{"Content-Type": "text/plain"}, status: 415, code: -32600},
		"a foreign session":    {body: list, header: map[string]string{"Mcp-Session-Id": "1234"}, status: 404, code: -32600},
		"an unknown version":   {body: list, header: map[string]string{"Mcp-Protocol-Version": "2020-01-01"}, status: 400, code: -32600},
		"a version to come":    {body: list, header: map[string]string{"Mcp-Protocol-Version": "2099-01-01"}, status: 400, code: -32602},
		"an answer to nothing": {body: []byte(`{"jsonrpc":"2.0","id":"windlass-1","result":{}}`), status: 400, code: -32600},
		"an unknown log level": {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`), status: 200, code: -32602},
		"a resource of nobody": {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://a"}}`), status: 200, code: -32002},
		"a prompt of nobody":   {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a"}}`), status: 200, code: -32602},
		"an unknown source":    {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"who+a:b"}}`), status: 200, code: -32602},
		"no session":           {body: []byte(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"legacy+a:b"}}`), status: 200, code: -32602},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, up, "/mcp")
			c.header = test.header
			res := c.post(test.body)
			defer res.Body.Close()
			if res.StatusCode != test.status {
				t.Errorf("status %d, want %d", res.StatusCode, test.status)
			}
			if test.code == 0 {
				return
			}
			failure, _ := messages(t, res)[0]["error"].(map[string]any)
			if failure["code"] != test.code || failure["message"] == "" {
				t.Errorf("got %v, want code %v", failure, test.code)
			}
		})
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodGet} {
		req, err := http.NewRequestWithContext(t.Context(), method, up.Client.Base+"/mcp", nil)
		harness.Must(t, err)
		res, err := http.DefaultClient.Do(req)
		harness.Must(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, res.Status)
		}
	}
}

// testOrigins sends what a web page of another origin, or one that uses DNS rebinding, can send.
func testOrigins(t *testing.T, up *harness.Embedded) {
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		for name, change := range map[string]func(*http.Request){
			"another origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
			"another host":   func(r *http.Request) { r.Host = "evil.example" },
			"a proxy":        func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.1") },
		} {
			req, err := http.NewRequestWithContext(t.Context(), method, up.Client.Base+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			harness.Must(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Mcp-Session-Id", newClient(t, up, "/mcp").initialize(nil).header["Mcp-Session-Id"])
			change(req)
			res, err := http.DefaultClient.Do(req)
			harness.Must(t, err)
			res.Body.Close()
			if !slices.Contains([]int{http.StatusForbidden, http.StatusUnauthorized, http.StatusMisdirectedRequest}, res.StatusCode) {
				t.Errorf("%s from %s: %s", method, name, res.Status)
			}
		}
	}
}

// testCatalogue reads what all sources offer, one of which is away.
func testCatalogue(t *testing.T, up *harness.Embedded) {
	for name, c := range map[string]*client{
		"stateless": newClient(t, up, "/mcp"), "session": newClient(t, up, "/mcp").initialize(nil),
		"modern": newClient(t, up, "/mcp").asModern(harness.JSON{}),
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			uris := names(c.result("resources/list", nil)["resources"], "uri")
			for _, want := range []string{"legacy+test://static-text", "modern+test://static-text"} {
				if !uris[want] {
					t.Errorf("no %s among %v", want, uris)
				}
			}
			templates := names(c.result("resources/templates/list", nil)["resourceTemplates"], "uriTemplate")
			if !templates["legacy+test://template/{id}/data"] {
				t.Errorf("templates = %v", templates)
			}
			read := c.result("resources/read", harness.JSON{"uri": "legacy+test://template/7/data"})
			contents, _ := read["contents"].([]any)
			if got := fmt.Sprint(contents); !strings.Contains(got, "Data for ID: 7") || !strings.Contains(got, "legacy+test://template/7/data") {
				t.Errorf("read = %v", read)
			}
			prompts := names(c.result("prompts/list", nil)["prompts"], "name")
			if !prompts["legacy__test_simple_prompt"] || !prompts["modern__test_simple_prompt"] {
				t.Errorf("prompts = %v", prompts)
			}
			completed := c.result("completion/complete", harness.JSON{
				"ref":      harness.JSON{"type": "ref/prompt", "name": "modern__test_prompt_with_arguments"},
				"argument": harness.JSON{"name": "arg1", "value": "x"},
			})
			if !strings.Contains(fmt.Sprint(completed), "x1") {
				t.Errorf("completion = %v", completed)
			}
			embedded := c.result("tools/call", harness.JSON{"name": "legacy__test_embedded_resource"})
			if !strings.Contains(fmt.Sprint(embedded), "legacy+test://embedded-resource") {
				t.Errorf("embedded = %v", embedded)
			}
			if got := textOf(c.result("tools/call", harness.JSON{"name": "mesh__uuid"})); len(got) < 36 {
				t.Errorf("uuid = %q", got)
			}
		})
	}
	one := newClient(t, up, "/mcp/"+legacy)
	tools := names(one.result("tools/list", nil)["tools"], "name")
	if !tools["test_simple_text"] || tools["legacy__test_simple_text"] {
		t.Errorf("tools of one source = %v", tools)
	}
	if got := names(newClient(t, up, "/mcp/"+away).result("tools/list", nil)["tools"], "name"); len(got) > 0 {
		t.Errorf("tools of a source that is away = %v", got)
	}
}

func names(list any, key string) map[string]bool {
	all := map[string]bool{}
	items, _ := list.([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		name, _ := m[key].(string)
		all[name] = true
	}
	return all
}
