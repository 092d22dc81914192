package show

import (
	"fmt"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Message returns the text of a message for a table.
func Message(m *turnv1.Message) string {
	parts := []string{Parts(m.GetContent())}
	for _, call := range m.GetToolCalls() {
		parts = append(parts, call.GetTool()+call.GetArgumentsJson())
	}
	if r := m.GetToolResult(); r != nil {
		parts = append(parts, r.GetTool()+": "+Parts(r.GetContent()))
	}
	return strings.Join(parts, " ")
}

// Parts returns the text of content; other parts are named.
func Parts(parts []*turnv1.ContentPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.GetBlob() != nil:
			fmt.Fprintf(&b, "[%s, %d bytes]", p.GetBlob().GetMediaType(), len(p.GetBlob().GetData()))
		case p.GetLink() != nil:
			b.WriteString(p.GetLink().GetUri())
		default:
			b.WriteString(p.GetText())
		}
	}
	return b.String()
}
