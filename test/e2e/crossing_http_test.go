package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/httprule"
	"github.com/windlass-dev/windlass/test/harness"
)

// crossingHTTP is a crossing whose other tenants log in, and use what the gateway serves.
type crossingHTTP struct {
	*crossing
	logins *logins
	// carol is an administrator of the tenant acme, and dora one of a tenant that has nothing.
	carol, dora string
}

func newCrossingHTTP(t *testing.T) *crossingHTTP {
	t.Helper()
	config := filepath.Join(t.TempDir(), "windlass.yaml")
	harness.Must(t, os.WriteFile(config, []byte(`identity: {issuer: {users: [
  {name: alice, tenant: default, roles: [admin, user]},
  {name: carol, tenant: acme, roles: [admin, user]},
  {name: dora, tenant: nowhere, roles: [admin, user]},
]}}
`), 0o600))
	p := newLogins(t, "--config", config)
	x := &crossingHTTP{crossing: crossingOf(t, p.Embedded), logins: p}
	x.carol, x.dora = p.tokens("carol").AccessToken, p.tokens("dora").AccessToken
	return x
}

// sent is a request over HTTP. {names} in it stand for IDs.
type sent struct {
	method, path, body string
	header             []string
}

// named replaces {names} by IDs.
func named(text string, ids map[string]string) string {
	for kind, id := range ids {
		text = strings.ReplaceAll(text, "{"+kind+"}", id)
	}
	return text
}

// marked is what stands for an ID in an answer. Descriptions of paths have {names}.
func marked(kind string) string { return "⟨" + kind + "⟩" }

// endless reports whether an answer may be a stream that does not end by itself.
func (s sent) endless(resp *http.Response) bool {
	stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	return stream && (s.method == http.MethodGet || strings.Contains(s.body, `"subscriptions/listen"`))
}

// do sends a request with a token, and returns the status, and everything in the answer with marks in place of IDs. A stream that does not
// end is read for streamTime.
func (x *crossingHTTP) do(token string, s sent, ids map[string]string) (int, string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, s.method, x.up.Client.Base+named(s.path, ids), strings.NewReader(named(s.body, ids)))
	harness.Must(x.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	if s.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(s.header); i += 2 {
		req.Header.Set(s.header[i], named(s.header[i+1], ids))
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		x.t.Fatalf("%s %s: %v", s.method, named(s.path, ids), err)
	}
	defer resp.Body.Close()
	endless := s.endless(resp)
	if endless {
		defer time.AfterFunc(streamTime, cancel).Stop()
	}
	var all strings.Builder
	_, err = io.Copy(&all, resp.Body)
	if err != nil && (!endless || !errors.Is(err, context.Canceled)) {
		x.t.Fatalf("%s %s: %v", s.method, named(s.path, ids), err)
	}
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		if name != "Date" && name != "Mcp-Session-Id" {
			fmt.Fprintf(&all, "\n%s: %s", name, strings.Join(resp.Header[name], ", "))
		}
	}
	shown := all.String()
	longest := func(a, b string) int { return len(ids[b]) - len(ids[a]) }
	for _, kind := range slices.SortedFunc(maps.Keys(ids), longest) {
		shown = strings.ReplaceAll(shown, ids[kind], marked(kind))
	}
	return resp.StatusCode, shown
}

// varying is what differs between two answers that say the same.
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|"latency_ms": ?"?\d+"?|[0-9a-f]{32}|Content-Length: \d+|req_[a-z0-9]+`)

// cross sends a request from another tenant, and holds the answer to what is wanted of it.
func (x *crossingHTTP) cross(t *testing.T, s sent, want answer) {
	t.Helper()
	about := s.method + " " + s.path + " " + s.body
	status, got := x.do(x.carol, s, x.ids)
	otherStatus, other := x.do(x.carol, s, x.unknown)
	if want == nothing {
		otherStatus, other = x.do(x.dora, s, x.ids)
	}
	if status != otherStatus || varying.ReplaceAllString(got, "") != varying.ReplaceAllString(other, "") {
		t.Errorf("%s: %d %s\nwant %d %s", about, status, got, otherStatus, other)
	}
	if strings.Contains(got, canary) {
		t.Errorf("%s shows something of another tenant: %s", about, got)
	}
	for kind := range x.ids {
		if strings.Contains(got, marked(kind)) && !strings.Contains(about+fmt.Sprint(s.header), "{"+kind+"}") {
			t.Errorf("%s shows the %s of another tenant: %s", about, kind, got)
		}
	}
	switch {
	case want == notFound && status != http.StatusNotFound:
		t.Errorf("%s: %d %s, want 404", about, status, got)
	case want == nothing && status != http.StatusOK:
		t.Errorf("%s: %d %s, want 200", about, status, got)
	}
}

var pathVariable = regexp.MustCompile(`\{([a-z_.]+)\}`)

// requestOf returns an RPC's request as one of REST; ok is false if the path names something that the request leaves out.
func requestOf(t *testing.T, r rest.Route, request string) (s sent, ok bool) {
	t.Helper()
	fields := harness.JSON{}
	harness.Must(t, json.Unmarshal([]byte(request), &fields))
	ok = true
	s = sent{method: r.Method, path: pathVariable.ReplaceAllStringFunc(r.Pattern, func(variable string) string {
		of, name := fields, strings.Trim(variable, "{}")
		if outer, inner, nested := strings.Cut(name, "."); nested {
			inside, _ := fields[outer].(map[string]any)
			of, name = inside, inner
		}
		value, given := of[name].(string)
		ok = ok && given
		delete(of, name)
		return value
	})}
	query := url.Values{}
	switch body := r.Body; body {
	case "":
	case "*":
		text, err := json.Marshal(fields)
		harness.Must(t, err)
		s.body, fields = string(text), nil
	default:
		text, err := json.Marshal(fields[body])
		harness.Must(t, err)
		s.body = string(text)
		delete(fields, body)
		delete(fields, "update_mask") // of the fields in the body
	}
	for name, value := range fields {
		query.Set(name, fmt.Sprint(value))
	}
	if len(query) > 0 {
		s.path += "?" + strings.NewReplacer("%7B", "{", "%7D", "}").Replace(query.Encode())
	}
	return s, ok
}

// routesOf returns the paths at which the gateway serves RPCs, by the name that reaches has for the RPC. Those of streams are not declared
// with the RPC.
func routesOf(t *testing.T) map[string][]rest.Route {
	t.Helper()
	all, err := rest.Routes()
	harness.Must(t, err)
	const watchTurn, watchEvents = "/windlass.sessions.v1.TurnService/WatchTurn", "/windlass.sessions.v1.EventService/WatchEvents"
	const upload, content = "/windlass.sessions.v1.FileService/UploadFile", "/windlass.sessions.v1.FileService/ReadFile"
	const begin, abandon = "/windlass.sessions.v1.FileService/CreateUpload", "/windlass.sessions.v1.FileService/DeleteUpload"
	all = append(all,
		rest.Route{Binding: httprule.Binding{Method: "GET", Pattern: "/v1/turns/{turn_id}/events"}, RPC: watchTurn},
		rest.Route{Binding: httprule.Binding{Method: "GET", Pattern: "/v1/sessions/{session_id}/events"}, RPC: watchTurn},
		rest.Route{Binding: httprule.Binding{Method: "GET", Pattern: "/v1/events:watch"}, RPC: watchEvents},
		rest.Route{
			Binding: httprule.Binding{Method: "GET", Pattern: "/v1/shared/{token}/events"}, RPC: "/windlass.sessions.v1.ShareService/WatchShared",
		},
		rest.Route{
			Binding: httprule.Binding{Method: "GET", Pattern: "/v1/approvals:watch"}, RPC: "/windlass.sessions.v1.ApprovalService/WatchApprovals",
		},
		rest.Route{Binding: httprule.Binding{Method: "POST", Pattern: "/v1/files"}, RPC: upload},
		rest.Route{Binding: httprule.Binding{Method: "GET", Pattern: "/v1/files/{file_id}/content"}, RPC: content},
		rest.Route{Binding: httprule.Binding{Method: "POST", Pattern: "/v1/uploads"}, RPC: begin},
		rest.Route{Binding: httprule.Binding{Method: "DELETE", Pattern: "/v1/uploads/{upload_id}"}, RPC: abandon})
	byName := map[string][]rest.Route{}
	for _, r := range all {
		name := r.RPC[strings.LastIndex(r.RPC, ".")+1:]
		name = strings.ReplaceAll(name, "/", ".")
		byName[name] = append(byName[name], r)
	}
	return byName
}

// described returns the operations of the OpenAPI document of a gateway, as "METHOD /path" without the names of variables.
func (x *crossingHTTP) described() map[string]bool {
	x.t.Helper()
	paths, _ := x.up.Client.Must("GET", "/openapi.json", nil)["paths"].(map[string]any)
	all := map[string]bool{}
	for path, item := range paths {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				all[strings.ToUpper(method)+" "+pathVariable.ReplaceAllString(path, "{}")] = true
			}
		}
	}
	if len(all) < 50 {
		x.t.Fatalf("the description has %d operations", len(all))
	}
	return all
}

// repeated is an idempotency key of the first tenant.
const repeated = "an idempotency key"

// events are the headers with which a request that makes a turn, or reads one, is answered as a stream.
var events = []string{"Accept", "text/event-stream"}

// TestS13NothingOfAnotherTenantOverHTTP walks all operations of the OpenAPI description, the streams among them, as an administrator of
// another tenant who has logged in: 404 for IDs of the first tenant's objects, as for those that never existed, and lists as of a tenant
// that has nothing. No byte of an answer is of the first tenant's.
func TestS13NothingOfAnotherTenantOverHTTP(t *testing.T) {
	t.Parallel()
	x := newCrossingHTTP(t)
	for range 2 { // a key that the first tenant has used
		x.up.Client.Must("POST", "/v1/sessions", harness.JSON{"agent_id": "s13agent", "title": canary}, "Idempotency-Key", repeated)
	}
	before, described := x.state(), x.described()
	for name, routes := range routesOf(t) {
		r, ok := reaches[name]
		for _, route := range routes {
			operation := route.Method + " " + pathVariable.ReplaceAllString(route.Pattern, "{}")
			if !ok || !described[operation] {
				t.Errorf("%s: %s is in the table %t, and in the description %t", operation, name, ok, described[operation])
			}
			delete(described, operation)
			if r.want != skipped && !x.crossRoute(t, route, r) && !x.crossRoute(t, route, further[name]) {
				t.Errorf("%s: no request of %s in reaches has what the path names", operation, name)
			}
		}
	}
	delete(described, "PATCH /v1/uploads/{}") // of AppendUpload, whose request is bytes and headers
	x.cross(t, sent{
		method: "PATCH", path: "/v1/uploads/{upload}", body: "x",
		header: []string{"Content-Type", "application/offset+octet-stream", "Upload-Offset", "0"},
	}, notFound)
	for operation := range described {
		if _, known := otherPaths[strings.TrimPrefix(operation, "GET ")]; known {
			continue
		}
		t.Errorf("%s is in the description, and no RPC is behind it that the test knows", operation)
	}
	if after := x.state(); after != before {
		t.Errorf("the objects were changed:\n%s\nwere\n%s", after, before)
	}
}

// crossRoute sends the requests of an RPC to one of its paths, and reports whether there was one that could be sent.
func (x *crossingHTTP) crossRoute(t *testing.T, route rest.Route, r reach) (sentOne bool) {
	t.Helper()
	for _, request := range r.requests {
		s, ok := requestOf(t, route, request)
		if !ok {
			continue
		}
		sentOne = true
		x.cross(t, s, r.want)
		s.header = slices.Clone(events)
		x.cross(t, s, r.want)
		if route.Input != nil && route.Input.Fields().ByName("idempotency_key") != nil {
			s.header = append(s.header, "Last-Event-ID", "3", "Idempotency-Key", repeated)
			x.cross(t, s, r.want)
		}
	}
	return sentOne
}
