package structured

import (
	"strings"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

// translation makes the text of an answer of the call of the answer's tool.
type translation struct {
	emit     func(provider.Delta) error
	calls    map[int]int // our index of a call by the provider's; answer for the answer's
	next     int
	answered bool
	text     strings.Builder // text beside calls, which waits for what comes
}

// answer is the index of the call with the answer.
const answer = -1

// take passes a piece on. The text waits: beside the answer it is no part of it.
func (t *translation) take(d provider.Delta) error {
	if d.Text != "" {
		t.text.WriteString(d.Text)
		d.Text, d.Withheld = "", d.Withheld+len(d.Text)
	}
	if d.Call == nil {
		return t.emit(d)
	}
	c := *d.Call
	index, known := t.calls[c.Index]
	if !known {
		if c.Tool == answerTool && !t.answered {
			index, t.answered = answer, true
		} else {
			index = t.next
			t.next++
		}
		t.calls[c.Index] = index
	}
	if index == answer {
		return t.emit(provider.Delta{Reasoning: d.Reasoning, Text: c.Arguments, Withheld: d.Withheld})
	}
	c.Index = index
	d.Call = &c
	return t.emit(d)
}

// end passes the text on: as the answer, or as reasoning beside it.
func (t *translation) end() error {
	switch text := t.text.String(); {
	case text == "":
		return nil
	case t.answered:
		return t.emit(provider.Delta{Reasoning: text})
	default:
		return t.emit(provider.Delta{Text: text})
	}
}
