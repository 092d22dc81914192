package gateway_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
)

// Every answer has an id that finds its request: the caller's own, or a new one.
func TestRequestIDs(t *testing.T) {
	s := serve(t, nil)
	seen := map[string]bool{}
	for _, request := range [][2]string{
		{"GET", "/v1/agents/support"},
		{"GET", "/v1/nothing"},
		{"POST", "/v1/agents"},
		{"GET", "/"},
		{"GET", "/nothing"},
		{"GET", "/healthz"},
		{"DELETE", "/openapi.json"},
		{"GET", "/v1/turns/trn_1/events"},
	} {
		own := s.do(request[0], request[1], "", "X-Request-Id", "of-the-caller:1")
		if got := own.header.Get("X-Request-Id"); got != "of-the-caller:1" {
			t.Errorf("%v echoes %q", request, got)
		}
		a := s.do(request[0], request[1], "", "X-Request-Id", "two words\t")
		id := a.header.Get("X-Request-Id")
		if !strings.HasPrefix(id, "req_") || seen[id] {
			t.Errorf("%v has the id %q", request, id)
		}
		seen[id] = true
		if strings.HasPrefix(a.header.Get("Content-Type"), "application/problem") && a.json(t)["request_id"] != id {
			t.Errorf("%v: the problem is %s", request, a.body)
		}
	}
	s.do("GET", "/v1/agents/support", "", "X-Request-Id", "seen-by-roles")
	if got := s.up.metadata.Get("x-request-id"); len(got) != 1 || got[0] != "seen-by-roles" {
		t.Errorf("roles are told %q", got)
	}
	s.up.fail(fault.Internal(nil))
	if a := s.do("GET", "/v1/agents/support", ""); a.status != 500 || a.json(t)["request_id"] != a.header.Get("X-Request-Id") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
