package reacttext

import (
	"encoding/json"
	"regexp"
	"strings"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

var (
	name = regexp.MustCompile("^[\\s\"'`*<\\[(]*([A-Za-z][A-Za-z0-9_.:/-]*)[\"'`*>\\])]*\\s*")
	none = regexp.MustCompile("(?i)^[\\s\"'`*\\[(]*(none|no action|nothing|null|n/a)\\b")
	ends = regexp.MustCompile("(?i)^[\\s\"'`*\\[(]*(final[ _-]?answer|finish)\\b[\"'`*]*")
)

// act reads an action and its input. It reports whether to read on, because the model says that there is nothing to do.
func (a *Answer) act(text string, in *string) (goOn bool) {
	if loc := inlineInput.FindStringIndex(text); loc != nil && in == nil {
		rest := text[loc[1]:]
		text, in = text[:loc[0]], &rest
	}
	if tool, args, ok := blob(text); ok {
		a.Tool, a.Input = tool, args
		return false
	}
	if m := ends.FindString(text); m != "" {
		answer := strings.Trim(strings.TrimSpace(text[len(m):]), "[]():")
		if in != nil {
			answer = *in
		}
		a.Final = strings.Trim(strings.TrimSpace(answer), "\"")
		return false
	}
	if none.MatchString(text) {
		return true
	}
	m := name.FindStringSubmatchIndex(text)
	if m == nil {
		a.Problem = problemNoTool
		return false
	}
	a.Tool, a.Problem = strings.TrimRight(text[m[2]:m[3]], ".:/-"), ""
	if in != nil {
		a.Input = strings.TrimSpace(*in)
		if rest := strings.TrimSpace(text[m[3]:]); strings.ContainsAny(rest, " ") && !strings.HasPrefix(rest, "(") {
			a.Tool = strings.TrimSpace(text) // a sentence: Resolve looks for the tool in it
		}
		return false
	}
	rest := strings.TrimSpace(text[m[3]:])
	switch {
	case strings.HasPrefix(rest, "(") && strings.HasSuffix(rest, ")"), strings.HasPrefix(rest, "[") && strings.HasSuffix(rest, "]"):
		a.Input = rest[1 : len(rest)-1]
	case strings.Contains(rest, "{"):
		a.Input = rest[strings.Index(rest, "{"):]
	case rest != "":
		a.Tool = strings.TrimSpace(text)
	}
	return false
}

var inlineInput = regexp.MustCompile(`(?i)\s*\baction[ _-]?input[ \t*]*[:：][ \t*]*`)

// blob reads an action that is one JSON object: {"action": "tool", "action_input": {…}}.
func blob(text string) (tool, in string, ok bool) {
	text = bare(text)
	if !strings.HasPrefix(text, "{") {
		return "", "", false
	}
	var fields map[string]json.RawMessage
	if json.NewDecoder(strings.NewReader(text)).Decode(&fields) != nil {
		return "", "", false
	}
	for _, key := range []string{"action", "tool", "name"} {
		if json.Unmarshal(fields[key], &tool) == nil && tool != "" {
			break
		}
	}
	if tool == "" {
		return "", "", false
	}
	for _, key := range []string{"action_input", "input", "arguments", "args", "parameters"} {
		if raw, there := fields[key]; there {
			return tool, string(raw), true
		}
	}
	return tool, "", len(fields) == 1
}

// bare takes fences and surrounding back quotes off.
func bare(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if !fence.MatchString(line) {
			lines = append(lines, line)
		}
	}
	text = strings.TrimSpace(strings.Join(lines, ""))
	if len(text) > 1 && text[0] == '`' && text[len(text)-1] == '`' {
		text = strings.TrimSpace(strings.Trim(text, "`"))
	}
	return text
}

// Resolve finds the tool that an action means: by its name in any case, by the part of it behind "__", or as a word in a sentence.
// An action that means no tool is given as it is: the mesh answers that it does not exist.
func Resolve(written string, tools []*inferencev1.ToolDefinition) *inferencev1.ToolDefinition {
	key := fold(written)
	var short []*inferencev1.ToolDefinition
	for _, t := range tools {
		if fold(t.GetName()) == key {
			return t
		}
		if _, own, ok := strings.Cut(t.GetName(), "__"); ok && fold(own) == key {
			short = append(short, t)
		}
	}
	if len(short) == 1 {
		return short[0]
	}
	if strings.ContainsAny(written, " \n") {
		for _, t := range tools {
			if strings.Contains(written, t.GetName()) {
				return t
			}
		}
	}
	return &inferencev1.ToolDefinition{Name: firstWord(written)}
}

func firstWord(text string) string {
	if m := name.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return strings.TrimSpace(text)
}

// fold makes names alike that differ in case and in their separators only.
func fold(text string) string {
	return strings.NewReplacer("_", "", ".", "", "-", "", "/", "", ":", "", " ", "").Replace(strings.ToLower(strings.TrimSpace(text)))
}
