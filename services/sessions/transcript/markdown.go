package transcript

import (
	"fmt"
	"strings"
	"time"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Markdown writes an export as Markdown.
func Markdown(x *sessionsv1.ExportSessionResponse) string {
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
