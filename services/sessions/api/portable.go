package api

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/pdf"
)

// maxPDFText bounds the texts of a PDF in bytes: its pages take time and memory in proportion.
const maxPDFText = 2 << 20

// portable writes an export as PDF. It says what the transcript in Markdown says.
func portable(x *sessionsv1.ExportSessionResponse) ([]byte, error) {
	ses := x.GetSession()
	d := pdf.Document{
		Title: truncate.Line(ses.GetTitle(), 200), Time: ses.GetUpdateTime().AsTime(),
		Facts: []string{fmt.Sprintf("Session %s with agent %s, opened %s by %s", ses.GetId(), ses.GetAgentId(),
			ses.GetCreateTime().AsTime().Format(time.RFC3339), ses.GetSubject())},
	}
	if d.Title == "" {
		d.Title = "Session " + ses.GetId()
	}
	if from := ses.GetForkedFromSession(); from != "" {
		d.Facts = append(d.Facts, fmt.Sprintf("Forked from %s, seq %d", from, ses.GetForkedFromSeq()))
	}
	turns := map[string]*sessionsv1.Turn{}
	for _, t := range x.GetTurns() {
		turns[t.GetId()] = t
	}
	size, messages := 0, x.GetMessages()
	for i, m := range messages {
		d.Entries = append(d.Entries, entries(m)...)
		if i+1 == len(messages) || messages[i+1].GetTurnId() != m.GetTurnId() {
			var end strings.Builder
			writeEnd(&end, turns[m.GetTurnId()])
			if end.Len() > 0 {
				d.Entries = append(d.Entries, pdf.Entry{Notes: []string{strings.ReplaceAll(strings.TrimSpace(end.String()), "> ", "")}})
			}
		}
	}
	for _, e := range d.Entries {
		if size += len(e.Heading) + len(e.Text) + len(strings.Join(e.Notes, "")); size > maxPDFText {
			return nil, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "the texts of the session are larger than the %d bytes "+
				"that a PDF may have", maxPDFText).Hint("Export it as Markdown or JSON.")
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
	seen := map[int32]bool{}
	for _, p := range m.GetContent() {
		for _, c := range p.GetCitations() {
			if !seen[c.GetNumber()] {
				seen[c.GetNumber()] = true
				_, note, _ := strings.Cut(footnote(int(c.GetNumber()), c), ": ")
				first.Notes = append(first.Notes, fmt.Sprintf("[%d] %s", c.GetNumber(), strings.ReplaceAll(note, "`", "")))
			}
		}
	}
	out := []pdf.Entry{first}
	for _, call := range m.GetToolCalls() {
		out = append(out, pdf.Entry{Heading: "Calls " + call.GetTool(), Minor: true, Text: call.GetArgumentsJson(), Boxed: true})
	}
	return out
}
