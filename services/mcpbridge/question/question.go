// Package question has what servers ask during a call: forms for the user, and requests that a caller which speaks MCP answers itself. In
// protocols before 2026-07-28 they arrive as requests of the server, since then as a result that asks instead of answering.
package question

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
)

// Limits of a tool's questions.
const (
	maxQuestion = 16 << 10  // bytes of the text
	maxForm     = 64 << 10  // bytes of the schema
	maxRequest  = 1 << 20   // bytes of the server's requests that are passed on
	maxState    = 128 << 10 // bytes of the state stored for the answer
)

// Input is what a call needs to go on: a form, or requests of the server that are passed on.
type Input struct {
	// Message and Schema are the form.
	Message, Schema string
	// Requests are the requests by name, JSON.
	Requests []byte
	// State is that of the question, for the answer.
	State []byte
}

// Answer is the user's answer.
type Answer struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`

	// Whole is the result of a request that was passed on, if that is no elicitation's.
	Whole json.RawMessage `json:"whole,omitempty"`
}

// State is the state of a question, which is stored by callers until the answer comes.
type State struct {
	// RequestState and Keys are for protocol 2026-07-28: the server's own state, and the names of its requests.
	RequestState string   `json:"request_state,omitempty"`
	Keys         []string `json:"keys,omitempty"`
	// Asked and Said are for earlier protocols: the question, and the answers to earlier ones.
	Asked string `json:"asked,omitempty"`
	Said  []said `json:"said,omitempty"`
	// Passed means that the server's requests were passed on unchanged, so the answer has responses by name.
	Passed bool `json:"passed,omitempty"`
}

// said is an answer for the server when it asks the same question again.
type said struct {
	Question string `json:"question"` // its hash: questions may contain secrets
	Answer   Answer `json:"answer"`
}

// form is one request of a server during a call: an elicitation, or a request for a completion.
type form struct {
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`

	method string          // empty = elicitation/create
	params json.RawMessage // as they came
}

// wrong says why a question cannot be passed on; empty if it can.
func (f form) wrong() string {
	switch {
	case f.method != "":
		if len(f.params) > maxRequest {
			return "the tool asks for a completion of messages that are too large to be passed on"
		}
		return ""
	case f.Mode != "" && f.Mode != "form":
		return fmt.Sprintf("the tool asks the user to do something in mode %q; only forms are passed on", f.Mode)
	case len(f.Message) > maxQuestion || len(f.Schema) > maxForm:
		return "the tool asks the user a question that is too large to be passed on"
	}
	if _, err := schema.Compile(f.Schema); errors.Is(err, schema.ErrLimit) {
		return "the tool asks the user a question that cannot be passed on: " + err.Error()
	}
	return ""
}

// hash identifies the question, whatever the order of members in its schema.
func (f form) hash() string {
	schema := []byte(f.Schema)
	if f.method != "" {
		schema = f.params
	}
	var v any
	if json.Unmarshal(schema, &v) == nil {
		if canonical, err := json.Marshal(v); err == nil {
			schema = canonical
		}
	}
	sum := sha256.Sum256(slices.Concat([]byte(f.Message), []byte{0}, schema))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// input returns the question to pass on.
func (f form) input(s *server.Spec, state State) (*Input, string) {
	kept, err := json.Marshal(state)
	if err != nil || len(kept) > maxState {
		return nil, "the tool asks the user something with more state than can be kept"
	}
	if len(f.Schema) == 0 {
		f.Schema = json.RawMessage(`{"type":"object"}`)
	}
	clean := func(text string) string { return s.Withhold(strings.ToValidUTF8(text, "\uFFFD")) }
	return &Input{Message: clean(f.Message), Schema: clean(string(f.Schema)), State: kept}, ""
}

// Of returns what a call ended with if it is a question: the one that the server asked during the call, nil for none, or the result. The
// text says why a question cannot be passed on; neither is set if the result is an answer.
func (c Caller) Of(s *server.Spec, asked *Asked, result json.RawMessage) (*Input, string) {
	switch {
	case asked != nil && len(c.Accepts) > 0:
		return c.passOn(s, asked.question.asRequests(), State{Asked: asked.question.hash(), Said: asked.said})
	case asked != nil:
		return asked.question.input(s, State{Asked: asked.question.hash(), Said: asked.said})
	case len(c.Accepts) > 0:
		return c.requests(s, result)
	}
	return asks(s, result)
}

// asks reads a result of protocol 2026-07-28 that asks instead of answering: the question, or why it cannot be passed on; neither if the
// result is an answer.
func asks(s *server.Spec, raw json.RawMessage) (*Input, string) {
	if !bytes.Contains(raw, []byte(`"input_required"`)) {
		return nil, ""
	}
	var d struct {
		Type     string `json:"resultType"`
		Requests map[string]struct {
			Method string `json:"method"`
			Params form   `json:"params"`
		} `json:"inputRequests"`
		State string `json:"requestState"`
	}
	if json.Unmarshal(raw, &d) != nil || d.Type != string(mcp.ResultTypeInputRequired) {
		return nil, ""
	}
	keys := slices.Sorted(maps.Keys(d.Requests))
	forms := make([]form, len(keys))
	for i, key := range keys {
		forms[i] = d.Requests[key].Params
		if method := d.Requests[key].Method; method != string(mcp.MethodElicitationCreate) {
			return nil, fmt.Sprintf("the tool asks for %s, which is not passed on", method)
		}
		if why := forms[i].wrong(); why != "" {
			return nil, why
		}
	}
	switch len(forms) {
	case 0:
		return nil, "the tool asks for input without saying what; its server may be busy, so try again later"
	case 1:
		return forms[0].input(s, State{RequestState: d.State, Keys: keys})
	}
	all, err := together(keys, forms)
	if err != nil {
		return nil, "the tool asks the user something that is no form"
	}
	return all.input(s, State{RequestState: d.State, Keys: keys})
}

// together merges several forms into one, with a member for each.
func together(keys []string, forms []form) (form, error) {
	members, messages := map[string]json.RawMessage{}, make([]string, len(keys))
	for i, f := range forms {
		if len(f.Schema) == 0 {
			f.Schema = json.RawMessage(`{"type":"object"}`)
		}
		members[keys[i]], messages[i] = f.Schema, keys[i]+": "+f.Message
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": members, "required": keys})
	return form{Message: strings.Join(messages, "\n"), Schema: schema}, err
}

// again adds to a call's parameters what protocol 2026-07-28 requires with the answer.
func (s State) again(params map[string]any, a Answer, given Responses) {
	if len(s.Keys) == 0 {
		return
	}
	if s.Passed {
		maps.DeleteFunc(given, func(_ string, r json.RawMessage) bool { return string(r) == "null" })
		params["inputResponses"] = given
		if s.RequestState != "" {
			params["requestState"] = s.RequestState
		}
		return
	}
	responses := map[string]Answer{}
	var parts map[string]json.RawMessage
	if len(s.Keys) > 1 && json.Unmarshal(a.Content, &parts) != nil {
		parts = nil
	}
	for _, key := range s.Keys {
		one := a
		if len(s.Keys) > 1 && len(a.Content) > 0 {
			one.Content = parts[key]
		}
		responses[key] = one
	}
	params["inputResponses"] = responses
	if s.RequestState != "" {
		params["requestState"] = s.RequestState
	}
}
