package cite

import (
	"fmt"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
)

// maxCitations bounds the citations of one text. Marks behind the last one are removed.
const maxCitations = 100

// Writer replaces the marks of passages in a text that comes in pieces: a mark of a passage that the sources have becomes its number, as in
// "[1]", and any other mark is removed. It holds back what may be the beginning of marks, and the space before that. The result does not
// depend on how the text is cut into pieces. The zero value removes all marks.
type Writer struct {
	sources *Sources

	pending   string // read, and not decided
	before    byte   // the byte before pending; 0 at the beginning
	owed      bool   // a space is written before the next character, unless that is one of closing
	out       strings.Builder
	written   int // bytes of the result so far
	numbers   []passage.Passage
	citations []*turnv1.Citation
}

// closing are the characters before which no space is written where a mark was removed.
const closing = " .,;:!?)\n"

// Writer returns a Writer for one text.
func (s *Sources) Writer() *Writer { return &Writer{sources: s} }

// Add takes a piece of the text, and returns what can be passed on.
func (w *Writer) Add(piece string) string {
	w.pending += piece
	w.decide(false)
	return w.taken()
}

// Close returns the rest. The beginning of a mark at the end of the text is removed.
func (w *Writer) Close() string {
	w.decide(true)
	w.owed = false
	return w.taken()
}

// Citations returns what the text cites so far.
func (w *Writer) Citations() []*turnv1.Citation { return w.citations }

func (w *Writer) taken() string {
	out := w.out.String()
	w.out.Reset()
	return out
}

// decide passes on pending as far as more text cannot change the decision; all of it at the end.
func (w *Writer) decide(end bool) {
	for w.pending != "" {
		if n := w.plain(); n > 0 {
			w.emit(w.pending[:n])
			w.drop(n)
			continue
		}
		u := scan(w.pending, end)
		switch {
		case u.partial && !end:
			return
		case u.partial && !u.clear && len(u.marks) == 0, u.length == 0:
			w.emit(w.pending[:1])
			w.drop(1)
		default:
			w.resolve(u)
			w.drop(u.length)
		}
	}
}

// plain is how many bytes of pending begin no mark.
func (w *Writer) plain() int {
	before := w.before
	for i := range len(w.pending) {
		c := w.pending[i]
		if c == '[' || c == ' ' && w.sources != nil || c == 'k' && !wordByte(before) {
			return i
		}
		before = c
	}
	return len(w.pending)
}

func (w *Writer) drop(n int) {
	w.before, w.pending = w.pending[n-1], w.pending[n:]
}

func (w *Writer) emit(text string) {
	if w.owed && !strings.ContainsRune(closing, rune(text[0])) {
		w.out.WriteByte(' ')
		w.written++
	}
	w.owed = false
	w.out.WriteString(text)
	w.written += len(text)
}

// resolve writes what stands for marks.
func (w *Writer) resolve(u unit) {
	resolved := false
	for _, mark := range u.marks {
		p, ok := w.sources.find(mark)
		if !ok || len(w.citations) == maxCitations {
			continue
		}
		if u.spaced && !resolved {
			w.emit(" ")
		}
		resolved = true
		n := w.number(p)
		if w.owed { // the mark is written behind it
			w.emit(" ")
		}
		w.citations = append(w.citations, p.citation(n, w.written))
		w.emit(numeral(n))
	}
	w.owed = w.owed || u.spaced && !resolved
}

// number returns the number of a passage: those of the text are numbered in their order.
func (w *Writer) number(p source) int {
	for i, known := range w.numbers {
		if known.Same(p.Passage) {
			return i + 1
		}
	}
	w.numbers = append(w.numbers, p.Passage)
	return len(w.numbers)
}

func numeral(n int) string { return fmt.Sprintf("[%d]", n) }
