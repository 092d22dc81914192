package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/truncate"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// transcript writes an export as Markdown.
func transcript(x *sessionsv1.ExportSessionResponse) string {
	var b strings.Builder
	ses := x.GetSession()
	fmt.Fprintf(&b, "# %s\n\n- Session: `%s`\n- Agent: `%s`\n- Opened: %s by %s\n", titleOf(ses), ses.GetId(), ses.GetAgentId(),
		ses.GetCreateTime().AsTime().Format(time.RFC3339), ses.GetSubject())
	if from := ses.GetForkedFromSession(); from != "" {
		fmt.Fprintf(&b, "- Forked from: `%s`, seq %d\n", from, ses.GetForkedFromSeq())
	}
	notes := 0
	eachMessage(x, func(m *turnv1.Message, end string) {
		notes = writeMessage(&b, m, notes)
		if end != "" {
			fmt.Fprintf(&b, "\n> %s\n", strings.ReplaceAll(end, "\n", "\n> "))
		}
	})
	return b.String()
}

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

// writeMessage writes a message with its citations as footnotes, numbered after those before it. It returns the last number.
func writeMessage(b *strings.Builder, m *turnv1.Message, notes int) int {
	when := m.GetCreateTime().AsTime().Format(time.DateTime)
	switch m.GetRole() {
	case turnv1.Role_ROLE_USER:
		fmt.Fprintf(b, "\n## User (%s)\n", when)
	case turnv1.Role_ROLE_TOOL:
		r := m.GetToolResult()
		how := ""
		if r.GetIsError() {
			how = ", an error"
		}
		fmt.Fprintf(b, "\n### Result of `%s`%s\n\n%s", r.GetTool(), how, fenced("", contentText(r.GetContent())))
		return notes
	default:
		if m.GetModel() != "" {
			when = m.GetModel() + ", " + when
		}
		fmt.Fprintf(b, "\n## Assistant (%s)\n", when)
	}
	content, cited, last := annotated(m, notes)
	if text := contentText(content); text != "" {
		fmt.Fprintf(b, "\n%s\n", text)
	}
	for _, c := range cited {
		fmt.Fprintf(b, "\n[^%d]: %s\n", notes+int(c.GetNumber()), sourceOf(c, "`"))
	}
	for _, call := range m.GetToolCalls() {
		fmt.Fprintf(b, "\nCalls `%s`:\n\n%s", call.GetTool(), fenced("json", call.GetArgumentsJson()))
	}
	return last
}

// annotated returns the content of a message with footnote marks in the place of the numbers of its citations, one citation of each number,
// and the highest of the numbers of the footnotes, which follow before.
func annotated(m *turnv1.Message, before int) (content []*turnv1.ContentPart, cited []*turnv1.Citation, last int) {
	last = before
	for _, p := range m.GetContent() {
		text, isText := p.GetPart().(*turnv1.ContentPart_Text)
		if !isText || len(p.GetCitations()) == 0 || m.GetRole() != turnv1.Role_ROLE_ASSISTANT {
			content = append(content, p)
			continue
		}
		var b strings.Builder
		from := 0
		for _, c := range p.GetCitations() {
			at, mark := int(c.GetPosition()), fmt.Sprintf("[%d]", c.GetNumber())
			if at < from || at > len(text.Text) || !strings.HasPrefix(text.Text[at:], mark) {
				continue
			}
			number := before + int(c.GetNumber())
			fmt.Fprintf(&b, "%s[^%d]", text.Text[from:at], number)
			from = at + len(mark)
			if number > last {
				last = number
				cited = append(cited, c)
			}
		}
		b.WriteString(text.Text[from:])
		content = append(content, &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: b.String()}})
	}
	return content, cited, last
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

// fenced is a text as a code block. The fence is longer than any run of backquotes in it.
func fenced(language, text string) string {
	fence, run := 3, 0
	for _, c := range text {
		if run++; c != '`' {
			run = 0
		}
		fence = max(fence, run+1)
	}
	bar := strings.Repeat("`", fence)
	return bar + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + bar + "\n"
}
