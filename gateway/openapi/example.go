package openapi

import _ "embed"

//go:embed examples.json
var exampleText []byte

// examples holds the examples of the document by operation, and those of path parameters by name.
type examples struct {
	Parameters map[string]string `json:"parameters"`
	Requests   map[string]any    `json:"requests"`
	Responses  map[string]any    `json:"responses"`
}
