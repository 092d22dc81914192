package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/canon"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// theQuestion is the name of the one request for a tool that does not belong to an MCP server.
const theQuestion = "question"

// clientRequest is a request to the client.
type clientRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// requestsOf returns what to ask the client, by name.
func requestsOf(asked *registryv1.InputRequired) (map[string]clientRequest, *failure) {
	requests := map[string]clientRequest{}
	if raw := asked.GetRequestsJson(); len(raw) > 0 {
		if err := json.Unmarshal(raw, &requests); err != nil || len(requests) == 0 {
			return nil, &failure{Code: mcp.INTERNAL_ERROR, Message: "the tool asks for something that is no request"}
		}
		return requests, nil
	}
	schema := json.RawMessage(asked.GetSchemaJson())
	if !json.Valid(schema) {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	params, err := json.Marshal(map[string]any{"mode": "form", "message": asked.GetMessage(), "requestedSchema": schema})
	if err != nil {
		return nil, failureOf(err)
	}
	requests[theQuestion] = clientRequest{string(mcp.MethodElicitationCreate), params}
	return requests, nil
}

// state is what a client of the new era brings back with its answer. The registry compares it with what it has stored for the caller, and
// refuses the answer if the client has changed it.
type state struct {
	Key      string `json:"k"`
	Question []byte `json:"q"`
	Form     bool   `json:"f,omitempty"` // the answer is that to theQuestion
}

// inputRequired returns a question as a result.
func inputRequired(key string, asked *registryv1.InputRequired) (any, *failure) {
	requests, f := requestsOf(asked)
	if f != nil {
		return nil, f
	}
	text, err := json.Marshal(state{key, asked.GetState(), len(asked.GetRequestsJson()) == 0})
	if err != nil {
		return nil, failureOf(err)
	}
	return map[string]any{
		"resultType": mcp.ResultTypeInputRequired, "inputRequests": requests, "requestState": base64.RawURLEncoding.EncodeToString(text),
	}, nil
}

// resume adds a client's answer to a call.
func resume(run *registryv1.RunToolRequest, text string, responses map[string]json.RawMessage) *failure {
	var s state
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &s) != nil || s.Key == "" || len(s.Key) > 255 {
		return invalidParams("requestState is not the one that came with the question")
	}
	answer, f := answerOf(s.Form, responses)
	if f != nil {
		return f
	}
	answer.State = s.Question
	run.IdempotencyKey, run.NewKey, run.Answer = s.Key, false, answer
	return nil
}

// answerOf reads what a client answers.
func answerOf(form bool, responses map[string]json.RawMessage) (*registryv1.InputAnswer, *failure) {
	if !form {
		text, err := json.Marshal(responses)
		if err != nil {
			return nil, invalidParams("inputResponses are no JSON")
		}
		return &registryv1.InputAnswer{Action: "accept", ResponsesJson: text}, nil
	}
	var p struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	raw, ok := responses[theQuestion]
	if !ok {
		return nil, invalidParams(fmt.Sprintf("inputResponses has no answer to %q", theQuestion))
	}
	if string(raw) == "null" {
		return &registryv1.InputAnswer{Action: "decline"}, nil
	}
	if json.Unmarshal(raw, &p) != nil || !slices.Contains([]string{"accept", "decline", "cancel"}, p.Action) {
		return nil, invalidParams("the answer has no action accept, decline or cancel")
	}
	answer := &registryv1.InputAnswer{Action: p.Action}
	if len(p.Content) > 0 && string(p.Content) != "null" {
		var err error
		if answer.Content, err = canon.ParseStruct(p.Content); err != nil {
			return nil, invalidParams("the content of the answer is " + err.Error())
		}
	}
	return answer, nil
}
