package mcpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// connections has the addresses from which tool calls come. It ends a response when the client has the answer.
type connections struct {
	script

	answered chan struct{}
	served   chan string
	idle     chan string // connections that have served a request
}

func (c *connections) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	before := c.calls.Load()
	c.script.ServeHTTP(w, r)
	if c.calls.Load() > before {
		<-c.answered
		c.served <- r.RemoteAddr
	}
}

// TestCallsShareAConnection: however a server answers, the next call does not open a connection.
func TestCallsShareAConnection(t *testing.T) {
	answer := func(id json.RawMessage, text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, text)
	}
	for name, call := range map[string]func(http.ResponseWriter, json.RawMessage){
		"JSON of unknown length": func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer(id, "done"))
			_ = http.NewResponseController(w).Flush()
		},
		"a stream": func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer(id, "done"))
			_ = http.NewResponseController(w).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &connections{script: script{call: call}, answered: make(chan struct{}), served: make(chan string, 1), idle: make(chan string, 100)}
			server := httptest.NewUnstartedServer(c)
			server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
				if state == http.StateIdle {
					c.idle <- conn.RemoteAddr().String()
				}
			}
			server.Start()
			t.Cleanup(server.Close)
			s := &mcpbridgev1.Server{Id: "src_x", Url: server.URL}
			b := newBridge(t)
			const calls = 20
			from := map[string]bool{}
			for range calls {
				if _, res, err := b.call(t.Context(), s, "x", "{}"); err != nil || !strings.HasPrefix(text(res), "done") {
					t.Fatalf("%v, %v", res, err)
				}
				c.answered <- struct{}{}
				at := <-c.served
				from[at] = true
				for <-c.idle != at {
				}
			}
			if len(from) > calls/2 { // a call may be faster than the end of the response to the one before
				t.Errorf("%d connections for %d calls", len(from), calls)
			}
		})
	}
}

// TestAStreamThatGoesOnIsCutOff: a server that does not end its stream after the answer does not keep its connection, nor the call.
func TestAStreamThatGoesOnIsCutOff(t *testing.T) {
	over := make(chan struct{}, 1)
	c := &script{call: func(w http.ResponseWriter, id json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id)
		_ = http.NewResponseController(w).Flush()
	}}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.ServeHTTP(w, r)
		if c.calls.Load() == 1 {
			<-r.Context().Done()
			select {
			case over <- struct{}{}:
			default:
			}
		}
	})
	s := &mcpbridgev1.Server{Id: "src_x", Url: serve(t, h).URL}
	begin := time.Now()
	if _, _, err := newBridge(t).call(t.Context(), s, "x", "{}"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the call took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	select {
	case <-over:
	case <-ctx.Done():
		t.Error("the stream is still open")
	}
}
