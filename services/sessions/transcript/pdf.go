package transcript

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/pdf"
)

// maxPDFText bounds the texts of a PDF in bytes, as costOf counts them: its pages take time and memory in proportion.
const maxPDFText = 2 << 20

// costOf counts a text in bytes, where a line break is as much as a full line, and a tab the spaces that are written for it.
func costOf(text string) int {
	const line, tab = 80, 4
	return len(text) + (line-1)*strings.Count(text, "\n") + (tab-1)*strings.Count(text, "\t")
}

// PDF writes an export as PDF. It says what Markdown says. An export whose texts are larger than a PDF may have is refused.
func PDF(x *sessionsv1.ExportSessionResponse) ([]byte, error) {
	ses := x.GetSession()
	d := pdf.Document{
		Title: titleOf(ses), Time: ses.GetUpdateTime().AsTime(),
		Facts: []string{fmt.Sprintf("Session %s with agent %s, opened %s by %s", ses.GetId(), ses.GetAgentId(),
			ses.GetCreateTime().AsTime().Format(time.RFC3339), ses.GetSubject())},
	}
	if from := ses.GetForkedFromSession(); from != "" {
		d.Facts = append(d.Facts, fmt.Sprintf("Forked from %s, seq %d", from, ses.GetForkedFromSeq()))
	}
	eachMessage(x, func(m *turnv1.Message, end string) {
		d.Entries = append(d.Entries, entries(m)...)
		if end != "" {
			d.Entries = append(d.Entries, pdf.Entry{Notes: []string{end}})
		}
	})
	size := 0
	for _, e := range d.Entries {
		if size += costOf(e.Heading) + costOf(e.Text) + costOf(strings.Join(e.Notes, "")); size > maxPDFText {
			return nil, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "the texts of the session are larger than the %d bytes "+
				"that a PDF may have, where a line break counts as 80", maxPDFText).Hint("Export it as Markdown or JSON.")
		}
	}
	return pdf.Write(d)
}

// entries are a message, with its citations as notes, and its calls.
func entries(m *turnv1.Message) []pdf.Entry {
	when := m.GetCreateTime().AsTime().Format(time.DateTime)
	if r := m.GetToolResult(); r != nil {
		heading := "Result of " + r.GetTool()
		if r.GetIsError() {
			heading += ", an error"
		}
		return []pdf.Entry{{Heading: heading, Minor: true, Text: contentText(r.GetContent()), Boxed: true}}
	}
	first := pdf.Entry{Heading: "User, " + when, Text: contentText(m.GetContent())}
	if m.GetRole() == turnv1.Role_ROLE_ASSISTANT {
		first.Heading = strings.Join(append([]string{"Assistant"}, strings.Fields(m.GetModel()+" "+when)...), " ")
	}
	_, cited, _ := annotated(m, 0)
	for _, c := range cited {
		first.Notes = append(first.Notes, fmt.Sprintf("[%d] %s", c.GetNumber(), sourceOf(c, "")))
	}
	out := []pdf.Entry{first}
	for _, call := range m.GetToolCalls() {
		out = append(out, pdf.Entry{Heading: "Calls " + call.GetTool(), Minor: true, Text: call.GetArgumentsJson(), Boxed: true})
	}
	return out
}
