// Package document is what the kinds of documents have in common: a text with the blocks that it consists of, and why there is none.
package document

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxText limits the text of a document in bytes.
	MaxText = 32 << 20
	// MaxBlocks limits its blocks.
	MaxBlocks = 500_000
	// MaxDepth limits how deep its parts are nested.
	MaxDepth = 200
	// maxTitle limits its title in bytes.
	maxTitle = 512
)

// Kind is what a block is.
type Kind int

// Kinds of blocks.
const (
	Paragraph Kind = iota
	Heading
	List  // an item of a list
	Code  // lines whose spaces count
	Table // a row in each line
	Quote
)

// Block is a part of a document. Blocks are in order, do not overlap, and have all of the text but the empty lines between them.
type Block struct {
	Kind Kind
	// Start and End are its bytes in the text.
	Start, End int
	// Level is that of a heading, from 1, or of an item in a list, from 1; 0 for other blocks.
	Level int
	// Page is the page or slide, from 1; 0 if the kind of document has none.
	Page int
}

// Document is the text of a file and its structure. Text is valid UTF-8 without control characters other than "\n", which
// ends lines, and tabs.
type Document struct {
	MediaType, Title, Text string
	Blocks                 []Block
}

// Input is a file.
type Input struct {
	Name, MediaType string
	Data            []byte
}

// Error is why a document cannot be read. Its text continues the name of the document, says what can be done, and has
// nothing of its content.
type Error struct {
	Text string
	// Exhausted: it could not be read within the limits of time and memory, which another attempt may be.
	Exhausted bool
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Refuse returns an *Error.
func Refuse(format string, args ...any) error { return &Error{Text: fmt.Sprintf(format, args...)} }

// Builder makes a document from its blocks.
type Builder struct {
	out    strings.Builder
	blocks []Block
	title  string
	page   int
	err    error
}

// SetPage says on which page the next blocks are.
func (b *Builder) SetPage(n int) { b.page = n }

// SetTitle sets the title, unless the document has one already.
func (b *Builder) SetTitle(title string) {
	title = strings.Join(strings.Fields(Clean(title)), " ")
	for len(title) > maxTitle {
		_, size := utf8.DecodeLastRuneInString(title)
		title = title[:len(title)-size]
	}
	if b.title == "" {
		b.title = title
	}
}

// Fail lets the document be refused.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Err is why the document is refused so far.
func (b *Builder) Err() error { return b.err }

// Add appends a block, unless it is blank or the document is refused. The first heading of level 1 is the title of a document without one.
func (b *Builder) Add(kind Kind, level int, text string) {
	if b.err != nil {
		return
	}
	text = Clean(text)
	if kind == Code || kind == List {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
		for line, after, more := strings.Cut(text, "\n"); more && strings.TrimSpace(line) == ""; line, after, more = strings.Cut(text, "\n") {
			text = after
		}
	} else {
		text = strings.TrimSpace(text)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if n := len(b.blocks); n > 0 {
		if b.blocks[n-1].Kind == List && kind == List {
			b.out.WriteByte('\n')
		} else {
			b.out.WriteString("\n\n")
		}
	}
	switch {
	case b.out.Len()+len(text) > MaxText:
		b.err = Refuse("has more than %d MiB of text: split it into several documents", MaxText>>20)
		return
	case len(b.blocks) == MaxBlocks:
		b.err = Refuse("has more than %d paragraphs: split it into several documents", MaxBlocks)
		return
	case kind == Heading && level == 1:
		b.SetTitle(text)
	}
	start := b.out.Len()
	b.out.WriteString(text)
	b.blocks = append(b.blocks, Block{Kind: kind, Start: start, End: b.out.Len(), Level: level, Page: b.page})
}

// Room returns how many bytes of text are left.
func (b *Builder) Room() int { return MaxText - b.out.Len() }

// Document returns the document, or why it is refused.
func (b *Builder) Document() (Document, error) {
	if b.err == nil && len(b.blocks) == 0 {
		b.err = Refuse("has no text")
	}
	if b.err != nil {
		return Document{}, b.err
	}
	return Document{Title: b.title, Text: b.out.String(), Blocks: b.blocks}, nil
}

// Clean returns valid text with "\n" as line end, without control characters other than that and tabs, and without marks of byte order.
func Clean(text string) string {
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\f', r == '\v', r == 0x85, r == 0x2028:
			return '\n'
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfeff:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// OneLine returns a text with single spaces in place of blank characters.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
