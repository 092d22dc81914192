package client

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func newServer(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(Config{Server: strings.TrimPrefix(srv.URL, "http://") + "/", UserAgent: "windlass/test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "ftp://x", "http://", "http://x?y=1", "://"} {
		if _, err := New(Config{Server: bad}); err == nil {
			t.Errorf("New(%q) takes it", bad)
		}
	}
}

// TestInvoke: the answer is returned as the server wrote it, with fields that are new.
func TestInvoke(t *testing.T) {
	const answer = `{"id":"a", "strategy":"react","new_field":9007199254740993}`
	c := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method != http.MethodPost || r.URL.EscapedPath() != "/v1/turns/a%2Fb:steer" || string(body) != `{"input":"x"}` ||
			r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Idempotency-Key") != "k" || r.UserAgent() != "windlass/test" {
			t.Errorf("%s %s %q %v", r.Method, r.URL, body, r.Header)
		}
		_, _ = w.Write([]byte(answer))
	})
	var a sessionsv1.Agent
	raw, err := c.Invoke(t.Context(), &sessionsv1.SteerTurnRequest{TurnId: "a/b", Input: "x", IdempotencyKey: "k"}, &a)
	if err != nil || a.GetId() != "a" || a.GetStrategy().String() != "STRATEGY_REACT" || string(raw) != answer {
		t.Errorf("Invoke = %s, %v, %v", raw, &a, err)
	}
}

func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   string
		code   codes.Code
		reason string
		text   string
	}{
		{"not found", 404, `{"code":"not_found","detail":"turn \"x\" does not exist"}`, codes.NotFound, "not_found", `turn "x" does not exist`},
		{
			"fields", 400, `{"code":"invalid_argument","detail":"wrong","todo":"Fix it.","fields":[{"field":"input","message":"is required"}]}`,
			codes.InvalidArgument, "invalid_argument", "wrong",
		},
		{"denied", 403, `{"code":"permission_denied","detail":"no"}`, codes.PermissionDenied, "permission_denied", "no"},
		{"a newer code", 409, `{"code":"something_new","title":"Conflict"}`, codes.FailedPrecondition, "unspecified", "Conflict"},
		{"no problem at all", 502, `<html>`, codes.Unavailable, "unspecified", "502 Bad Gateway"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			})
			_, err := c.Invoke(t.Context(), &policyv1.GetCallerRequest{}, nil)
			e := fault.As(err)
			if e == nil || e.Code != tc.code || fault.CodeName(e.Reason) != tc.reason || !strings.Contains(e.Text(), tc.text) {
				t.Errorf("Invoke = %#v, want %s %s %q", e, tc.code, tc.reason, tc.text)
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c, err := New(Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Invoke(t.Context(), &policyv1.GetCallerRequest{}, nil)
	if e := fault.As(err); e == nil || e.Code != codes.Unavailable || !strings.Contains(e.Todo, "windlass up") {
		t.Errorf("Invoke = %v", err)
	}
}

func TestForeignAnswer(t *testing.T) {
	c := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	_, err := c.Invoke(t.Context(), &policyv1.GetCallerRequest{}, &policyv1.Caller{})
	if err == nil || !strings.Contains(err.Error(), "Windlass server") {
		t.Errorf("Invoke = %v", err)
	}
}

// TestOtherServers: an address of something else is named, and what to do about it.
func TestOtherServers(t *testing.T) {
	page := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>Temporal</title>"))
	})
	_, err := page.Invoke(t.Context(), &policyv1.GetCallerRequest{}, &policyv1.Caller{})
	if err == nil || !strings.Contains(err.Error(), "web page") || !strings.Contains(err.Error(), "--server") {
		t.Errorf("a web page: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // ends the server
	server := grpc.NewServer()
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	c, err := New(Config{Server: "http://" + l.Addr().String(), UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	_, err = c.Invoke(t.Context(), &policyv1.GetCallerRequest{}, &sessionsv1.Agent{})
	if err == nil || !strings.Contains(fault.From(err).Todo, "gRPC port") {
		t.Errorf("a gRPC port: %v", err)
	}
}

func TestListPages(t *testing.T) {
	pages := map[string]string{
		"":  `{"agents":[{"id":"a"},{"id":"b"}],"next_page_token":"t"}`,
		"t": `{"agents":[{"id":"c"}],"next_page_token":""}`,
	}
	var sizes []string
	c := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		sizes = append(sizes, r.URL.Query().Get("page_size"))
		_, _ = w.Write([]byte(pages[r.URL.Query().Get("page_token")]))
	})
	items, more, err := c.List(t.Context(), &sessionsv1.ListAgentsRequest{}, nil, 0)
	if err != nil || len(items) != 3 || more {
		t.Errorf("List = %s, %t, %v", items, more, err)
	}
	items, more, err = c.List(t.Context(), &sessionsv1.ListAgentsRequest{}, nil, 2)
	if err != nil || len(items) != 2 || !more || sizes[len(sizes)-1] != "2" {
		t.Errorf("List of 2 = %s, %t, %v; sizes %v", items, more, err, sizes)
	}
}
