package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/fault"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// served is an executor over HTTP.
func served(t *testing.T, handler http.HandlerFunc) *sessionsv1.Executor {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return &sessionsv1.Executor{Kind: "http", Url: s.URL, Headers: map[string]string{"Authorization": "Bearer ${env:WINDLASS_EXECUTOR_TOKEN}"}}
}

func TestARoundOverHTTP(t *testing.T) {
	t.Setenv("WINDLASS_EXECUTOR_TOKEN", "the-token")
	for name, row := range map[string]struct{ media, body string }{
		"events": {
			"text/event-stream; charset=utf-8",
			": hello\n\nevent: x\ndata: {\"type\":\"text.delta\",\ndata: \"text\":\"hi\"}\r\n\r\nid: 7\ndata:{\"type\":\"end\"}\n\n",
		},
		"lines": {"application/x-ndjson", "{\"type\":\"text.delta\",\"text\":\"hi\"}\n\n{\"type\":\"end\"}"},
	} {
		t.Run(name, func(t *testing.T) {
			x := served(t, func(w http.ResponseWriter, r *http.Request) {
				var inv struct {
					Schema string
					Mode   string
				}
				if err := json.NewDecoder(r.Body).Decode(&inv); err != nil || inv.Schema != "windlass.executor/v1" || inv.Mode != "start" {
					t.Errorf("invocation = %+v, %v", inv, err)
				}
				if r.Header.Get("Authorization") != "Bearer the-token" || r.Header.Get("Idempotency-Key") != "trn_1/infer-1" {
					t.Errorf("headers = %v", r.Header)
				}
				w.Header().Set("Content-Type", row.media)
				fmt.Fprint(w, row.body)
			})
			got := &heard{}
			if a, err := newHost(t).Run(t.Context(), round(x), got.sink()); err != nil || a.Text != "hi" || got.text != "hi" {
				t.Errorf("got %v, %v", a, err)
			}
		})
	}
}

func TestAnswersOverHTTPThatAreNone(t *testing.T) {
	t.Setenv("WINDLASS_EXECUTOR_TOKEN", "the-token")
	for name, row := range map[string]struct {
		answer func(w http.ResponseWriter)
		code   string
		want   string
		rest   time.Duration
	}{
		"too many": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}, code: "executor_unavailable", want: "429: slow down", rest: 7 * time.Second},
		"broken": {
			answer: func(w http.ResponseWriter) { http.Error(w, "oops", http.StatusInternalServerError) }, code: "executor_unavailable",
			want: "500: oops",
		},
		"refused": {
			answer: func(w http.ResponseWriter) { http.Error(w, "not you: the-token", http.StatusForbidden) }, code: "executor_failed",
			want: "403: not you: Bearer",
		},
		"a page": {answer: func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") }, code: "executor_failed", want: "media type"},
		"elsewhere": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusFound)
		}, code: "executor_failed", want: "redirect"},
		"cut off": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"type\":\"text.delta\",\"text\":\"hi\"}\n\n")
		}, code: "executor_unavailable", want: "before its end"},
		"cut inside an event": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"type\":\"end\"}\n")
		}, code: "executor_unavailable", want: "before its end"},
		"a long event": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000))
		}, code: "executor_failed", want: "an event of the executor is longer than"},
		"a long line": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			fmt.Fprint(w, strings.Repeat("x", 2_000_000))
		}, code: "executor_failed", want: "a line of the executor's answer is longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			x := served(t, func(w http.ResponseWriter, _ *http.Request) { row.answer(w) })
			_, err := newHost(t).Run(t.Context(), round(x), (&heard{}).sink())
			if fault.CodeOf(err) != row.code || !strings.Contains(strings.ReplaceAll(err.Error(), "***", "Bearer"), row.want) ||
				strings.Contains(err.Error(), "the-token") {
				t.Errorf("got %v", err)
			}
			if f := fault.From(err); f.Retry != row.rest {
				t.Errorf("to be tried after %v", f.Retry)
			}
		})
	}
	x := &sessionsv1.Executor{Kind: "http", Url: "http://169.254.169.254/"}
	if _, err := newHost(t).Run(t.Context(), round(x), (&heard{}).sink()); fault.CodeOf(err) != "executor_failed" ||
		!strings.Contains(err.Error(), "egress denied") {
		t.Errorf("a forbidden address: %v", err)
	}
}

func TestACancelReachesAnExecutorOverHTTP(t *testing.T) {
	t.Setenv("WINDLASS_EXECUTOR_TOKEN", "the-token")
	gone := make(chan struct{})
	x := served(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"type\":\"text.delta\",\"text\":\"so far\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	got := &heard{piece: make(chan string, 1)}
	go func() { <-got.piece; cancel() }()
	if _, err := newHost(t).Run(ctx, round(x), got.sink()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-gone
}

// remote is an executor over gRPC.
type remote struct {
	executorv1.UnimplementedExecutorServiceServer
	run func(grpc.BidiStreamingServer[executorv1.RunRequest, executorv1.RunResponse]) error
}

func (r remote) Run(s grpc.BidiStreamingServer[executorv1.RunRequest, executorv1.RunResponse]) error {
	return r.run(s)
}

func dialled(t *testing.T, run func(grpc.BidiStreamingServer[executorv1.RunRequest, executorv1.RunResponse]) error) *sessionsv1.Executor {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	executorv1.RegisterExecutorServiceServer(s, remote{run: run})
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return &sessionsv1.Executor{
		Kind: "grpc", Url: "grpc://" + l.Addr().String(),
		Headers: map[string]string{"X-Token": "${env:WINDLASS_EXECUTOR_TOKEN}"},
	}
}

func TestRoundsOverGRPC(t *testing.T) {
	t.Setenv("WINDLASS_EXECUTOR_TOKEN", "the-token")
	runs := 0
	x := dialled(t, func(s grpc.BidiStreamingServer[executorv1.RunRequest, executorv1.RunResponse]) error {
		runs++
		if md, _ := metadata.FromIncomingContext(s.Context()); len(md.Get("x-token")) != 1 || md.Get("x-token")[0] != "the-token" {
			t.Errorf("metadata = %v", md)
		}
		first, err := s.Recv()
		if err != nil || first.GetInvocation().GetInput()[0].GetContent()[0].GetText() != "hello" {
			t.Errorf("first = %v, %v", first, err)
		}
		for _, e := range []*executorv1.RunResponse{
			{Event: &executorv1.RunResponse_Session{Session: &executorv1.Session{ExecutorSessionId: "mine"}}},
			{Event: &executorv1.RunResponse_ToolCall{ToolCall: &turnv1.ToolCall{CallId: "a", Tool: "t__x", ArgumentsJson: `{"n":1}`}}},
			{Event: &executorv1.RunResponse_End{End: &executorv1.End{Stay: true}}},
		} {
			if err := s.Send(e); err != nil {
				return err
			}
		}
		result, err := s.Recv()
		if err != nil {
			return err
		}
		if _, err := s.Recv(); err != nil { // continue
			return err
		}
		return s.Send(&executorv1.RunResponse{Event: &executorv1.RunResponse_Answer{Answer: "got " +
			result.GetToolResult().GetContent()[0].GetText()}})
	})
	h, r, got := newHost(t), round(x), &heard{}
	a, err := h.Run(t.Context(), r, got.sink())
	if err != nil || len(a.Calls) != 1 || got.sessions[0] != "mine" {
		t.Fatalf("got %v, %v", a, err)
	}
	if a, err = h.Run(t.Context(), after(r, a), got.sink()); err != nil || a.Text != "got 42" || runs != 1 {
		t.Errorf("got %v, %v after %d runs", a, err, runs)
	}
}

func TestErrorsOverGRPC(t *testing.T) {
	for code, want := range map[codes.Code]string{
		codes.Unavailable: "executor_unavailable", codes.Internal: "executor_unavailable", codes.InvalidArgument: "executor_failed",
		codes.Unauthenticated: "executor_failed",
	} {
		x := dialled(t, func(grpc.BidiStreamingServer[executorv1.RunRequest, executorv1.RunResponse]) error {
			return status.Error(code, "no")
		})
		x.Headers = nil
		if _, err := newHost(t).Run(t.Context(), round(x), (&heard{}).sink()); fault.CodeOf(err) != want {
			t.Errorf("%v: got %v", code, err)
		}
	}
	for url, want := range map[string]string{"grpc://127.0.0.1:1": "executor_unavailable", "grpc://169.254.169.254:80": "executor_failed"} {
		if _, err := newHost(t).Run(t.Context(), round(&sessionsv1.Executor{Kind: "grpc", Url: url}),
			(&heard{}).sink()); fault.CodeOf(err) != want {
			t.Errorf("%s: got %v", url, err)
		}
	}
}
