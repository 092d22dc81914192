package mcpbridge

import (
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/redact"
)

// clean removes secrets from a result, in place: results are stored, shown and read by models, and a server may echo its headers or
// variables. An error result loses all secrets, a good one only the values of references.
func (s *spec) clean(res *mcpbridgev1.CallToolResult) *mcpbridgev1.CallToolResult {
	if res.GetIsError() {
		return redact.Result(res, s.redact)
	}
	return redact.Result(res, s.withhold)
}

// cleanJSON removes the values of references from the strings of a JSON text. Without such values the text stays as it is, byte for byte.
func (s *spec) cleanJSON(raw []byte) ([]byte, error) {
	if !s.withholds {
		return raw, nil
	}
	return redact.JSON(raw, s.withhold)
}
