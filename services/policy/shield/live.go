package shield

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// live finds where a match of an expression may still be under way at the end of a text. It steps through all states that the expression
// can be in, as regexp does, and keeps for each the earliest begin of a match that leads to it.
type live struct {
	prog  *syntax.Prog
	first [utf8.RuneSelf]bool // an ASCII character can begin a match
	words bool                // no match has a space or the end of a line
}

// spaces are the characters that matches of expressions for words do not have.
const spaces = " \n\r\t"

// newLive compiles an expression, which must be valid.
func newLive(expression string) *live {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		panic(err) // regexp has compiled it
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		panic(err)
	}
	l := &live{prog: prog}
	l.words = true
	for i := range prog.Inst {
		for _, c := range spaces {
			switch prog.Inst[i].Op {
			case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
				l.words = l.words && !prog.Inst[i].MatchRune(c)
			default:
			}
		}
	}
	var t threads
	t.reset(len(prog.Inst))
	l.add(&t, uint32(prog.Start), 0, ^syntax.EmptyOp(0))
	for c := range l.first {
		for _, thread := range t.list {
			i := &prog.Inst[thread.pc]
			l.first[c] = l.first[c] || i.Op == syntax.InstMatch || i.MatchRune(rune(c))
		}
	}
	return l
}

// threads are the states that a match can be in, each once, by begin.
type threads struct {
	list []thread
	seen []uint32
	turn uint32
}

type thread struct {
	pc   uint32
	from int
}

func (t *threads) reset(n int) {
	if len(t.seen) < n {
		t.seen, t.turn = make([]uint32, n), 0
	}
	t.list, t.turn = t.list[:0], t.turn+1
}

// add adds the states that are reached from pc without reading. Those of earlier begins are added before later ones, and stay.
func (l *live) add(t *threads, pc uint32, from int, holds syntax.EmptyOp) {
	if t.seen[pc] == t.turn {
		return
	}
	i := &l.prog.Inst[pc]
	if i.Op == syntax.InstEmptyWidth && syntax.EmptyOp(i.Arg)&^holds != 0 {
		return // another way may lead here with the same result
	}
	t.seen[pc] = t.turn
	switch i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		l.add(t, i.Out, from, holds)
		l.add(t, i.Arg, from, holds)
	case syntax.InstEmptyWidth, syntax.InstCapture, syntax.InstNop:
		l.add(t, i.Out, from, holds)
	case syntax.InstFail:
	default:
		t.list = append(t.list, thread{pc, from})
	}
}

// from returns the earliest position at which a match may begin that includes the end of the text, or would with more text; the length of
// the text if there is none.
func (l *live) from(text string) int {
	var now, next threads
	n := len(l.prog.Inst)
	now.reset(n)
	before, start := rune(-1), 0
	if l.words {
		start = max(0, strings.LastIndexAny(text, spaces)) // all before is over
	}
	for at := start; at < len(text); {
		c, width := rune(text[at]), 1
		if c >= utf8.RuneSelf {
			c, width = utf8.DecodeRuneInString(text[at:])
		}
		if len(now.list) > 0 || c >= utf8.RuneSelf || l.first[c] {
			l.add(&now, uint32(l.prog.Start), at, syntax.EmptyOpContext(before, c))
		}
		next.reset(n)
		holds := possible(c)
		if end := at + width; end < len(text) {
			after, _ := utf8.DecodeRuneInString(text[end:])
			holds = syntax.EmptyOpContext(c, after)
		}
		for _, t := range now.list {
			if i := &l.prog.Inst[t.pc]; i.Op != syntax.InstMatch && i.MatchRune(c) {
				l.add(&next, i.Out, t.from, holds)
			}
		}
		now, next = next, now
		before = c
		at += width
	}
	if len(now.list) == 0 {
		return len(text)
	}
	return now.list[0].from
}

// possible returns the conditions that can hold after a character, depending on what follows.
func possible(c rune) syntax.EmptyOp {
	const depends = syntax.EmptyEndLine | syntax.EmptyEndText | syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
	return depends | syntax.EmptyOpContext(c, -1)&(syntax.EmptyBeginLine|syntax.EmptyBeginText)
}
