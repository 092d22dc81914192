// Package chunk cuts the text of documents into the pieces that searches find.
package chunk

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/tokens"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

// Sizes of chunks in tokens, as libs/tokens estimates them.
const (
	// Target is where a chunk ends at the next boundary.
	Target = 300
	// Limit is what no chunk exceeds, but one whose headings do, or that is one character of many parts.
	Limit = 500
	// headingLimit limits the bytes of a heading in a path.
	headingLimit = 200
)

// Chunk is a piece of a document's text.
type Chunk struct {
	// Start and End are its bytes.
	Start, End int
	// Heading is the path of headings that it is below, the outermost first. A chunk that begins with a heading has it in the path too.
	Heading []string
	// Page is that of its first byte; 0 for none.
	Page int
}

// piece is a part of a block that stays together.
type piece struct {
	start, end, tokens, page int
	heading                  []string
	begins                   bool // a heading, which begins a chunk
}

// Split cuts a document: a heading begins a chunk, short neighbours under the same heading become one, and blocks that are
// too long are cut at
// sentences, rows, empty lines, words or characters, in this order. Chunks are in order, do not overlap, and have all but blank characters.
func Split(d parse.Document) []Chunk {
	var chunks []Chunk
	var open []piece
	size := 0
	end := func() {
		if len(open) > 0 {
			chunks = append(chunks, Chunk{Start: open[0].start, End: open[len(open)-1].end, Heading: open[0].heading, Page: open[0].page})
		}
		open, size = nil, 0
	}
	for _, p := range pieces(d) {
		if len(open) > 0 && (p.begins && !below(p, open) || size >= Target || size+p.tokens > Target+Target/6) {
			end()
		}
		if len(open) > 0 { // the path is that of the last heading, all of which are at the begin
			open[0].heading = p.heading
		}
		open = append(open, p)
		size += p.tokens + 1 // what is between the pieces
	}
	end()
	return chunks
}

// below reports whether a heading stays with a chunk: one that has only headings that it is below.
func below(p piece, open []piece) bool {
	last := open[len(open)-1]
	return last.begins && len(p.heading) > len(last.heading)
}

// pieces cuts the blocks of a document.
func pieces(d parse.Document) []piece {
	var out []piece
	var path []string // by level; "" where a level has no heading
	var heading []string
	for _, b := range d.Blocks {
		if b.Kind == parse.Heading {
			level := max(1, b.Level)
			for len(path) < level {
				path = append(path, "")
			}
			path = path[:level]
			path[level-1] = shorten(d.Text[b.Start:b.End])
			heading = slices.DeleteFunc(slices.Clone(path), func(h string) bool { return h == "" })
		}
		for _, s := range cut(d.Text, span{b.Start, b.End}, separators(b.Kind)) {
			out = append(out, piece{
				start: s.start, end: s.end, tokens: tokens.Text(d.Text[s.start:s.end]), page: b.Page, heading: heading,
				begins: b.Kind == parse.Heading,
			})
		}
	}
	return out
}

// shorten returns a heading on one line.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= headingLimit {
		return text
	}
	return text[:boundary(text, headingLimit)]
}

// span is a range of a text.
type span struct{ start, end int }

// trim returns a span without the blank characters at its ends.
func (s span) trim(text string) span {
	t := text[s.start:s.end]
	first := len(t) - len(strings.TrimLeftFunc(t, unicode.IsSpace))
	s.start, s.end = s.start+first, s.start+max(first, len(strings.TrimRightFunc(t, unicode.IsSpace)))
	if s.start < s.end && first > 0 && !mayCut(text, s.start) { // a mark that stands on a space
		_, size := utf8.DecodeLastRuneInString(text[:s.start])
		s.start -= size
	}
	return s
}

// cut returns the parts of a span that are at most Target tokens, cut by the first of some separators that helps. Short parts are joined.
func cut(text string, s span, by []separator) []span {
	if s = s.trim(text); s.start == s.end {
		return nil
	}
	if tokens.Text(text[s.start:s.end]) <= Target {
		return []span{s}
	}
	if len(by) == 0 {
		return cutAnywhere(text, s)
	}
	var out []span
	joined, size := span{s.start, s.start}, 0
	flush := func() {
		if size > Target {
			out = append(out, cut(text, joined, by[1:])...)
		} else if t := joined.trim(text); t.start < t.end {
			out = append(out, t)
		}
		joined.start, size = joined.end, 0
	}
	for at := s.start; at < s.end; {
		next := at + by[0](text[at:s.end])
		n := tokens.Text(text[at:next]) + 1
		if size > 0 && size+n > Target {
			flush()
		}
		joined.end = next
		size += n
		at = next
	}
	flush()
	return out
}

// cutAnywhere cuts a span without separators at characters.
func cutAnywhere(text string, s span) []span {
	var out []span
	for s.start < s.end {
		rest := text[s.start:s.end]
		n := min(len(rest), Target) // no byte has more than a token
		for n < len(rest) && n < 4*Target && tokens.Text(rest[:min(len(rest), n+Target)]) <= Target {
			n = min(len(rest), n+Target)
		}
		if n < len(rest) {
			n = boundary(rest, n)
		}
		if t := (span{s.start, s.start + n}).trim(text); t.start < t.end {
			out = append(out, t)
		}
		s.start += n
	}
	return out
}

// boundary returns the end of the last character that ends at n or before, or of the first one. Characters of many parts
// are cut between them.
func boundary(text string, n int) int {
	const most = 128 // bytes of a character
	for at := n; at > max(0, n-most); at-- {
		if utf8.RuneStart(text[at]) && mayCut(text, at) {
			return at
		}
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(text)
	}
	return n
}
