package mcpbridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// Callers that speak MCP themselves answer the requests of servers: these are passed on as they are, and so are the answers.

// serverRequest is a request of a server.
type serverRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// responses are answers by the names of the requests; null for one that was rejected.
type responses map[string]json.RawMessage

// wrong says why a request cannot be passed on; empty if it can. A question must be a form: servers are not told that callers open URLs.
func (r serverRequest) wrong() string {
	if r.Method != string(mcp.MethodElicitationCreate) {
		return ""
	}
	var f formRequest
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
func (in call) accept(s *spec, method string) bool {
	name := clientRequest(method)
	return slices.Contains(in.accepts, method) && (name == "" || slices.Contains(s.clientRequests, name))
}

// able returns the capabilities to declare for the call.
func (in call) able(s *spec) map[string]any {
	able := map[string]any{}
	if in.canAsk || in.accept(s, string(mcp.MethodElicitationCreate)) {
		able = elicitation()
	}
	for _, method := range []mcp.MCPMethod{mcp.MethodSamplingCreateMessage, mcp.MethodListRoots} {
		if in.accept(s, string(method)) {
			able[clientRequest(string(method))] = struct{}{}
		}
	}
	return able
}

// asRequests returns a request of the old era in the form of the new one.
func (f formRequest) asRequests() map[string]serverRequest {
	method := f.method
	if method == "" {
		method = string(mcp.MethodElicitationCreate)
	}
	return map[string]serverRequest{theRequest: {method, f.params}}
}

// requests reads a result of protocol 2026-07-28 that makes requests instead of answering.
func (s *spec) requests(in call, raw json.RawMessage) (*mcpbridgev1.InputRequired, string) {
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
	return s.passOn(in, d.Requests, askState{RequestState: d.State, Keys: slices.Sorted(maps.Keys(d.Requests))})
}

// passOn returns requests for the caller to answer.
func (s *spec) passOn(in call, requests map[string]serverRequest, state askState) (*mcpbridgev1.InputRequired, string) {
	for _, r := range requests {
		if !in.accept(s, r.Method) {
			return nil, fmt.Sprintf("the tool asks for %s, which is not passed on", r.Method)
		}
		if wrong := r.wrong(); wrong != "" {
			return nil, wrong
		}
	}
	state.Passed = true
	kept, err := json.Marshal(state)
	if err != nil || len(kept) > maxAskState {
		return nil, "the tool asks for input with more state than can be kept"
	}
	text, err := json.Marshal(requests)
	if err != nil || len(text) > maxRequest {
		return nil, "the tool asks for input with requests that are too large to be passed on"
	}
	if text, err = s.cleanJSON(text); err != nil {
		return nil, "the tool asks for input that is no JSON"
	}
	return &mcpbridgev1.InputRequired{RequestsJson: text, State: kept}, ""
}

// answered returns the answer of a caller to the request of a server of the old era.
func (in call) answered() userAnswer {
	if !in.state.Passed {
		return in.answer
	}
	raw := in.responses[theRequest]
	if len(raw) == 0 || string(raw) == "null" {
		return userAnswer{Action: "decline"}
	}
	var a userAnswer
	if json.Unmarshal(raw, &a) != nil || a.Action == "" { // not an elicitation's
		return userAnswer{Action: "accept", Whole: raw}
	}
	a.Whole = nil
	return a
}
