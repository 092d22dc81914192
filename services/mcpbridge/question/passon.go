package question

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Caller is the caller of a tool, which may answer what the server asks. Those that speak MCP themselves answer the requests of servers:
// these are passed on as they are, and so are the answers.
type Caller struct {
	// CanAsk means that the tool may ask the user.
	CanAsk bool
	// Accepts are the methods of the server's requests that the caller answers itself.
	Accepts []string
	// Answer is the user's answer, and Responses are those of the caller to the server's requests, if an earlier attempt asked. State is that
	// of the question.
	Answer    Answer
	Responses Responses
	State     State
}

// Repeat adds to a call's parameters what protocol 2026-07-28 requires with the answer.
func (c Caller) Repeat(params map[string]any) { c.State.again(params, c.Answer, c.Responses) }

// serverRequest is a request of a server.
type serverRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Responses are answers by the names of the requests; null for one that was rejected.
type Responses map[string]json.RawMessage

// wrong says why a request cannot be passed on; empty if it can. A question must be a form: servers are not told that callers open URLs.
func (r serverRequest) wrong() string {
	if r.Method != string(mcp.MethodElicitationCreate) {
		return ""
	}
	var f form
	if err := json.Unmarshal(r.Params, &f); err != nil {
		return "the tool asks the user a question that cannot be read"
	}
	return f.wrong()
}

// theRequest is the name of the request of a server of the old era, which makes one at a time.
const theRequest = "request"

// clientRequest returns the name in a server's entry for a method that callers answer only if the entry says so; empty for elicitations,
// which need no such entry.
func clientRequest(method string) string {
	switch method {
	case string(mcp.MethodSamplingCreateMessage):
		return "sampling"
	case string(mcp.MethodListRoots):
		return "roots"
	default:
		return ""
	}
}

// accept reports whether the caller answers requests with a method, and may.
func (c Caller) accept(s *server.Spec, method string) bool {
	name := clientRequest(method)
	return slices.Contains(c.Accepts, method) && (name == "" || slices.Contains(s.ClientRequests, name))
}

// Able returns the capabilities to declare for the call.
func (c Caller) Able(s *server.Spec) map[string]any {
	able := map[string]any{}
	if c.CanAsk || c.accept(s, string(mcp.MethodElicitationCreate)) {
		able = wire.Elicitation()
	}
	for _, method := range []mcp.MCPMethod{mcp.MethodSamplingCreateMessage, mcp.MethodListRoots} {
		if c.accept(s, string(method)) {
			able[clientRequest(string(method))] = struct{}{}
		}
	}
	return able
}

// asRequests returns a request of the old era in the form of the new one.
func (f form) asRequests() map[string]serverRequest {
	method := f.method
	if method == "" {
		method = string(mcp.MethodElicitationCreate)
	}
	return map[string]serverRequest{theRequest: {method, f.params}}
}

// requests reads a result of protocol 2026-07-28 that makes requests instead of answering.
func (c Caller) requests(s *server.Spec, raw json.RawMessage) (*Input, string) {
	if !bytes.Contains(raw, []byte(`"input_required"`)) {
		return nil, ""
	}
	var d struct {
		Type     string                   `json:"resultType"`
		Requests map[string]serverRequest `json:"inputRequests"`
		State    string                   `json:"requestState"`
	}
	if json.Unmarshal(raw, &d) != nil || d.Type != string(mcp.ResultTypeInputRequired) {
		return nil, ""
	}
	if len(d.Requests) == 0 {
		return nil, "the tool asks for input without saying what; its server may be busy, so try again later"
	}
	return c.passOn(s, d.Requests, State{RequestState: d.State, Keys: slices.Sorted(maps.Keys(d.Requests))})
}

// passOn returns requests for the caller to answer.
func (c Caller) passOn(s *server.Spec, requests map[string]serverRequest, state State) (*Input, string) {
	for _, r := range requests {
		if !c.accept(s, r.Method) {
			return nil, fmt.Sprintf("the tool asks for %s, which is not passed on", r.Method)
		}
		if wrong := r.wrong(); wrong != "" {
			return nil, wrong
		}
	}
	state.Passed = true
	kept, err := json.Marshal(state)
	if err != nil || len(kept) > maxState {
		return nil, "the tool asks for input with more state than can be kept"
	}
	text, err := json.Marshal(requests)
	if err != nil || len(text) > maxRequest {
		return nil, "the tool asks for input with requests that are too large to be passed on"
	}
	if text, err = s.CleanJSON(text); err != nil {
		return nil, "the tool asks for input that is no JSON"
	}
	return &Input{Requests: text, State: kept}, ""
}

// answered returns the answer of a caller to the request of a server of the old era.
func (c Caller) answered() Answer {
	if !c.State.Passed {
		return c.Answer
	}
	raw := c.Responses[theRequest]
	if len(raw) == 0 || string(raw) == "null" {
		return Answer{Action: "decline"}
	}
	var a Answer
	if json.Unmarshal(raw, &a) != nil || a.Action == "" { // not an elicitation's
		return Answer{Action: "accept", Whole: raw}
	}
	a.Whole = nil
	return a
}
