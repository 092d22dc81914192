package mcpbridge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

func TestForward(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", `hunter"22222`)
	server := &script{result: map[string]string{
		"resources/read": `{"contents":[{"uri":"a:b","text":"the key is hunter\"22222","n":12345678901234567890}]}`,
		"prompts/list":   `{ "prompts": [], "x":1.50 }`,
	}}
	b, url := newBridge(t), serve(t, server).URL
	plain := &mcpbridgev1.Server{Id: "src_plain", Url: url}
	secret := &mcpbridgev1.Server{Id: "src_secret", Url: url, Headers: map[string]string{"X-Key": "${env:WINDLASS_TOOL_SECRET}"}}
	for name, row := range map[string]struct {
		server         *mcpbridgev1.Server
		method, params string
		want           string
		code           int32
	}{
		"as it is": {server: plain, method: "prompts/list", want: `{ "prompts": [], "x":1.50 }`},
		"with parameters": {
			server: plain, method: "prompts/list", params: `{"cursor":"x","_meta":{"a":1}}`, want: `{ "prompts": [], "x":1.50 }`,
		},
		"without a secret": {
			server: secret, method: "resources/read",
			want: `{"contents":[{"n":12345678901234567890,"text":"the key is ***","uri":"a:b"}]}`,
		},
		"the server says no": {server: plain, method: "resources/list", want: "no resources/list here", code: -32601},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := b.Forward(t.Context(), &mcpbridgev1.ForwardRequest{
				Server: row.server, Method: row.method, ParamsJson: []byte(row.params),
			})
			if err != nil {
				t.Fatal(err)
			}
			if row.code == 0 && string(res.GetResultJson()) != row.want ||
				row.code != 0 && (res.GetError().GetCode() != row.code || res.GetError().GetMessage() != row.want) {
				t.Errorf("got %v", res)
			}
		})
	}
	for _, req := range []*mcpbridgev1.ForwardRequest{
		{Server: plain, Method: "prompts/list", ParamsJson: []byte(`[]`)}, {Server: plain, Method: "prompts/list", ParamsJson: []byte(`{`)},
	} {
		if _, err := b.Forward(t.Context(), req); fault.From(err).Code != codes.InvalidArgument {
			t.Errorf("%v: %v", req, err)
		}
	}
	nobody := &mcpbridgev1.Server{Id: "src_nobody", Url: "http://127.0.0.1:1/mcp"}
	_, err := b.Forward(t.Context(), &mcpbridgev1.ForwardRequest{Server: nobody, Method: "prompts/list"})
	if fault.CodeOf(err) != "tool_unavailable" {
		t.Errorf("a server that is away: %v", err)
	}
}

// listener is a server of protocol 2026-07-28, written by hand: it accepts a subscription, and says that each resource was updated.
type listener struct{ refuse string }

func (l listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Notifications struct {
				URIs []string `json:"resourceSubscriptions"`
			}
		}
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&req) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	switch {
	case req.Method == "server/discover":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],`+
			`"capabilities":{"resources":{"subscribe":true}},"ttlMs":0,"cacheScope":"private"}}`, req.ID)
	case l.refuse != "":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":%q}}`, req.ID, l.refuse)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		meta := fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/subscriptionId":%s}`, req.ID)
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{%s}}\n\n", meta)
		for _, uri := range append(req.Params.Notifications.URIs, "not:asked") {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{%s,\"uri\":%q}}\n\n", meta, uri)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func TestWatchResourcesOfAModernServer(t *testing.T) {
	b := newBridge(t)
	s := &mcpbridgev1.Server{Id: "src_listener", Url: serve(t, listener{}).URL}
	stream, err := b.WatchResources(t.Context(), &mcpbridgev1.WatchResourcesRequest{Server: s, Uris: []string{"a:1", "a:2"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "a:1", "a:2"} {
		if m, err := stream.Recv(); err != nil || m.GetUri() != want {
			t.Fatalf("got %v, %v, want %q", m, err, want)
		}
	}
	s = &mcpbridgev1.Server{Id: "src_refuses", Url: serve(t, listener{refuse: "not this one"}).URL}
	if stream, err = b.WatchResources(t.Context(), &mcpbridgev1.WatchResourcesRequest{Server: s, Uris: []string{"a:1"}}); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if f := fault.From(err); f.Code != codes.InvalidArgument || !strings.Contains(f.Message, "not this one") {
		t.Errorf("a server that refuses: %v", err)
	}
}

func TestWatchResourcesOfAServerThatRefuses(t *testing.T) {
	s := &mcpbridgev1.Server{Id: "src_old", Url: serve(t, &script{}).URL}
	stream, err := newBridge(t).WatchResources(t.Context(), &mcpbridgev1.WatchResourcesRequest{Server: s, Uris: []string{"a:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); fault.From(err).Code != codes.InvalidArgument {
		t.Errorf("got %v, %v", m, err)
	}
}
