// Package cite turns the marks of passages that a model writes into citations. A search gives each passage a mark. The model writes marks
// behind what it takes from passages; users read numbers, and a model that reads the answer in the same turn reads the marks again.
package cite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
)

// Sources are the passages that a turn has retrieved. Nil are none.
type Sources struct {
	byMark map[string]source
}

// source is a passage that can be cited.
type source struct{ passage.Passage }

func (s source) citation(number, position int) *turnv1.Citation {
	return &turnv1.Citation{
		Number: int32(number), Position: int64(position), BankId: s.Bank, DocumentId: s.Document, DocumentName: s.Name, Version: s.Version,
		Start: s.Start, End: s.End, Quote: s.Quote, Heading: s.Heading, Page: s.Page,
	}
}

// Read returns what the results of a turn in a conversation have retrieved; nil if the conversation has no results with passages at all,
// so that no text has marks.
func Read(messages []*turnv1.Message, turnID string) *Sources {
	var s *Sources
	for _, m := range conversation.Adopted(messages, turnID) {
		cited := citedBy(turnID, m.GetToolResult())
		if !passage.IsTool(m.GetToolResult().GetTool()) && len(cited) == 0 {
			continue
		}
		if s == nil {
			s = &Sources{byMark: map[string]source{}}
		}
		if m.GetTurnId() != turnID {
			continue
		}
		for _, p := range append(passage.Of(m.GetToolResult()), cited...) {
			if _, taken := s.byMark[p.Mark]; !taken {
				s.byMark[p.Mark] = source{p}
			}
		}
	}
	return s
}

// citedBy returns the passages that the answer of a sub-agent cites, with marks of their own. Results of other tools have no citations.
func citedBy(turnID string, r *turnv1.ToolResult) (out []passage.Passage) {
	for _, part := range r.GetContent() {
		for _, c := range part.GetCitations() {
			p := passage.Passage{
				Bank: c.GetBankId(), Document: c.GetDocumentId(), Version: c.GetVersion(), Name: c.GetDocumentName(), Start: c.GetStart(),
				End: c.GetEnd(), Quote: c.GetQuote(), Heading: c.GetHeading(), Page: c.GetPage(),
			}
			if !slices.ContainsFunc(out, p.Same) {
				out = append(out, p)
			}
		}
	}
	passage.Marks(turnID+"/"+r.GetCallId(), out)
	return out
}

// With returns the sources with passages that no result has.
func (s *Sources) With(passages []passage.Passage) *Sources {
	out := &Sources{byMark: map[string]source{}}
	if s != nil {
		maps.Copy(out.byMark, s.byMark)
	}
	for _, p := range passages {
		out.byMark[p.Mark] = source{p}
	}
	return out
}

func (s *Sources) find(mark string) (source, bool) {
	if s == nil {
		return source{}, false
	}
	p, ok := s.byMark[mark]
	return p, ok
}

// markOf returns the first of the marks of a cited passage, "" if the sources lack it.
func (s *Sources) markOf(c *turnv1.Citation) string {
	if s == nil {
		return ""
	}
	cited := passage.Passage{
		Bank: c.GetBankId(), Document: c.GetDocumentId(), Version: c.GetVersion(), Start: c.GetStart(), End: c.GetEnd(),
	}
	first := ""
	for mark, p := range s.byMark {
		if p.Same(cited) && (first == "" || mark < first) {
			first = mark
		}
	}
	return first
}

// Text replaces the marks of a whole text.
func (s *Sources) Text(text string) (string, []*turnv1.Citation) {
	w := s.Writer()
	out := w.Add(text) + w.Close()
	return out, w.Citations()
}

// Strip removes all marks from a text.
func Strip(text string) string {
	w := &Writer{}
	return w.Add(text) + w.Close()
}

// Reposition returns the citations of a text that was changed: those whose numbers it still has.
func Reposition(text string, citations []*turnv1.Citation) []*turnv1.Citation {
	var out []*turnv1.Citation
	from := 0
	for _, c := range citations {
		at := strings.Index(text[from:], numeral(int(c.GetNumber())))
		if at < 0 {
			continue
		}
		c = proto.CloneOf(c)
		c.Position = int64(from + at)
		out = append(out, c)
		from += at + len(numeral(int(c.GetNumber())))
	}
	return out
}

// Prompt returns a conversation as a model of a turn reads it. In the turn's own messages, citations are the marks that the model wrote. In
// those of other turns they are the names of the documents, and passages have no marks: what an answer cites is retrieved in its turn. Of
// results only the text is read.
func (s *Sources) Prompt(messages []*turnv1.Message, turnID string) []*turnv1.Message {
	own := map[int]bool{}
	for i, m := range conversation.Adopted(messages, turnID) {
		own[i] = m.GetTurnId() == turnID
	}
	out := messages
	for i, m := range messages {
		made := s.message(m, own[i])
		if made == m {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		out[i] = made
	}
	return out
}

// message is one message of Prompt; the same if nothing changes.
func (s *Sources) message(m *turnv1.Message, own bool) *turnv1.Message {
	switch {
	case passage.IsTool(m.GetToolResult().GetTool()):
		m = proto.CloneOf(m)
		m.ToolResult.StructuredContent = nil // the text has it
		for _, p := range m.GetToolResult().GetContent() {
			if text, ok := p.GetPart().(*turnv1.ContentPart_Text); ok && !own {
				text.Text = Strip(text.Text)
			}
		}
	case slices.ContainsFunc(m.GetContent(), hasCitations):
		m = proto.CloneOf(m)
		s.restoreAll(m.GetContent(), own)
	case slices.ContainsFunc(m.GetToolResult().GetContent(), hasCitations): // the answer of a sub-agent
		m = proto.CloneOf(m)
		s.restoreAll(m.GetToolResult().GetContent(), own)
	}
	return m
}

func hasCitations(p *turnv1.ContentPart) bool { return len(p.GetCitations()) > 0 }

// restoreAll replaces the numbers of citations in the parts of a content.
func (s *Sources) restoreAll(content []*turnv1.ContentPart, own bool) {
	for _, p := range content {
		if text, ok := p.GetPart().(*turnv1.ContentPart_Text); ok {
			// Shields may have changed the text of a result.
			text.Text = s.restore(text.Text, Reposition(text.Text, p.GetCitations()), own)
		}
		p.Citations = nil
	}
}

// restore replaces the numbers of citations.
func (s *Sources) restore(text string, citations []*turnv1.Citation, own bool) string {
	var b strings.Builder
	from := 0
	for _, c := range citations {
		at, number := int(c.GetPosition()), numeral(int(c.GetNumber()))
		if at < from || at > len(text) || !strings.HasPrefix(text[at:], number) {
			continue
		}
		b.WriteString(text[from:at])
		if mark := s.markOf(c); own && mark != "" {
			b.WriteString("[" + mark + "]")
		} else {
			fmt.Fprintf(&b, "(source: %s)", c.GetDocumentName())
		}
		from = at + len(number)
	}
	return b.String() + text[from:]
}
