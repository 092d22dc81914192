package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

var errRange = errors.New("is out of range")

// scanner scans a message.
type scanner struct {
	text string
	pos  int
	out  script
}

// parse reads the directives of a message. A number out of range is an error.
func parse(text string) (script, error) {
	s := scanner{text: text, out: script{stages: []stage{{loop: 1}}, finish: provider.Stop}}
	var rest strings.Builder
	for s.pos < len(text) {
		switch name, value := s.directive(s.pos); {
		case name != "":
			s.pos = value
			if err := s.read(name); err != nil {
				return script{}, err
			}
		case s.then(s.pos):
			s.pos += len("then")
			if len(s.stage().calls) > 0 {
				s.out.stages = append(s.out.stages, stage{loop: 1})
			}
		default:
			next := s.nextWord(s.pos)
			rest.WriteString(text[s.pos:next])
			s.pos = next
		}
	}
	s.out.rest = strings.TrimSpace(rest.String())
	return s.out, nil
}

func (s *scanner) stage() *stage { return &s.out.stages[len(s.out.stages)-1] }

var directive = regexp.MustCompile(`^(?:(call):[A-Za-z0-9_.-]|(say|think):\S|(cite):\s*\S|(json):[{\[]|(loop|slow|first|tokens):\d+(?:\s|$)` +
	`|(fail):(?:once|always)(?:\s|$)|(image):all(?:\s|$)|(finish):(?:stop|length|content_filter)(?:\s|$))`)

// directive returns the name of the directive that begins at pos, and where its value begins; "" if there is none.
func (s *scanner) directive(pos int) (name string, value int) {
	if pos > 0 && !isSpace(s.text[pos-1]) {
		return "", 0
	}
	m := directive.FindStringSubmatch(s.text[pos:])
	if m == nil {
		return "", 0
	}
	name = strings.Join(m[1:], "") // exactly one group matched
	return name, pos + len(name) + 1
}

// then reports whether the word that separates stages is at pos.
func (s *scanner) then(pos int) bool {
	if !strings.HasPrefix(s.text[pos:], "then") || (pos > 0 && !isSpace(s.text[pos-1])) {
		return false
	}
	after := pos + len("then")
	next := s.skipSpace(after)
	name, _ := s.directive(next)
	return next > after && name != ""
}

// nextWord returns the start of the word after the one at pos.
func (s *scanner) nextWord(pos int) int {
	for pos < len(s.text) && !isSpace(s.text[pos]) {
		pos++
	}
	return s.skipSpace(pos)
}

func (s *scanner) skipSpace(pos int) int {
	for pos < len(s.text) && isSpace(s.text[pos]) {
		pos++
	}
	return pos
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// read reads the value of a directive and moves after it.
func (s *scanner) read(name string) (err error) {
	switch name {
	case "call":
		s.readCall()
	case "say":
		s.out.say = append(s.out.say, s.run())
	case "cite":
		s.pos = s.skipSpace(s.pos)
		s.stage().calls = append(s.stage().calls, searchFor(s.run()))
		s.out.cites = true
	case "json":
		var value json.RawMessage
		if n := s.json(&value); n > 0 {
			s.out.json, s.pos = append(s.out.json, string(value)), s.pos+n
		} else {
			s.out.json = append(s.out.json, s.run())
		}
	case "think":
		s.stage().think = s.run()
	case "loop":
		s.stage().loop, err = s.number(name, maxLoop)
	case "tokens":
		var n int
		if n, err = s.number(name, maxTokens); n > 0 {
			s.out.say = append(s.out.say, filler(n))
		}
	case "slow":
		s.out.slow, err = s.millis(name, maxSlow)
	case "first":
		s.out.first, err = s.millis(name, maxFirst)
	case "image":
		s.word()
		s.out.images = true
	case "fail":
		s.out.fail = s.word()
	case "finish":
		s.out.finish = s.word()
	}
	s.pos = s.skipSpace(s.pos)
	return err
}

// readCall reads a tool's name and arguments.
func (s *scanner) readCall() {
	start := s.pos
	for s.pos < len(s.text) && (s.text[s.pos] == '_' || s.text[s.pos] == '.' || s.text[s.pos] == '-' || isAlnum(s.text[s.pos])) {
		s.pos++
	}
	c := call{tool: s.text[start:s.pos], arguments: "{}"}
	if open := s.skipSpace(s.pos); open < len(s.text) && s.text[open] == '{' {
		s.pos = open
		var object json.RawMessage
		if n := s.json(&object); n > 0 {
			c.arguments, s.pos = string(object), s.pos+n
		} else {
			c.arguments = s.run()
		}
	}
	s.stage().calls = append(s.stage().calls, c)
}

// json decodes the JSON value at pos and returns its length, 0 if there is none.
func (s *scanner) json(into any) int {
	dec := json.NewDecoder(strings.NewReader(s.text[s.pos:]))
	if dec.Decode(into) != nil {
		return 0
	}
	return int(dec.InputOffset())
}

// run reads text up to the next directive, or a JSON string.
func (s *scanner) run() string {
	var quoted string
	if s.text[s.pos] == '"' {
		if n := s.json(&quoted); n > 0 {
			s.pos += n
			return quoted
		}
	}
	start := s.pos
	for s.pos = s.nextWord(start); s.pos < len(s.text); s.pos = s.nextWord(s.pos) {
		if name, _ := s.directive(s.pos); name != "" || s.then(s.pos) {
			break
		}
	}
	return strings.TrimSpace(s.text[start:s.pos])
}

// word reads up to the next space.
func (s *scanner) word() string {
	start := s.pos
	for s.pos < len(s.text) && !isSpace(s.text[s.pos]) {
		s.pos++
	}
	return s.text[start:s.pos]
}

func (s *scanner) number(name string, limit int) (int, error) {
	word := s.word()
	n, err := strconv.Atoi(word)
	if err != nil || n > limit {
		return 0, fmt.Errorf("%s:%s %w, %d at most", name, word, errRange, limit)
	}
	return n, nil
}

func (s *scanner) millis(name string, limit int) (time.Duration, error) {
	n, err := s.number(name, limit)
	return time.Duration(n) * time.Millisecond, err
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
