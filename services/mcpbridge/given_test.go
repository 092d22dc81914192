package mcpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

const canary = "canary-2f9d61"

// seal seals data for a server, with the key of the bridges under test.
func seal(t *testing.T, s *mcpbridgev1.Server, places map[string]string, text string) []byte {
	t.Helper()
	d, err := providerdata.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := testSealer(t).Seal(d.Pick(places), providerdata.OfServer(s.GetId()))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func (b *bridge) callWith(t *testing.T, s *mcpbridgev1.Server, tool string, sealed []byte) (*mcpbridgev1.CallToolResult, error) {
	t.Helper()
	stream, err := b.CallTool(t.Context(), &mcpbridgev1.CallToolRequest{Server: s, Tool: tool, ProviderData: sealed})
	if err != nil {
		return nil, err
	}
	for {
		msg, err := stream.Recv()
		if err != nil || msg.GetResult() != nil {
			return msg.GetResult(), err
		}
	}
}

func TestProviderDataReachesTheServerOfOneCall(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *mcpbridgev1.Server, tools *toolServer) {
		b := newBridge(t)
		places := map[string]string{"meta.token": "token", "meta.deep": "deep"}
		if tools != nil {
			places["header.X-Key"] = "token"
			tools.AddTool(mcp.NewTool("given"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				meta, _ := r.Params.Meta.AdditionalFields["token"].(string)
				return mcp.NewToolResultText(fmt.Sprint(meta == canary, r.Header.Get("X-Key") == canary)), nil
			})
		}
		sealed := seal(t, s, places, `{"token":"`+canary+`","deep":{"user":{"password":"`+canary+`-deep"}}}`)

		// The server repeats what it was given; nothing of it comes back.
		res, err := b.callWith(t, s, "meta", sealed)
		if err != nil {
			t.Fatal(err)
		}
		var meta struct {
			Token string
			Deep  struct{ User struct{ Password string } }
		}
		if err := json.Unmarshal([]byte(text(res)), &meta); err != nil || meta.Token != "***" || meta.Deep.User.Password != "***" {
			t.Errorf("_meta as the server got it: %s", text(res))
		}
		if tools != nil {
			if res, err = b.callWith(t, s, "given", sealed); err != nil || text(res) != "true true" {
				t.Errorf("meta and header: %q %v", text(res), err)
			}
			if got := text(b.must(t, s, "given", `{}`)); got != "false false" {
				t.Errorf("the next call has it too: %q", got)
			}
		}
		if strings.Contains(b.log.text(), canary) {
			t.Error("the log has it")
		}
	})
}

func TestProviderDataForAnotherServerIsRefused(t *testing.T) {
	s := &mcpbridgev1.Server{Id: "src_x", Url: "http://127.0.0.1:1/"}
	places := map[string]string{"meta.token": "token"}
	other := seal(t, &mcpbridgev1.Server{Id: "src_y"}, places, `{"token":"`+canary+`"}`)
	own := seal(t, s, map[string]string{"header.Mcp-Session-Id": "token"}, `{"token":"`+canary+`"}`)
	stdio := &mcpbridgev1.Server{Id: "src_x", Command: []string{"x"}}
	header := seal(t, s, map[string]string{"header.X-Key": "token"}, `{"token":"`+canary+`"}`)
	for name, row := range map[string]struct {
		server *mcpbridgev1.Server
		sealed []byte
		code   string
	}{
		"sealed for another":  {s, other, "failed_precondition"},
		"not sealed":          {s, []byte(canary), "failed_precondition"},
		"protocol's header":   {s, own, "invalid_argument"},
		"header of a program": {stdio, header, "invalid_argument"},
	} {
		_, err := newBridge(t).callWith(t, row.server, "echo", row.sealed)
		if fault.CodeOf(err) != row.code || strings.Contains(fmt.Sprint(err), canary) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
