package rest

import (
	"bytes"
	"encoding/json"
	"regexp"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// inputArray matches bodies that may have content parts as their input.
var inputArray = regexp.MustCompile(`"input"\s*:\s*\[`)

// takesInput reports whether the input of a method can be a text or content.
func takesInput(rpc string) bool {
	return rpc == sessionsv1.TurnService_CreateTurn_FullMethodName || rpc == sessionsv1.TurnService_SteerTurn_FullMethodName
}

// withContent returns a body whose input is an array as one with that array as its content, since input is a text. Other bodies are
// returned as they are.
func withContent(data []byte) []byte {
	if !inputArray.Match(data) {
		return data
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || !bytes.HasPrefix(fields["input"], []byte("[")) || fields["content"] != nil {
		return data
	}
	fields["content"] = fields["input"]
	delete(fields, "input")
	out, err := json.Marshal(fields)
	if err != nil {
		return data
	}
	return out
}
