// Package listing reads what a server lists of its tools: leniently where a tool can do without, and within limits.
package listing

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/schema"
)

// Tool is a tool as its server describes it.
type Tool struct {
	Name        string          `json:"name"`
	Title       Text            `json:"title"`
	Description Text            `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations Hints           `json:"annotations"`
}

// Text is a text that a tool can do without: anything else counts as none.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = Text(s)
	}
	return nil
}

// Hints are the annotations of a tool. Those that are not as the protocol has them say nothing.
type Hints struct {
	Title                             Text
	ReadOnly, Idempotent, Destructive *bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Hints) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // what is not an object has none
	for name, flag := range map[string]**bool{
		"readOnlyHint": &h.ReadOnly, "idempotentHint": &h.Idempotent, "destructiveHint": &h.Destructive,
	} {
		if text := string(members[name]); text == "true" || text == "false" {
			value := text == "true"
			*flag = &value
		}
	}
	return h.Title.UnmarshalJSON(members["title"])
}

// MaxCompiled limits the schemas of one list that are compiled on arrival, in bytes. Further ones are compiled on first use.
const MaxCompiled = 1 << 20

// Budget is what is left of it.
type Budget int

// Check rejects a tool whose schema exceeds a limit. Other schema errors are left to the tool.
func (b *Budget) Check(input, output json.RawMessage) error {
	for _, text := range []json.RawMessage{input, output} {
		err := schema.Check(text)
		if err == nil && bytes.Contains(text, []byte(`"$ref"`)) && int(*b) >= len(text) { // without references the size bounds the expansion
			*b -= Budget(len(text))
			_, err = schema.Compile(text)
		}
		if errors.Is(err, schema.ErrLimit) {
			return err
		}
	}
	return nil
}

// Headers are the tools that require some arguments to be repeated as HTTP headers. The zero value is ready for use.
type Headers struct {
	// Learning is held while the tools are being listed.
	Learning sync.Mutex

	mu    sync.Mutex
	known bool
	tools map[string]*mcp.Tool
}

// Set records the tools, nil if they are not known to need any.
func (h *Headers) Set(tools map[string]*mcp.Tool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known, h.tools = true, tools
}

// Known reports whether the tools were listed.
func (h *Headers) Known() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known
}

// Forget makes the next call list the tools first.
func (h *Headers) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known = false
}

// Add copies a call's arguments into the headers that its tool requires.
func (h *Headers) Add(header http.Header, name string, params json.RawMessage) {
	h.mu.Lock()
	t := h.tools[name]
	h.mu.Unlock()
	if t == nil {
		return
	}
	for key, value := range mcp.GenerateParamHeaders(t, params) {
		header.Set(key, value)
	}
}
