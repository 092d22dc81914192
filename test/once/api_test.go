package once

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/graph-gophers/graphql-go"
	"github.com/graph-gophers/graphql-go/relay"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/testpoll"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// apiDocument describes an API with one operation of each class.
const apiDocument = `{"openapi":"3.1.0","info":{"title":"scripted","version":"1"},"paths":{
	"/read":{"get":{"operationId":"read","parameters":[{"$ref":"#/components/parameters/case"}]}},
	"/idempotent":{"put":{"operationId":"idempotent","parameters":[{"$ref":"#/components/parameters/case"},{"$ref":"#/components/parameters/key"}],
		"requestBody":{"content":{"application/json":{"schema":{}}}}}},
	"/once":{"post":{"operationId":"once","parameters":[{"$ref":"#/components/parameters/case"},{"$ref":"#/components/parameters/key"}],
		"requestBody":{"content":{"application/json":{"schema":{}}}}}}},
	"components":{"parameters":{"case":{"name":"case","in":"query","schema":{"type":"integer"}},
		"key":{"name":"Idempotency-Key","in":"header","schema":{"type":"string"}}}}}`

// apiCase is what an API does with one call, and what must become of the call.
type apiCase struct {
	tool   string
	status int
	body   string
	unread bool
	// described means that the protocol says what an answer is.
	described bool

	mu   sync.Mutex
	acts int
	keys map[string]bool
}

// graphQLBodies are answers of GraphQL APIs.
var graphQLBodies = map[string]string{
	"data":    `{"data":{"read":"well","idempotent":"well","once":"well"}}`,
	"errors":  `{"errors":[{"message":"no"}],"data":null}`,
	"partial": `{"errors":[{"message":"no"}],"data":{"read":"well","idempotent":"well","once":"well"}}`,
}

// graphQLCases makes the table of a GraphQL API: the statuses that such APIs and the proxies before them answer with.
func graphQLCases() (out []*apiCase) {
	for _, tool := range []string{read, idempotent, once} {
		for _, status := range []int{200, 202, 307, 400, 401, 408, 422, 425, 429, 500, 501, 502, 503, 504} {
			for _, body := range []string{"data", "errors", "partial", "json", "text", "empty", "short", "cut"} {
				if status/100 != 3 || body != "short" && body != "cut" { // the body of those is not read
					out = append(out, &apiCase{tool: tool, status: status, body: body, described: true})
				}
			}
		}
		for range 5 { // over connections that were used before
			out = append(out, &apiCase{tool: tool, status: 200, body: "closed"})
		}
	}
	return out
}

// apiCases makes the table: every status, with the bodies and breaks that can come with it.
func apiCases() (out []*apiCase) {
	for _, tool := range []string{read, idempotent, once} {
		for _, status := range []int{
			200, 201, 202, 204, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 408, 409, 410, 413, 418, 421, 422, 425, 428, 429, 431, 451,
			500, 501, 502, 503, 504, 507, 520, 599,
		} {
			for _, body := range []string{"json", "text", "empty", "broken json"} {
				out = append(out, &apiCase{tool: tool, status: status, body: body})
			}
			out = append(out, &apiCase{tool: tool, status: status, body: "json", unread: true})
			if status != http.StatusNoContent && status/100 != 3 { // the body of those is not read
				out = append(out, &apiCase{tool: tool, status: status, body: "short"}, &apiCase{tool: tool, status: status, body: "cut"})
			}
		}
		for range 5 { // over connections that were used before
			out = append(out, &apiCase{tool: tool, status: 200, body: "closed"})
		}
		out = append(out, &apiCase{tool: tool, status: 200, body: "closed", unread: true})
	}
	return out
}

func (c *apiCase) serve(w http.ResponseWriter, r *http.Request) {
	if !c.unread {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	c.mu.Lock()
	c.acts++
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		if c.keys == nil {
			c.keys = map[string]bool{}
		}
		c.keys[key] = true
	}
	c.mu.Unlock()
	if c.body == "closed" {
		panic(http.ErrAbortHandler)
	}
	if c.status/100 == 3 {
		w.Header().Set("Location", "/elsewhere")
	}
	text, media := "", ""
	switch c.body {
	case "json", "cut":
		text, media = `{"ok":true}`, "application/json"
	case "broken json":
		text, media = `{"ok":`, "application/json"
	case "text":
		text, media = "well", "text/plain"
	case "short": // the connection ends before the body does
		text = `{"ok":true}`
		w.Header().Set("Content-Length", strconv.Itoa(len(text)+10))
	}
	if body, ok := graphQLBodies[c.body]; ok {
		text, media = body, "application/json"
	}
	if media != "" {
		w.Header().Set("Content-Type", media)
	}
	w.WriteHeader(c.status)
	_, _ = io.WriteString(w, text)
	if c.body == "cut" {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// want returns how often the API must have been called, and what the caller is told.
func (c *apiCase) want() (acts int, answer string) {
	broken := c.body == "closed" || c.body == "short" || c.body == "cut"
	undecided := c.status == 408 || c.status >= 502 && c.status <= 504 ||
		c.described && c.status < 300 && graphQLBodies[c.body] == "" // something else answered
	switch {
	case c.tool == once && (broken || undecided || c.status/100 == 3 || c.status >= 500 && c.status != 501):
		return 1, "unknown"
	case c.tool != once && (broken || undecided || c.status == 425 || c.status == 429):
		return 3, "no answer"
	case graphQLBodies[c.body] != "" && c.status/100 != 3 && c.status < 500: // the body says more than the status
		if c.body == "errors" {
			return 1, "error"
		}
		return 1, "result"
	case c.status < 300:
		return 1, "result"
	default:
		return 1, "error"
	}
}

// TestCallsOfAnAPI is the table of calls over HTTP for both ways to describe an API.
func TestCallsOfAnAPI(t *testing.T) {
	path := func(name, method string, body map[string]any) *registryv1.Endpoint {
		e := &registryv1.Endpoint{
			Name: name, Method: method, Path: "/" + name, Query: map[string]string{"case": "${args.case}"},
			InputSchema: object(t, map[string]any{"type": "object", "properties": map[string]any{"case": true, "body": true}}),
		}
		if body != nil {
			e.Body, e.KeyHeader = object(t, body), "Idempotency-Key"
		}
		return e
	}
	body := map[string]any{"payment": "${args.body}"}
	for name, src := range map[string]*registryv1.Source{
		"document": {Kind: "openapi", Document: apiDocument},
		"endpoints": {Kind: "http", Endpoints: []*registryv1.Endpoint{
			path(read, "GET", nil), path(idempotent, "PUT", body), path(once, "POST", body),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			callAPI(t, src)
		})
	}
}

func object(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func callAPI(t *testing.T, src *registryv1.Source) {
	t.Helper()
	m, table := newMesh(t), apiCases()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("case"))
		if err != nil || n >= len(table) {
			http.Error(w, "no case", http.StatusNotFound)
			return
		}
		table[n].serve(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	src.Name, src.BaseUrl = "api", s.URL
	m.source(src)
	m.callTable(t, s, table, true)
}

// graphQLSchema is what a GraphQL API describes itself with.
const graphQLSchema = `type Query { read(case: Int!): String } type Mutation { idempotent(case: Int!): String once(case: Int!): String }`

// fields has the fields of the schema. Calls do not reach it.
type fields struct{}

func (*fields) Read(struct{ Case int32 }) *string       { return nil }
func (*fields) Idempotent(struct{ Case int32 }) *string { return nil }
func (*fields) Once(struct{ Case int32 }) *string       { return nil }

// TestCallsOfAGraphQLAPI is the table for an API that describes itself, whose mutations are ONCE unless an operator says otherwise.
func TestCallsOfAGraphQLAPI(t *testing.T) {
	t.Parallel()
	m, table := newMesh(t), graphQLCases()
	schema := &relay.Handler{Schema: graphql.MustParseSchema(graphQLSchema, &fields{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var asked struct{ Variables struct{ Case *int } }
		switch {
		case err != nil || json.Unmarshal(body, &asked) != nil:
			http.Error(w, "no GraphQL", http.StatusBadRequest)
		case asked.Variables.Case == nil:
			r.Body = io.NopCloser(bytes.NewReader(body))
			schema.ServeHTTP(w, r)
		default:
			table[*asked.Variables.Case].serve(w, r)
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	m.source(&registryv1.Source{
		Name: "api", Kind: "graphql", Url: s.URL, Effects: map[string]turnv1.EffectClass{idempotent: turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT},
	})
	m.callTable(t, s, table, false)
}

// callTable makes the calls of a table, and those of an API that is away. keyed means that calls with effects carry their keys.
func (m *mesh) callTable(t *testing.T, s *httptest.Server, table []*apiCase, keyed bool) {
	t.Helper()
	each(len(table), 8, func(i int) {
		c := table[i]
		arguments := fmt.Sprintf(`{"case":%d,"body":{"amount":1}}`, i)
		if c.tool == read || !keyed {
			arguments = fmt.Sprintf(`{"case":%d}`, i)
		}
		got := m.callWith("api", c.tool, key(i), arguments)
		acts, answer := c.want()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.acts != acts || got.String() != answer {
			t.Errorf("%s, status %d, %s, unread %v: acted %d times and told %s, want %d and %s: %q", c.tool, c.status, c.body, c.unread,
				c.acts, got, acts, answer, got.text)
		}
		if !keyed {
			return
		}
		if c.tool == read && len(c.keys) > 0 || c.tool != read && (len(c.keys) != 1 || !c.keys[key(i)]) {
			t.Errorf("%s, status %d, %s: called under the keys %v, want %s", c.tool, c.status, c.body, c.keys, key(i))
		}
	})
	t.Logf("%d situations", len(table))
	s.CloseClientConnections()
	s.Close()
	// A call on a connection whose end has not been noticed may have been made, for all that its caller knows.
	tries := 0
	testpoll.Until(t, "the mesh notices that its connections are closed", func() bool {
		tries++
		return m.callWith("api", read, fmt.Sprintf("away %d", tries), `{"case":0}`).String() == "not called"
	})
	for _, tool := range []string{read, idempotent, once} {
		if got := m.callWith("api", tool, "away "+tool, `{"case":0}`); got.String() != "not called" {
			t.Errorf("%s of an API that is away: told %s", tool, got)
		}
	}
}
