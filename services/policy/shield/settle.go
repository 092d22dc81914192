package shield

import "strings"

// flagOutline is the text that decides whether tags belong to a flag.
const flagOutline = `\x{1F3F4}[\x{E0020}-\x{E007F}]{0,7}(?s:.)`

// open returns the position in a text from which on its findings may change with more text.
type open func(text string) int

// anyOf returns the earliest position of those of the expressions. Those for words are one, since only the last word counts for them.
func anyOf(expressions ...string) open {
	var words, others []string
	for _, e := range expressions {
		if newLive(e).words {
			words = append(words, e)
		} else {
			others = append(others, e)
		}
	}
	var all []*live
	for _, group := range [][]string{words, others} {
		if len(group) > 0 {
			all = append(all, newLive("(?:"+strings.Join(group, ")|(?:")+")"))
		}
	}
	return func(text string) int {
		from := len(text)
		for _, l := range all {
			from = min(from, l.from(text))
		}
		return from
	}
}

// foldedOpen is for detectors that read the text as folded does.
func foldedOpen(find open) open {
	return func(text string) int {
		plain, at := fold(text)
		from := find(plain)
		if at == nil {
			return from
		}
		return at[from]
	}
}

// Settled returns the part of the beginning of a text that no continuation changes, as the shield leaves it: redacted, or up to what it
// blocks. Shields that ask settle nothing.
func (s *Shield) Settled(text string) string {
	switch {
	case s.find == nil:
		return ""
	case s.Action != Redact && s.Action != Block:
		return text
	}
	found := s.find(text)
	end := s.open(text)
	for again := true; again; {
		again = false
		for _, f := range found {
			if f.from < end && (f.to > end || s.Action == Block) {
				end, again = f.from, true
			}
		}
	}
	if s.Action == Block {
		return text[:end]
	}
	kept := found[:0]
	for _, f := range found {
		if f.to <= end {
			kept = append(kept, f)
		}
	}
	_, redacted := redact(text[:end], kept)
	return redacted
}
