package mcpbridge

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// keyMeta is the entry of `_meta` with a call's key, which is the same for all attempts of the call and unique to it.
	keyMeta = "windlass/idempotency_key"
	// keyHeader carries the key over HTTP, for servers and proxies that do not know MCP.
	keyHeader = "Idempotency-Key"
)

// withKey adds the key header to a tool call that has a key.
func (s *sender) withKey(header http.Header, method mcp.MCPMethod, params map[string]any) http.Header {
	if s.spec.kind == overStdio || method != mcp.MethodToolsCall {
		return header
	}
	meta, _ := params["_meta"].(map[string]any)
	key, _ := meta[keyMeta].(string)
	if key == "" {
		return header
	}
	if header == nil {
		header = http.Header{}
	}
	header.Set(keyHeader, visible(key))
	return header
}

// visible encodes a text for a header; distinct texts stay distinct.
func visible(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
