package gateway_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestEveryPostKeepsOrRefusesAKey walks all routes, so that a new RPC cannot ignore the header.
func TestEveryPostKeepsOrRefusesAKey(t *testing.T) {
	s := serve(t, nil)
	routes, err := rest.Routes()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		if r.Method != http.MethodPost {
			continue
		}
		keeps := r.Input.Fields().ByName("idempotency_key") != nil
		a := s.do("POST", regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(r.Pattern, "x"), "{}", "Idempotency-Key", "k")
		refused := a.status == 400 && strings.Contains(string(a.body), "Idempotency-Key")
		if refused == keeps {
			t.Errorf("POST %s: keeps keys: %t, answer %d %s", r.Pattern, keeps, a.status, a.body)
		}
	}
}

func TestIfMatch(t *testing.T) {
	s := serve(t, nil)
	if a := s.do("PATCH", "/v1/agents/support", `{"model":"a/b"}`, "If-Match", `"7"`); a.status != 200 || a.header.Get("ETag") != `"7"` {
		t.Errorf("got %d %v %s", a.status, a.header, a.body)
	}
	got, _ := s.up.request().(*sessionsv1.UpdateAgentRequest)
	if got.GetAgent().GetRevision() != 7 || strings.Contains(got.GetUpdateMask().String(), "revision") {
		t.Errorf("the request is %v", got)
	}
	for _, wrong := range []string{"7", `W/"7"`, `"x"`, `"0"`, `""`} {
		if a := s.do("PATCH", "/v1/agents/support", `{"model":"a/b"}`, "If-Match", wrong); a.status != 400 {
			t.Errorf("If-Match %s: %d", wrong, a.status)
		}
	}
	if a := s.do("DELETE", "/v1/agents/support", "", "If-Match", `"7"`); a.status != 400 {
		t.Errorf("a DELETE ignores If-Match: %d", a.status)
	}
	s.up.fail(fault.Conflict("changed"))
	if a := s.do("PATCH", "/v1/agents/support", `{"model":"a/b"}`, "If-Match", `"7"`); a.status != 412 || a.json(t)["code"] != "conflict" {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestIfNoneMatch(t *testing.T) {
	s := serve(t, nil)
	for known, want := range map[string]int{
		"": 200, `"7"`: 304, `W/"7"`: 304, `"6", "7"`: 304, "*": 304, `"6"`: 200, "7": 200, `"77"`: 200, `"6", W/"8"`: 200,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			a := s.do(method, "/v1/agents/revised", "", "If-None-Match", known)
			if a.status != want || a.header.Get("ETag") != `"7"` || (len(a.body) > 0) != (method == "GET" && want == 200) {
				t.Errorf("%s with %s: %d %v %s", method, known, a.status, a.header, a.body)
			}
		}
	}
	if a := s.do("GET", "/v1/agents/support", "", "If-None-Match", "*"); a.status != 200 {
		t.Errorf("a resource without a revision: %d", a.status)
	}
	s.up.fail(fault.NotFound("gone"))
	if a := s.do("GET", "/v1/agents/revised", "", "If-None-Match", `"7"`); a.status != 404 {
		t.Errorf("an error: %d", a.status)
	}
}

func TestABodyMayNotContradictThePath(t *testing.T) {
	s := serve(t, nil)
	for body, want := range map[string]int{
		`{"id":"other","model":"a/b"}`: 400, `{"id":"support","model":"a/b"}`: 200, `{"model":"a/b"}`: 200, `{"id":"","model":"a/b"}`: 200,
	} {
		if a := s.do("PATCH", "/v1/agents/support", body); a.status != want {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if a := s.do("POST", "/v1/sessions/ses_1/turns", `{"input":"x","sessionId":"ses_2"}`); a.status != 400 {
		t.Errorf("another session: %d %s", a.status, a.body)
	}
	if a := s.do("PATCH", "/v1/sources/orders", `{"id":"src_1","name":"orders"}`); a.status != 200 {
		t.Errorf("a source by name: %d %s", a.status, a.body)
	}
}

func TestHead(t *testing.T) {
	s := serve(t, nil)
	if a := s.do("HEAD", "/v1/agents/support", ""); a.status != 200 || len(a.body) != 0 {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if a := s.do("HEAD", "/v1/turns/trn_1/events", ""); a.status != 405 {
		t.Errorf("a stream: %d", a.status)
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGzip(t *testing.T) {
	s := serve(t, nil)
	a := s.do("POST", "/v1/agents", zipped(t, `{"id":"support"}`), "Content-Encoding", "gzip")
	if a.status != 201 {
		t.Errorf("a compressed body: %d %s", a.status, a.body)
	}
	bomb := zipped(t, `{"id":"`+strings.Repeat("x", 64<<20)+`"}`)
	if a := s.do("POST", "/v1/agents", bomb, "Content-Encoding", "gzip"); a.status != 413 {
		t.Errorf("a small body of a lot of text: %d", a.status)
	}
	if a := s.do("POST", "/v1/agents", "{}", "Content-Encoding", "br"); a.status != 415 {
		t.Errorf("another encoding: %d", a.status)
	}
	if a := s.do("GET", "/openapi.json", "", "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("the answer is not compressed: %v", a.header)
	}
}
