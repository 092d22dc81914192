package reacttext

import (
	"regexp"
	"strings"
)

// Splitter sorts a text as it comes: what the model thinks, and what it tells the user. Actions are for neither. It sees labels at the
// beginning of lines only; a text without any label counts as thought, until Parse knows better.
type Splitter struct {
	// Think and Say take the pieces, as soon as it is sure what they are. Required.
	Think, Say func(string)

	at    kind
	line  string // beginning of a line that may become a label
	mid   bool   // the line's beginning is decided
	space string // held back until more follows
	begun bool   // something was given out since the last label
}

// Add takes more of the text.
func (s *Splitter) Add(text string) {
	for text != "" {
		if s.mid || s.at == final {
			text = s.rest(text)
			continue
		}
		i := strings.IndexByte(text, '\n') + 1
		if i == 0 {
			i = len(text)
		}
		// Letter by letter, for a label ends anywhere in the line.
		taken := 0
		for taken < i && !s.decided() {
			s.line += text[taken : taken+1]
			taken++
		}
		text = text[taken:]
		if s.decided() {
			s.decide()
		}
	}
}

// rest gives out what belongs to a line that has been decided.
func (s *Splitter) rest(text string) string {
	i := len(text)
	if n := strings.IndexByte(text, '\n'); n >= 0 && s.at != final {
		i, s.mid = n+1, false
	}
	s.give(text[:i])
	return text[i:]
}

var maybeLabel = regexp.MustCompile(`(?i)^[ \t>*#_-]{0,8}([a-z]*(?:[ _-]?[a-z]*)?)[ \t*_]*$`)

// decided reports whether the beginning of the line is a label for sure, or none for sure.
func (s *Splitter) decided() bool {
	if s.line == "" {
		return false
	}
	if _, n := labelled(s.line); n > 0 {
		return n < len(s.line) && s.line[len(s.line)-1] != '*' || strings.HasSuffix(s.line, " ") || strings.HasSuffix(s.line, "**")
	}
	m := maybeLabel.FindStringSubmatch(s.line)
	if m == nil || len(s.line) > 40 {
		return !strings.HasSuffix(s.line, "\xef") && !strings.HasSuffix(s.line, "\xef\xbc") // the beginning of a wide colon
	}
	word := strings.TrimRight(strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(m[1])), " ")
	for _, l := range []string{"thoughts", "action input", "actioninput", "observation", "final answer", "finalanswer", "answer"} {
		if strings.HasPrefix(l, word) {
			return false
		}
	}
	return true
}

// decide takes the line's beginning as what it is.
func (s *Splitter) decide() {
	k, n := labelled(s.line)
	switch {
	case n == 0:
		text := s.line
		s.line, s.mid = "", !strings.HasSuffix(text, "\n")
		s.give(text)
		return
	case s.at != action && s.at != observation: // only the first action counts, and nothing behind it
		if s.at = k; k == input {
			s.at = action
		}
		s.begun = false
	}
	rest := s.line[n:]
	s.line, s.mid = "", !strings.HasSuffix(rest, "\n")
	s.give(rest)
}

// give passes text on without the space around it.
func (s *Splitter) give(text string) {
	out := s.Think
	switch s.at {
	case final:
		out = s.Say
	case action, observation:
		return
	}
	if !s.begun {
		text = strings.TrimLeft(text, " \t\r\n")
		s.space = ""
	}
	body := strings.TrimRight(text, " \t\r\n")
	if body == "" {
		s.space += text
		return
	}
	out(s.space + body)
	s.space, s.begun = text[len(body):], true
}

// Close gives out what was held back for a label that did not come.
func (s *Splitter) Close() {
	if s.line != "" {
		s.decide()
	}
}
