// Package transcript writes exported sessions for people: as Markdown, and as PDF.
package transcript

import (
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/truncate"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// titleOf returns the title of a transcript, on one line.
func titleOf(ses *sessionsv1.Session) string {
	if title := truncate.Line(ses.GetTitle(), 200); title != "" {
		return title
	}
	return "Session " + ses.GetId()
}

// eachMessage calls write for each message of an export in turn. The last one of a turn comes with how the turn ended, as endOf says it.
func eachMessage(x *sessionsv1.ExportSessionResponse, write func(m *turnv1.Message, end string)) {
	turns := map[string]*sessionsv1.Turn{}
	for _, t := range x.GetTurns() {
		turns[t.GetId()] = t
	}
	messages := x.GetMessages()
	for i, m := range messages {
		end := ""
		if i+1 == len(messages) || messages[i+1].GetTurnId() != m.GetTurnId() {
			end = endOf(turns[m.GetTurnId()])
		}
		write(m, end)
	}
}

// sourceOf says where the passage of a citation stands, and the passage on one line. Names that are code are between two of quote.
func sourceOf(c *turnv1.Citation, quote string) string {
	where := c.GetDocumentName()
	if c.GetPage() > 0 {
		where += fmt.Sprintf(", page %d", c.GetPage())
	}
	if len(c.GetHeading()) > 0 {
		where += ", " + strings.Join(c.GetHeading(), " > ")
	}
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	code := func(name string) string { return quote + name + quote }
	return fmt.Sprintf("%s (%s, %s, version %s, bytes %d to %d): \u201c%s\u201d", oneLine(where), code(c.GetBankId()),
		code(c.GetDocumentId()), code(c.GetVersion()), c.GetStart(), c.GetEnd(), oneLine(c.GetQuote()))
}

// endOf says how a turn ended, "" if it was completed as usual. The turn of another session is nil: nothing is known of its end.
func endOf(t *sessionsv1.Turn) string {
	switch t.GetStatus() {
	case turnv1.TurnStatus_TURN_STATUS_UNSPECIFIED, turnv1.TurnStatus_TURN_STATUS_COMPLETED:
		reason := t.GetStopReason()
		if reason == "" || reason == "end" {
			return ""
		}
		end := fmt.Sprintf("The turn was stopped: %s.", reason)
		if l := t.GetLimitReached(); l != nil {
			end += "\n" + l.GetMessage()
		}
		return end
	case turnv1.TurnStatus_TURN_STATUS_FAILED:
		return "The turn failed: " + t.GetError().GetMessage()
	case turnv1.TurnStatus_TURN_STATUS_CANCELLED:
		return "The turn was cancelled."
	default:
		return fmt.Sprintf("The turn is %s.", enum.Name(t.GetStatus()))
	}
}

// contentText is content as text; what is none is named.
func contentText(parts []*turnv1.ContentPart) string {
	var out []string
	for _, p := range parts {
		switch {
		case p.GetBlob() != nil:
			out = append(out, fmt.Sprintf("[%s, %d bytes]", p.GetBlob().GetMediaType(), len(p.GetBlob().GetData())))
		case p.GetFile() != nil:
			out = append(out, fmt.Sprintf("[%s, %s, %d bytes]", p.GetFile().GetName(), p.GetFile().GetMediaType(), p.GetFile().GetSize()))
		case p.GetLink() != nil:
			out = append(out, "<"+p.GetLink().GetUri()+">")
		default:
			out = append(out, p.GetText())
		}
	}
	return strings.Join(out, "\n")
}
