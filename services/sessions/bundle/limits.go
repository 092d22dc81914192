package bundle

import "github.com/windlass-dev/windlass/libs/fault"

// Limits of a bundle, besides the size of a request. The parser's time and memory grow with the number of values, with the number
// of comments times the depth of blocks, and with the square of the number of directives. So these are bounded before it sees the
// text.
const (
	maxMarks      = 50_000
	maxIndent     = 500 // columns
	maxDirectives = 100
	maxDocuments  = 1000
	maxMistakes   = 100 // that are told at once
)

// marks counts what the text is made of. It does not tell strings and block scalars apart: what it counts is never less than what the
// parser will find.
type marks struct {
	// count is the number of signs that set off a value or a comment.
	count int
	// indent is the farthest column at which a block can begin, directives the number of lines that can be directives.
	indent, directives int
}

func countMarks(text string) marks {
	var m marks
	column, leading := 0, true // leading: only blanks and signs of blocks were in this line
	for i := range len(text) {
		c := text[i]
		if lineEnd(c) {
			column, leading = 0, true
			continue
		}
		block := c == ':' || (c == '-' || c == '?') && (i+1 == len(text) || !graphic(text[i+1]))
		switch {
		case block, c == ',', c == '[', c == '{', c == '#' && (i == 0 || !graphic(text[i-1])):
			m.count++
		case c == '%' && column == 0:
			m.directives++
		}
		blank := c == ' ' || c == '\t'
		if leading && !blank {
			m.indent = max(m.indent, column)
		}
		leading = leading && (blank || block)
		column++
	}
	return m
}

// lineEnd reports whether a byte ends a line, or is the last byte of a character that does.
func lineEnd(c byte) bool { return c == '\n' || c == '\r' || c == 0x85 || c == 0xA8 || c == 0xA9 }

// graphic reports whether a byte is a visible ASCII character.
func graphic(c byte) bool { return c > ' ' && c < 0x7F }

// bounded refuses a text that the parser is not to see.
func bounded(text string) error {
	m := countMarks(text)
	switch {
	case m.count > maxMarks:
		return fault.Invalid("yaml", `has more than %d marks of values and comments: , : [ { # and - or ? before a space`, maxMarks).
			Hint("Apply it in several bundles.")
	case m.indent > maxIndent:
		return fault.Invalid("yaml", "is indented by more than %d columns", maxIndent)
	case m.directives > maxDirectives:
		return fault.Invalid("yaml", "has more than %d lines that begin with %%", maxDirectives)
	}
	return nil
}
