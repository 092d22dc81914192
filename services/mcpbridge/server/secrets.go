package server

import (
	"github.com/windlass-dev/windlass/libs/envref"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/redact"
)

// Redact removes all secrets from a text.
func (s *Spec) Redact(text string) string { return s.redact(text) }

// Withhold removes the values of references from a text of a tool.
func (s *Spec) Withhold(text string) string { return s.withhold(text) }

// conceal hides values in all that the server says in answer to this request.
func (s *Spec) conceal(values []string) {
	if len(values) == 0 {
		return
	}
	hide, redact, withhold := envref.Redactor(values), s.redact, s.withhold
	s.redact = func(text string) string { return hide(redact(text)) }
	s.withhold = func(text string) string { return hide(withhold(text)) }
	s.withholds = true
	s.concealed = append(s.concealed, values...)
}

// Conceal hides the secrets of a request, which may be s, in all that the server says from now on: it may repeat them outside the request.
func (s *Spec) Conceal(request *Spec) { s.hidden.Add(request.concealed) }

// Clean removes secrets from a result, in place: results are stored, shown and read by models, and a server may echo its headers or
// variables. An error result loses all secrets, a good one only the values of references.
func (s *Spec) Clean(res *mcpbridgev1.CallToolResult) *mcpbridgev1.CallToolResult {
	if res.GetIsError() {
		return redact.Result(res, s.redact)
	}
	return redact.Result(res, s.withhold)
}

// CleanJSON removes the values of references from the strings of a JSON text. Without such values the text stays as it is, byte for byte.
func (s *Spec) CleanJSON(raw []byte) ([]byte, error) {
	if !s.withholds {
		return raw, nil
	}
	return redact.JSON(raw, s.withhold)
}
