// Package shield finds forbidden content in texts: patterns, secrets, personal data, invisible characters. It is deterministic and makes no
// calls.
package shield

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Stages that a shield can check.
const (
	Input  = "input"
	Tool   = "tool"
	Result = "result"
	Output = "output"
)

// Actions.
const (
	Block  = "block"
	Redact = "redact"
)

// Config describes one shield.
type Config struct {
	// Name is how agents refer to it.
	Name string `yaml:"name" doc:"Name by which agents request the shield; unique."`
	// Detector is "pattern", "secrets", "pii" or "invisible".
	Detector string `yaml:"detector" doc:"What it looks for: pattern (a regular expression), secrets (keys, tokens, passwords), pii (e-mail, phone, IBAN, card numbers) or invisible (invisible and direction-changing characters)."`
	// Pattern is for the detector "pattern".
	Pattern string `yaml:"pattern" doc:"For the detector pattern: a regular expression in RE2 syntax; (?i) at its beginning ignores case."`
	// Stage lists the stages that it checks.
	Stage []string `yaml:"stage" doc:"Where it looks: input, tool (arguments of tool calls), result (what tools answer), output. Empty: everywhere."`
	// Action is "block" or "redact".
	Action string `yaml:"action" doc:"block (default) or redact: what is found is replaced."`
}

// Shield is a configured shield. It is safe for concurrent use.
type Shield struct {
	// Name, Action and Stages as configured.
	Name, Action string
	Stages       []string
	find         detector
}

// detector returns its findings in a text, in any order; findings may overlap.
type detector func(text string) []finding

// finding is a part of a text.
type finding struct {
	from, to int
	category string
	remove   bool // remove it without a replacement
}

// New validates a configuration and returns the shield.
func New(c Config) (*Shield, error) {
	s := &Shield{Name: c.Name, Action: cmp.Or(c.Action, Block), Stages: c.Stage}
	if c.Name == "" {
		return nil, errors.New("a shield has no name")
	}
	if len(s.Stages) == 0 {
		s.Stages = []string{Input, Tool, Result, Output}
	}
	for _, stage := range s.Stages {
		if !slices.Contains([]string{Input, Tool, Result, Output}, stage) {
			return nil, fmt.Errorf("shield %q: there is no stage %q: want input, tool, result or output", c.Name, stage)
		}
	}
	if s.Action != Block && s.Action != Redact {
		return nil, fmt.Errorf("shield %q: there is no action %q: want block or redact", c.Name, c.Action)
	}
	if (c.Pattern != "") != (c.Detector == "pattern") {
		return nil, fmt.Errorf("shield %q: give a pattern with the detector pattern, and only there", c.Name)
	}
	switch c.Detector {
	case "pattern":
		re, err := regexp.Compile(c.Pattern)
		if err != nil {
			return nil, fmt.Errorf("shield %q: pattern: %w", c.Name, err)
		}
		s.find = pattern(re, "pattern")
	case "secrets":
		s.find = secrets()
	case "pii":
		s.find = personal()
	case "invisible":
		s.find = invisible
	default:
		return nil, fmt.Errorf("shield %q: there is no detector %q: want pattern, secrets, pii or invisible", c.Name, c.Detector)
	}
	return s, nil
}

// Looks reports whether the shield checks a stage.
func (s *Shield) Looks(stage string) bool { return slices.Contains(s.Stages, stage) }

// Check returns the sorted categories of all findings, and the text with all of them replaced. Without findings it returns no categories
// and the text itself.
func (s *Shield) Check(text string) (categories []string, redacted string) {
	found := s.find(text)
	if len(found) == 0 {
		return nil, text
	}
	slices.SortFunc(found, func(a, b finding) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var b strings.Builder
	end := 0
	for _, f := range found {
		if f.from < end { // inside or overlapping a replaced part
			end = max(end, f.to)
			continue
		}
		categories = append(categories, f.category)
		b.WriteString(text[end:f.from])
		if !f.remove {
			b.WriteString("[redacted:" + f.category + "]")
		}
		end = f.to
	}
	b.WriteString(text[end:])
	slices.Sort(categories)
	return slices.Compact(categories), b.String()
}

// pattern finds the matches of an expression, or only its group if it has one.
func pattern(re *regexp.Regexp, category string) detector {
	return func(text string) []finding {
		var out []finding
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[0], m[1]
			if category != "pattern" && len(m) > 2 && m[2] >= 0 { // our own expressions have a group; a user's pattern matches as a whole
				from, to = m[2], m[3]
			}
			if from < to {
				out = append(out, finding{from: from, to: to, category: category})
			}
		}
		return out
	}
}

// all combines detectors.
func all(list ...detector) detector {
	return func(text string) []finding {
		var out []finding
		for _, d := range list {
			out = append(out, d(text)...)
		}
		return out
	}
}

// checked keeps the findings whose text passes ok.
func checked(d detector, ok func(string) bool) detector {
	return func(text string) []finding {
		return slices.DeleteFunc(d(text), func(f finding) bool { return !ok(text[f.from:f.to]) })
	}
}
