// Package abacus is an agent without a model: it finds sums in the user's text, calls a tool to compute each of them, and answers with the
// results. It keeps its own memory for each session, as agent frameworks do. Both executor examples use it.
package abacus

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Schema is the version of the protocol implemented here.
const Schema = "windlass.executor/v1"

// Invocation is Windlass's request, with the fields used here.
type Invocation struct {
	Schema            string       `json:"schema"`
	Mode              string       `json:"mode"`
	InvocationID      string       `json:"invocation_id"`
	ExecutorSessionID string       `json:"executor_session_id"`
	Input             []Message    `json:"input"`
	ToolResults       []ToolResult `json:"tool_results"`
	Agent             struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	} `json:"agent"`
}

// Message is a user's message.
type Message struct {
	Text string `json:"text"`
}

// ToolResult is the result of a tool call.
type ToolResult struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
}

// Event is an event of an executor; the type determines the fields.
type Event map[string]any

// Agent serves all sessions whose memory is in one folder.
type Agent struct {
	// Dir holds a file for each session.
	Dir string
}

// memory is what the agent stores for a session.
type memory struct {
	Sums []string          `json:"sums"` // that were asked for, in order
	Open map[string]string `json:"open"` // sums that are being worked out, by call id
	Last string            `json:"last"` // the last round that asked for some
}

var sum = regexp.MustCompile(`[\d(][\d\s.+*/()-]*[+*/-][\d\s.+*/()-]*[\d)]`)

// Round runs one round and emits its events, except the end event.
func (a Agent) Round(in Invocation, emit func(Event)) error {
	if in.Schema != Schema {
		emit(Event{"type": "error", "code": "schema_unsupported", "message": "this executor speaks " + Schema})
		return nil
	}
	id := in.ExecutorSessionID
	m := memory{Open: map[string]string{}}
	if in.Mode == "resume" {
		raw, err := os.ReadFile(a.file(id))
		if errors.Is(err, fs.ErrNotExist) {
			emit(Event{"type": "error", "code": "session_not_found", "message": "no session " + id})
			return nil
		}
		if err == nil {
			err = json.Unmarshal(raw, &m)
		}
		if err != nil {
			return err
		}
	} else {
		id = "abacus-" + strings.ToLower(rand.Text()[:12])
	}
	emit(Event{"type": "session", "executor_session_id": id})
	if len(in.ToolResults) > 0 {
		a.tell(m, in.ToolResults, emit)
	} else {
		m = a.ask(m, in, emit)
	}
	return a.keep(id, m)
}

// ask calls a tool for each sum in the input.
func (a Agent) ask(m memory, in Invocation, emit func(Event)) memory {
	var sums []string
	for _, message := range in.Input {
		for _, s := range sum.FindAllString(message.Text, -1) {
			sums = append(sums, strings.Join(strings.Fields(s), ""))
		}
	}
	tool := ""
	for _, t := range in.Agent.Tools {
		if strings.HasSuffix(t.Name, "__evaluate") {
			tool = t.Name
		}
	}
	switch {
	case tool == "":
		emit(Event{"type": "answer", "text": "I have no tool that can calculate."})
		return m
	case len(sums) == 0:
		emit(Event{"type": "answer", "text": "Write me a sum, such as 6*7."})
		return m
	}
	if m.Last != in.InvocationID { // else an earlier attempt of this round has recorded them
		m.Last, m.Sums = in.InvocationID, append(m.Sums, sums...)
	}
	m.Open = map[string]string{}
	for i, s := range sums {
		call := fmt.Sprintf("sum-%d", len(m.Sums)-len(sums)+i+1)
		m.Open[call] = s
		emit(Event{"type": "tool_call", "id": call, "name": tool, "arguments": map[string]string{"expression": s}})
	}
	return m
}

// tell emits the results of the sums.
func (a Agent) tell(m memory, results []ToolResult, emit func(Event)) {
	for _, r := range results {
		text := r.Text + ". " // "6*7 = 42"
		if r.IsError {
			text = m.Open[r.ID] + " cannot be worked out: " + r.Text + ". "
		}
		emit(Event{"type": "text.delta", "text": text})
	}
	emit(Event{"type": "text.delta", "text": fmt.Sprintf("Sums in this session: %d.", len(m.Sums))})
	emit(Event{"type": "usage", "model_calls": 1})
}

func (a Agent) file(id string) string { return filepath.Join(a.Dir, filepath.Base(id)+".json") }

func (a Agent) keep(id string, m memory) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(a.file(id), raw, 0o600)
}
