// Package reacttext speaks the Thought / Action / Action Input / Observation protocol with models that know no native tool calls. It
// writes tools and conversation as text, and reads what the model writes, however loosely it keeps to the form. It has no I/O.
package reacttext

import (
	"regexp"
	"strings"
)

// Answer is what a model's text says. Exactly one of Tool, Final and Problem is set, except that a final answer may be empty only
// together with a Problem.
type Answer struct {
	// Thought is what comes before the action or the answer, without labels.
	Thought string
	// Tool is the action as the model wrote it, without decoration; see Resolve.
	Tool string
	// Input is the raw action input; see Arguments.
	Input string
	// Final is the answer for the user.
	Final string
	// Problem says, for the model, why its text cannot be read.
	Problem string
}

// kind is the meaning of a line's label.
type kind int

const (
	plain kind = iota
	thought
	action
	input
	observation
	final
)

var label = regexp.MustCompile(
	`(?i)^[ \t>*#_-]{0,8}(thoughts?|action[ _-]?input|action|observation|final[ _-]?answer|answer)[ \t*_]*[:：](?:\*\*)?[ \t]*`,
)

// labelled returns the label that a line begins with and how long it is; plain and 0 without one.
func labelled(line string) (kind, int) {
	m := label.FindStringSubmatchIndex(line)
	if m == nil {
		return plain, 0
	}
	return kindOf(line[m[2]:m[3]]), m[1]
}

func kindOf(word string) kind {
	switch word = strings.ToLower(word); {
	case strings.HasPrefix(word, "thought"):
		return thought
	case word == "action":
		return action
	case strings.HasPrefix(word, "action"):
		return input
	case word == "observation":
		return observation
	default:
		return final
	}
}

// section is a label and the text up to the next one.
type section struct {
	kind kind
	text string
}

// sections splits a text at its labels. What follows the label of the final answer is all part of it.
func sections(text string) []section {
	out := []section{{}}
	lines := strings.SplitAfter(text, "\n")
	for _, line := range lines {
		last := &out[len(out)-1]
		k, n := labelled(line)
		switch {
		case last.kind == final:
			last.text += line
		case n > 0:
			out = append(out, section{k, line[n:]})
		case fence.MatchString(line) && last.kind != input && last.kind != action:
			// a fence around the whole
		default:
			last.text += line
		}
	}
	if out[0].text == "" || strings.TrimSpace(out[0].text) == "" {
		out = out[1:]
	}
	return out
}

var fence = regexp.MustCompile("^[ \t]*```[A-Za-z]*[ \t]*\r?\n?$")

// Problems in the words that the model reads.
const (
	problemEmpty    = "Your answer was empty."
	problemNoTool   = "There is an Action line, but it names no tool."
	problemNoAction = "There is an Action Input, but no Action line that names a tool."
	problemThoughts = "There is a Thought, but neither an Action nor a Final Answer."
)

// Parse reads a model's text: the first action, else the final answer; a text without any label is a final answer.
func Parse(text string) Answer {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.TrimSpace(text) == "" {
		return Answer{Problem: problemEmpty}
	}
	all := sections(text)
	if len(all) == 0 || len(all) == 1 && all[0].kind == plain {
		return unlabelled(text)
	}
	var a Answer
	var thoughts []string
	for i, s := range all {
		switch s.kind {
		case plain, thought:
			thoughts = append(thoughts, strings.TrimSpace(s.text))
			continue
		case observation: // the model makes results up: nothing behind it counts
		case final:
			a.Final = unfence(text, s.text)
		case input:
			if i > 0 && all[i-1].kind == action { // of an action that is none
				continue
			}
			a.Problem = problemNoAction
		case action:
			if a.act(s.text, following(all, i)) {
				continue
			}
		}
		break
	}
	a.Thought = strings.TrimSpace(strings.Join(thoughts, "\n"))
	if a.Tool == "" && a.Final == "" && (a.Problem == "" || a.Problem == problemThoughts) {
		a.inline()
	}
	return a
}

// following is the input that belongs to the action at i, and whether there is one.
func following(all []section, i int) *string {
	if i+1 < len(all) && all[i+1].kind == input {
		return &all[i+1].text
	}
	return nil
}

// unlabelled reads a text that does not keep to the form at all: an action in one line or as JSON, or simply the answer.
func unlabelled(text string) Answer {
	a := Answer{Thought: strings.TrimSpace(text)}
	if a.inline(); a.Problem == "" {
		return a
	}
	if tool, in, ok := blob(text); ok {
		return Answer{Tool: tool, Input: in}
	}
	return Answer{Final: strings.TrimSpace(text)}
}

var (
	inlineAction = regexp.MustCompile(`(?is)\baction[ \t*]*[:：]\s*(.+?)\s*\baction[ _-]?input[ \t*]*[:：]\s*(.+)`)
	inlineFinal  = regexp.MustCompile(`(?is)\bfinal[ _-]?answer[ \t*]*[:：][ \t*]*(.+)`)
)

// inline looks for labels in the middle of the thought's lines.
func (a *Answer) inline() {
	act, end := inlineAction.FindStringSubmatchIndex(a.Thought), inlineFinal.FindStringSubmatchIndex(a.Thought)
	switch text := a.Thought; {
	case act != nil && (end == nil || act[0] < end[0]):
		in := text[act[4]:act[5]]
		a.act(text[act[2]:act[3]], &in)
		a.Thought = strings.TrimSpace(text[:act[0]])
	case end != nil:
		a.Final, a.Problem = strings.TrimSpace(text[end[2]:end[3]]), ""
		a.Thought = strings.TrimSpace(text[:end[0]])
	case a.Problem == "":
		a.Problem = problemThoughts
	}
}

// unfence takes the end of a fence off the final answer whose beginning stood before its label.
func unfence(whole, answer string) string {
	answer = strings.TrimSpace(answer)
	if cut, ok := strings.CutSuffix(answer, "```"); ok && strings.Count(answer, "```")%2 == 1 &&
		strings.HasPrefix(strings.TrimSpace(whole), "```") {
		return strings.TrimSpace(cut)
	}
	return answer
}

// Salvage makes the best of a text that cannot be read: all of it, without labels, as the final answer.
func Salvage(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		_, n := labelled(line)
		lines[i] = line[n:]
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
