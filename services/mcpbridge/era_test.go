package mcpbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge"
)

// probed counts requests that probe for the protocol, and may leave them unanswered.
func probed(h http.Handler, count *atomic.Int32, ignore bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("server/discover")) {
			count.Add(1)
			if ignore {
				<-r.Context().Done()
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

func TestTheEraOfAServerIsRemembered(t *testing.T) {
	var asked atomic.Int32
	s := &mcpbridgev1.Server{Id: "src_x", Url: serve(t, probed(newToolServer().legacy(), &asked, true)).URL}
	b := newBridge(t, func(c *mcpbridge.Config) { c.DiscoverTimeout = 50 * time.Millisecond })
	for range 3 {
		if res := b.discover(t, s); res.GetProtocolVersion() != "2025-11-25" {
			t.Errorf("got %s", res.GetProtocolVersion())
		}
		if _, err := b.Release(t.Context(), &mcpbridgev1.ReleaseRequest{ServerId: s.GetId()}); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestARefusalOfASupportedRevisionIsAskedAgain: an instance of an earlier version refuses what the server otherwise supports.
func TestARefusalOfASupportedRevisionIsAskedAgain(t *testing.T) {
	for name, refusals := range map[string]int32{"once": 1, "always": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			tools := newToolServer().modern()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) > refusals {
					tools.ServeHTTP(w, r)
					return
				}
				var req struct{ ID json.RawMessage }
				if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
					w.WriteHeader(http.StatusMethodNotAllowed) // a GET or DELETE
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"not this one","data":{"supported":["2026-07-28"]}}}`,
					req.ID, mcp.UNSUPPORTED_PROTOCOL_VERSION)
			}))
			res, err := newBridge(t).Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: &mcpbridgev1.Server{Id: "src_x", Url: s.URL}})
			if (err == nil) != (name == "once") || res.GetProtocolVersion() == "2025-11-25" || asked.Load() > 10 {
				t.Errorf("got %v, %v after %d requests", res, err, asked.Load())
			}
		})
	}
}

func TestAServerMayChangeItsEra(t *testing.T) {
	tools := newToolServer()
	modernOnly := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") != "" {
			http.Error(w, "no sessions here", http.StatusNotFound)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if bytes.Contains(body, []byte(`"initialize"`)) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		tools.modern().ServeHTTP(w, r)
	})
	r := newRestartable(t, modernOnly)
	s := &mcpbridgev1.Server{Id: "src_x", Url: "http://" + r.address}
	b := newBridge(t)
	for _, next := range []struct {
		handler http.Handler
		version string
	}{{tools.legacy(), "2025-11-25"}, {modernOnly, "2026-07-28"}, {tools.legacy(), "2025-11-25"}} {
		b.discover(t, s)
		r.stop()
		r.start(next.handler)
		testpoll.Until(t, "the next server answers", func() bool {
			res, err := b.Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: s})
			if err != nil || res.GetProtocolVersion() != next.version {
				return false
			}
			_, result, err := b.call(t.Context(), s, "echo", `{"text":"x"}`)
			return err == nil && text(result) == "x"
		})
	}
}

func TestArgumentsAreRepeatedAsHeadersWhereAToolWantsIt(t *testing.T) {
	tools := newToolServer()
	tools.AddTool(mcp.NewToolWithRawSchema("routed", "", json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]}`)),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.Header.Get("Mcp-Param-Region")), nil
		})
	s := &mcpbridgev1.Server{Id: "src_x", Url: serve(t, tools.modern()).URL}
	b := newBridge(t)
	for range 2 { // the first call finds out, from the list, what the server complains about
		if res := b.must(t, s, "routed", `{"region":"north"}`); text(res) != "north" {
			t.Errorf("got %v", res)
		}
	}
}
