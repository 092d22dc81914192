package mcpbridge

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
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// Limits of a tool's questions.
const (
	maxQuestion = 16 << 10  // bytes of the text
	maxForm     = 64 << 10  // bytes of the schema
	maxRequest  = 1 << 20   // bytes of the server's requests that are passed on
	maxAskState = 128 << 10 // bytes of the state stored for the answer
)

// elicitation returns the capabilities that we declare for questions: forms, but not external pages.
func elicitation() map[string]any {
	return map[string]any{"elicitation": map[string]any{"form": struct{}{}}}
}

// userAnswer is the user's answer.
type userAnswer struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`

	// Whole is the result of a request that was passed on, if that is no elicitation's.
	Whole json.RawMessage `json:"whole,omitempty"`
}

// askState is the state of a question, which is stored by callers until the answer comes.
type askState struct {
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
	Question string     `json:"question"` // its hash: questions may contain secrets
	Answer   userAnswer `json:"answer"`
}

// formRequest is one request of a server during a call: an elicitation, or a request for a completion.
type formRequest struct {
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`

	method string          // empty = elicitation/create
	params json.RawMessage // as they came
}

// wrong says why a question cannot be passed on; empty if it can.
func (f formRequest) wrong() string {
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
func (f formRequest) hash() string {
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

// question returns the question to pass on.
func (s *spec) question(f formRequest, state askState) (*mcpbridgev1.InputRequired, string) {
	kept, err := json.Marshal(state)
	if err != nil || len(kept) > maxAskState {
		return nil, "the tool asks the user something with more state than can be kept"
	}
	if len(f.Schema) == 0 {
		f.Schema = json.RawMessage(`{"type":"object"}`)
	}
	clean := func(text string) string { return s.withhold(strings.ToValidUTF8(text, "\uFFFD")) }
	return &mcpbridgev1.InputRequired{Message: clean(f.Message), SchemaJson: clean(string(f.Schema)), State: kept}, ""
}

// questionOf returns the question that a call ended with, or why it cannot be passed on; neither if the call has an answer.
func (s *spec) questionOf(in call, a *answer) (*mcpbridgev1.InputRequired, string) {
	switch {
	case a.asked != nil && len(in.accepts) > 0:
		return s.passOn(in, a.asked.asRequests(), askState{Asked: a.asked.hash(), Said: a.given})
	case a.asked != nil:
		return s.question(*a.asked, askState{Asked: a.asked.hash(), Said: a.given})
	case len(in.accepts) > 0:
		return s.requests(in, a.result)
	}
	return s.asks(a.result)
}

// asks reads a result of protocol 2026-07-28 that asks instead of answering: the question, or why it cannot be passed on; neither if the
// result is an answer.
func (s *spec) asks(raw json.RawMessage) (*mcpbridgev1.InputRequired, string) {
	if !bytes.Contains(raw, []byte(`"input_required"`)) {
		return nil, ""
	}
	var d struct {
		Type     string `json:"resultType"`
		Requests map[string]struct {
			Method string      `json:"method"`
			Params formRequest `json:"params"`
		} `json:"inputRequests"`
		State string `json:"requestState"`
	}
	if json.Unmarshal(raw, &d) != nil || d.Type != string(mcp.ResultTypeInputRequired) {
		return nil, ""
	}
	keys := slices.Sorted(maps.Keys(d.Requests))
	forms := make([]formRequest, len(keys))
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
		return s.question(forms[0], askState{RequestState: d.State, Keys: keys})
	}
	all, err := together(keys, forms)
	if err != nil {
		return nil, "the tool asks the user something that is no form"
	}
	return s.question(all, askState{RequestState: d.State, Keys: keys})
}

// together merges several forms into one, with a member for each.
func together(keys []string, forms []formRequest) (formRequest, error) {
	members, messages := map[string]json.RawMessage{}, make([]string, len(keys))
	for i, f := range forms {
		if len(f.Schema) == 0 {
			f.Schema = json.RawMessage(`{"type":"object"}`)
		}
		members[keys[i]], messages[i] = f.Schema, keys[i]+": "+f.Message
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": members, "required": keys})
	return formRequest{Message: strings.Join(messages, "\n"), Schema: schema}, err
}

// again adds to a call's parameters what protocol 2026-07-28 requires with the answer.
func (s askState) again(params map[string]any, a userAnswer, given responses) {
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
	responses := map[string]userAnswer{}
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
