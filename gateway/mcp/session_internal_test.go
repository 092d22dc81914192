package mcp

import (
	"log/slog"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/windlass-dev/windlass/libs/authn"
)

// TestS13SessionsBelongToTheirCaller: what a client has set in a session holds for it alone, also if another one says its ID.
func TestS13SessionsBelongToTheirCaller(t *testing.T) {
	conn, err := grpc.NewClient("passthrough:///nothing", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	h, err := New(Config{}, Deps{Registry: conn, Sessions: conn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	of := func(tenant, subject string) *request {
		p := authn.User(subject)
		p.Tenant = tenant
		return &request{ctx: authn.With(t.Context(), p), sessionID: "s", params: []byte(`{"level":"debug"}`), common: params{URI: "a+b"}}
	}
	alice, bob, stranger := of("default", "dev:alice"), of("default", "dev:bob"), of("acme", "dev:alice")
	if _, f := h.calls.setLogLevel(alice); f != nil {
		t.Fatal(f)
	}
	if _, f := h.watches.subscribe(alice); f != nil {
		t.Fatal(f)
	}
	for who, q := range map[string]*request{"alice": alice, "bob": bob, "a stranger": stranger} {
		uris, _ := h.watches.subscribed(q.own()).now()
		if level := h.calls.logLevel(q); (level == "debug") != (q == alice) || (len(uris) == 1) != (q == alice) {
			t.Errorf("%s: level %q, subscriptions %v", who, level, uris)
		}
	}
}
