package outbound

import (
	"fmt"
	"net/http"
	"strings"
)

const (
	// keyMeta is the entry of `_meta` with a call's key, which is the same for all attempts of the call and unique to it.
	keyMeta = "windlass/idempotency_key"
	// KeyHeader carries the key over HTTP, for servers and proxies that do not know MCP.
	KeyHeader = "Idempotency-Key"
)

// SetKey sets the key header of a tool call that has a key.
func SetKey(header http.Header, params map[string]any) {
	meta, _ := params["_meta"].(map[string]any)
	if key, _ := meta[keyMeta].(string); key != "" {
		header.Set(KeyHeader, visible(key))
	}
}

// visible encodes a text for a header; distinct texts stay distinct.
func visible(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
