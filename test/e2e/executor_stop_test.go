package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// endless is an executor that says a little, tells what it used, and then nothing until its caller hangs up.
type endless struct {
	executorv1.UnimplementedExecutorServiceServer
	gone chan time.Time
}

func (e endless) Run(stream grpc.BidiStreamingServer[executorv1.RunRequest, executorv1.RunResponse]) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	for _, m := range []*executorv1.RunResponse{
		{Event: &executorv1.RunResponse_Usage{Usage: &turnv1.Usage{InputTokens: 70, OutputTokens: 7, CostMicros: 1200}}},
		{Event: &executorv1.RunResponse_TextDelta{TextDelta: "so far "}},
	} {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	e.gone <- time.Now()
	return stream.Context().Err()
}

func (e endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	frame(w, harness.JSON{"type": "usage", "input_tokens": 70, "output_tokens": 7, "cost_micros": 1200})
	frame(w, harness.JSON{"type": "text.delta", "text": "so far "})
	<-r.Context().Done()
	e.gone <- time.Now()
}

func frame(w http.ResponseWriter, event harness.JSON) {
	raw, _ := json.Marshal(event) // maps of plain values
	fmt.Fprintf(w, "data: %s\n\n", raw)
	w.(http.Flusher).Flush()
}

// TestCancelReachesTheExecutor: over each transport the executor is hung up on within two seconds, and what it said and used is kept.
func TestCancelReachesTheExecutor(t *testing.T) {
	t.Parallel()
	c := client(t)
	for kind, serve := range map[string]func(*testing.T, endless) string{
		"http": func(t *testing.T, e endless) string {
			server := httptest.NewServer(e)
			t.Cleanup(server.Close)
			return server.URL
		},
		"grpc": func(t *testing.T, e endless) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer()
			executorv1.RegisterExecutorServiceServer(server, e)
			go func() { _ = server.Serve(l) }() // until it is stopped
			t.Cleanup(server.Stop)
			return "grpc://" + l.Addr().String()
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := endless{gone: make(chan time.Time, 8)}
			abacus(c, "endless-"+kind, harness.JSON{"kind": kind, "url": serve(t, e)})
			turn := c.Turn(c.Session("endless-"+kind), "go on for ever")
			w := c.Watch("/v1/turns/" + turn + "/events")
			w.Until("the first words", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "so far") })
			from := time.Now()
			c.Must("POST", "/v1/turns/"+turn+":cancel", harness.JSON{"reason": "enough"})
			end := c.Wait(turn)
			if took := (<-e.gone).Sub(from); took > maxReach {
				t.Errorf("the executor was let go after %v", took)
			}
			if end.Str("status") != "cancelled" || end.Str("output") != "so far " {
				t.Errorf("turn = %v", end)
			}
			if fieldOf(end, "usage", "input_tokens") != "70" || fieldOf(end, "usage", "output_tokens") != "7" ||
				fieldOf(end, "usage", "cost_micros") != "1200" {
				t.Errorf("usage = %v", end["usage"])
			}
			harness.CheckStream(t, w.End())
			if len(e.gone) > 0 {
				t.Error("it was begun again")
			}
		})
	}
}

// TestABudgetStopsAnExecutor: what an executor tells of tokens and cost counts in the turn, and it gets no further round when a
// limit is passed.
func TestABudgetStopsAnExecutor(t *testing.T) {
	t.Parallel()
	c := client(t)
	for name, row := range map[string]struct {
		limits harness.JSON
		rounds int
		stop   string
		limit  string
	}{
		"money":  {harness.JSON{"max_cost": "0.25"}, 3, "budget", "max_cost"},
		"tokens": {harness.JSON{"max_tokens": 20_000}, 4, "max_tokens", "max_tokens"},
		"calls":  {harness.JSON{"max_tool_calls": 2}, 3, "budget", "max_tool_calls"},
		"steps":  {harness.JSON{"max_steps": 2}, 2, "max_steps", "max_steps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rounds atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n := rounds.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				frame(w, harness.JSON{"type": "text.delta", "text": fmt.Sprintf("round %d", n)})
				frame(w, harness.JSON{"type": "usage", "input_tokens": 5000, "output_tokens": 1000, "cost_micros": 100_000})
				frame(w, harness.JSON{
					"type": "tool_call", "name": "calculator__evaluate",
					"arguments": harness.JSON{"expression": fmt.Sprintf("%d+1", n)},
				})
				frame(w, harness.JSON{"type": "end"})
			}))
			t.Cleanup(server.Close)
			abacus(c, "spends-"+name, harness.JSON{"kind": "http", "url": server.URL})
			end := c.Wait(send(c, c.Session("spends-"+name), "spend", row.limits))
			if end.Str("status") != "completed" || end.Str("stop_reason") != row.stop || fieldOf(end, "limit_reached", "limit") != row.limit {
				t.Errorf("turn = %v", end)
			}
			if int(rounds.Load()) != row.rounds || end.Str("output") != fmt.Sprintf("round %d", row.rounds) {
				t.Errorf("%d rounds, want %d: %v", rounds.Load(), row.rounds, end)
			}
			if fieldOf(end, "usage", "cost_micros") != fmt.Sprint(100_000*row.rounds) ||
				fieldOf(end, "usage", "input_tokens") != fmt.Sprint(5000*row.rounds) {
				t.Errorf("usage = %v", end["usage"])
			}
		})
	}
}

// TestABudgetStopsAnExecutorInItsRound: an executor that has passed a limit of the turn is broken off, and what it said stays;
// one that ends by itself right then has answered.
func TestABudgetStopsAnExecutorInItsRound(t *testing.T) {
	t.Parallel()
	c := client(t)
	gone := make(chan time.Time, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{"this ", "is ", "dear "} {
			frame(w, harness.JSON{"type": "text.delta", "text": piece})
			frame(w, harness.JSON{"type": "usage", "input_tokens": 900, "output_tokens": 100, "cost_micros": 100_000})
		}
		if r.URL.Path == "/ends" {
			frame(w, harness.JSON{"type": "end"})
			return
		}
		<-r.Context().Done()
		gone <- time.Now()
	}))
	t.Cleanup(server.Close)
	abacus(c, "runaway", harness.JSON{"kind": "http", "url": server.URL + "/runs"})
	abacus(c, "in-time", harness.JSON{"kind": "http", "url": server.URL + "/ends"})
	for limit, value := range map[string]any{"max_cost": "0.25", "max_tokens": 2500} {
		turn := send(c, c.Session("runaway"), "spend", harness.JSON{limit: value})
		w := c.Watch("/v1/turns/" + turn + "/events")
		end := c.Wait(turn)
		<-gone
		if end.Str("status") != "completed" || end.Str("output") != "this is dear " || fieldOf(end, "limit_reached", "limit") != limit ||
			fieldOf(end, "usage", "cost_micros") != "300000" {
			t.Errorf("%s: %v", limit, end)
		}
		events := w.End()
		harness.CheckStream(t, events)
		if types := strings.Join(typesOf(events), " "); strings.Count(types, "budget.exhausted") != 1 || len(gone) > 0 {
			t.Errorf("%s: %s", limit, types)
		}
	}
	if end := c.Wait(send(c, c.Session("in-time"), "spend", harness.JSON{"max_cost": "0.25"})); end.Str("stop_reason") != "end" ||
		end["limit_reached"] != nil {
		t.Errorf("one that ends: %v", end)
	}
}
