package mcpbridge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// A server that echoes its input must not bring secrets into conversations, which are stored and shown.
func TestValuesOfReferencesStayOutOfResults(t *testing.T) {
	const secret = `s3cr3t-"value"`
	t.Setenv("WINDLASS_TOOL_KEY", secret)
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, answer, want string }{
		{"text", `"result":{"content":[{"type":"text","text":KEY}]}`, "***"},
		{"JSON in text", `"result":{"content":[{"type":"unknown","text":KEY}]}`, "***"},
		{"an error of the tool", `"result":{"content":[{"type":"text","text":KEY}],"isError":true}`, "***"},
		{"an error of the protocol", `"error":{"code":-32000,"message":KEY}`, "***"},
		{"no result", `"result":{"content":KEY}`, "***"},
		{"a link", `"result":{"content":[{"type":"resource_link","uri":KEY,"name":KEY}]}`, "***"},
		{"a structure", `"result":{"content":[],"structuredContent":{"a":[{"b":KEY}],KEY:1}}`, "***"},
		{"what is no secret", `"result":{"content":[{"type":"text","text":"an-organisation"}]}`, "an-organisation"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := &script{call: func(w http.ResponseWriter, id json.RawMessage) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, strings.ReplaceAll(row.answer, "KEY", string(quoted)))
			}}
			b := newBridge(t)
			_, res, err := b.call(t.Context(), &mcpbridgev1.Server{
				Id: "src_x", Url: serve(t, server).URL, Headers: map[string]string{"X-Key": "${env:WINDLASS_TOOL_KEY}", "X-Org": "an-organisation"},
			}, "x", "{}")
			if got := fmt.Sprint(res, err); strings.Contains(got, "s3cr3t") || !strings.Contains(got, row.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
