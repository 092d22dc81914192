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
	title := truncate.Line(ses.GetTitle(), 200)
	if title == "" {
		title = "Session " + ses.GetId()
	}
	fmt.Fprintf(&b, "# %s\n\n- Session: `%s`\n- Agent: `%s`\n- Opened: %s by %s\n", title, ses.GetId(), ses.GetAgentId(),
		ses.GetCreateTime().AsTime().Format(time.RFC3339), ses.GetSubject())
	if from := ses.GetForkedFromSession(); from != "" {
		fmt.Fprintf(&b, "- Forked from: `%s`, seq %d\n", from, ses.GetForkedFromSeq())
	}
	turns := map[string]*sessionsv1.Turn{}
	for _, t := range x.GetTurns() {
		turns[t.GetId()] = t
	}
	messages := x.GetMessages()
	notes := 0
	for i, m := range messages {
		notes = writeMessage(&b, m, notes)
		if i+1 == len(messages) || messages[i+1].GetTurnId() != m.GetTurnId() {
			writeEnd(&b, turns[m.GetTurnId()])
		}
	}
	return b.String()
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
	content, footnotes, last := annotated(m, notes)
	if text := contentText(content); text != "" {
		fmt.Fprintf(b, "\n%s\n", text)
	}
	for _, note := range footnotes {
		fmt.Fprintf(b, "\n%s\n", note)
	}
	for _, call := range m.GetToolCalls() {
		fmt.Fprintf(b, "\nCalls `%s`:\n\n%s", call.GetTool(), fenced("json", call.GetArgumentsJson()))
	}
	return last
}

// annotated returns the content of a message with footnote marks in the place of the numbers of its citations, the footnotes, and the
// highest of their numbers, which follow before.
func annotated(m *turnv1.Message, before int) (content []*turnv1.ContentPart, footnotes []string, last int) {
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
				footnotes = append(footnotes, footnote(number, c))
			}
		}
		b.WriteString(text.Text[from:])
		content = append(content, &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: b.String()}})
	}
	return content, footnotes, last
}

// footnote is a citation as a Markdown footnote: where the passage stands, and the passage on one line.
func footnote(number int, c *turnv1.Citation) string {
	where := c.GetDocumentName()
	if c.GetPage() > 0 {
		where += fmt.Sprintf(", page %d", c.GetPage())
	}
	if len(c.GetHeading()) > 0 {
		where += ", " + strings.Join(c.GetHeading(), " > ")
	}
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	return fmt.Sprintf("[^%d]: %s (`%s`, `%s`, version `%s`, bytes %d to %d): \u201c%s\u201d", number, oneLine(where), c.GetBankId(),
		c.GetDocumentId(), c.GetVersion(), c.GetStart(), c.GetEnd(), oneLine(c.GetQuote()))
}

// writeEnd says how a turn ended, unless it was completed as usual. The turn of another session is nil: nothing is known of its end.
func writeEnd(b *strings.Builder, t *sessionsv1.Turn) {
	switch t.GetStatus() {
	case turnv1.TurnStatus_TURN_STATUS_UNSPECIFIED, turnv1.TurnStatus_TURN_STATUS_COMPLETED:
		if reason := t.GetStopReason(); reason != "" && reason != "end" {
			fmt.Fprintf(b, "\n> The turn was stopped: %s.\n", reason)
			if l := t.GetLimitReached(); l != nil {
				fmt.Fprintf(b, "> %s\n", l.GetMessage())
			}
		}
	case turnv1.TurnStatus_TURN_STATUS_FAILED:
		fmt.Fprintf(b, "\n> The turn failed: %s\n", strings.ReplaceAll(t.GetError().GetMessage(), "\n", "\n> "))
	case turnv1.TurnStatus_TURN_STATUS_CANCELLED:
		b.WriteString("\n> The turn was cancelled.\n")
	default:
		fmt.Fprintf(b, "\n> The turn is %s.\n", enum.Name(t.GetStatus()))
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
