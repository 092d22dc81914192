package show

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
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
		case p.GetFile() != nil:
			fmt.Fprintf(&b, "[%s, %s, %d bytes]", p.GetFile().GetName(), p.GetFile().GetMediaType(), p.GetFile().GetSize())
		case p.GetLink() != nil:
			b.WriteString(p.GetLink().GetUri())
		default:
			b.WriteString(p.GetText())
		}
	}
	return b.String()
}

// Conversation writes messages in full.
func Conversation(w io.Writer, items []json.RawMessage) error {
	for _, raw := range items {
		var m turnv1.Message
		if err := client.Decode(raw, &m); err != nil {
			return err
		}
		var lines []string
		if text := Parts(m.GetContent()); text != "" {
			lines = append(lines, text)
		}
		lines = append(lines, Sources(m.GetContent())...)
		for _, call := range m.GetToolCalls() {
			lines = append(lines, "calls "+call.GetTool()+" "+call.GetArgumentsJson())
		}
		if r := m.GetToolResult(); r != nil {
			lines = append(lines, r.GetTool()+": "+Parts(r.GetContent()))
		}
		text := strings.ReplaceAll(output.Text(strings.Join(lines, "\n")), "\n", "\n           ")
		if _, err := fmt.Fprintf(w, "%-9s  %s\n", enum.Name(m.GetRole()), text); err != nil {
			return err
		}
	}
	return nil
}
