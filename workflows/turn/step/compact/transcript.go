package compact

import (
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/mediatext"
	"github.com/windlass-dev/windlass/libs/tokens"
	"github.com/windlass-dev/windlass/libs/toolresult"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

const (
	// longEntry is how much of a message the transcript holds, in characters, while there is room; shortEntry when there is little.
	longEntry  = 16_000
	shortEntry = 250
)

// transcript writes a conversation down as one text of at most so many tokens: long messages are cut first, then the oldest are left
// out. The first message is an earlier summary when summarised says so; it stays.
func transcript(messages []*turnv1.Message, summarised bool, room int) string {
	most := longEntry
	for {
		text, size := entries(messages, summarised, most)
		if size <= room || most <= shortEntry {
			return newest(text, summarised, room)
		}
		most /= 2
	}
}

// entries writes each message, cut to so many characters, and counts the tokens of all.
func entries(messages []*turnv1.Message, summarised bool, most int) ([]string, int) {
	out, size := make([]string, len(messages)), 0
	for i, m := range messages {
		who := strings.ToLower(strings.TrimPrefix(m.GetRole().String(), "ROLE_"))
		switch {
		case i == 0 && summarised:
			who = "earlier summary"
		case m.GetToolResult() != nil:
			who = "tool " + m.GetToolResult().GetTool()
		}
		out[i] = contract.EntryPrefix + who + "\n" + middleOut(spoken(m), most)
		size += tokens.Text(out[i])
	}
	return out, size
}

// newest leaves out the oldest entries until the rest fits, and says so.
func newest(all []string, summarised bool, room int) string {
	var first []string
	if summarised && len(all) > 0 {
		first, all = all[:1], all[1:]
		room -= tokens.Text(first[0])
	}
	from := len(all)
	for from > 0 {
		size := tokens.Text(all[from-1])
		if size > room && from < len(all) {
			break
		}
		room -= size
		from--
	}
	if from > 0 {
		first = append(first[:len(first):len(first)], fmt.Sprintf("(%d older messages are left out here: they are too long.)", from))
	}
	return strings.Join(append(first[:len(first):len(first)], all[from:]...), "\n\n")
}

// spoken is what a message says, in words.
func spoken(m *turnv1.Message) string {
	var lines []string
	for _, parts := range [][]*turnv1.ContentPart{m.GetContent(), m.GetToolResult().GetContent()} {
		for _, p := range parts {
			lines = append(lines, partText(p))
		}
	}
	if data := toolresult.Unsaid(m.GetToolResult()); data != "" {
		lines = append(lines, data)
	}
	if m.GetToolResult().GetIsError() {
		lines = append([]string{"(an error)"}, lines...)
	}
	for _, call := range m.GetToolCalls() {
		lines = append(lines, fmt.Sprintf("(calls %s with %s)", call.GetTool(), call.GetArgumentsJson()))
	}
	return strings.Join(lines, "\n")
}

func partText(p *turnv1.ContentPart) string {
	b, l, f := p.GetBlob(), p.GetLink(), p.GetFile()
	text, isText := mediatext.Of(b.GetMediaType(), b.GetData())
	switch {
	case f != nil:
		return fmt.Sprintf("(file %s, %s, %d bytes)", f.GetName(), f.GetMediaType(), f.GetSize())
	case l != nil:
		return fmt.Sprintf("(%s %s)", l.GetName(), l.GetUri())
	case b == nil:
		return p.GetText()
	case isText:
		return text
	default:
		return fmt.Sprintf("(%s, %d bytes)", b.GetMediaType(), len(b.GetData()))
	}
}

// middleOut cuts a long text in its middle: what it begins and ends with says most.
func middleOut(text string, most int) string {
	chars := []rune(text)
	if len(chars) <= most {
		return text
	}
	half := most / 2
	return string(chars[:half]) + "\n[…]\n" + string(chars[len(chars)-half:])
}
