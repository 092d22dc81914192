package mcpbridge_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// keyed calls a tool with a key; the tool returns the headers that it received.
func (b *bridge) keyed(t *testing.T, s *mcpbridgev1.Server, key string) string {
	t.Helper()
	meta := map[string]string{"windlass/turn_id": "trn_1"}
	if key != "" {
		meta["windlass/idempotency_key"] = key
	}
	stream, err := b.CallTool(t.Context(), &mcpbridgev1.CallToolRequest{Server: s, Tool: "key", Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return text(res.GetResult())
}

func TestTheKeyOfACallIsAHeader(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *mcpbridgev1.Server, _ *toolServer) {
		if s.GetUrl() == "" {
			t.Skip("there are no headers over stdio")
		}
		b := newBridge(t)
		for key, want := range map[string]string{
			"trn_1/tool-1.0":          "trn_1/tool-1.0",
			"direct/ann/a b%20\u00e9": "direct/ann/a%20b%2520%C3%A9",
			"k ":                      "k%20", // a header loses spaces at its ends
			"":                        "",
		} {
			if got := b.keyed(t, s, key); got != want {
				t.Errorf("key %q: the header is %q, want %q", key, got, want)
			}
			if again := b.keyed(t, s, key); again != want {
				t.Errorf("key %q, sent again: the header is %q", key, again)
			}
		}
	})
}

// TestTheKeyStaysOverALostSession: the bridge sends a call again that the server refused unread.
func TestTheKeyStaysOverALostSession(t *testing.T) {
	var now atomic.Value
	now.Store(newToolServer().legacy())
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().(http.Handler).ServeHTTP(w, r) })
	s := &mcpbridgev1.Server{Id: "src_a", Url: serve(t, h).URL}
	b := newBridge(t)
	if got := b.keyed(t, s, "k"); got != "k" {
		t.Fatalf("the header is %q", got)
	}
	now.Store(newToolServer().legacy()) // it does not know the sessions of the previous one
	if got := b.keyed(t, s, "k"); got != "k" {
		t.Errorf("after the session was lost the header is %q", got)
	}
}
