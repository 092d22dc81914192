package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// opaque is what a server sent beside the text and the calls of a message, and wants back: encrypted reasoning, signatures.
type opaque struct {
	// Message are fields of the message.
	Message map[string]json.RawMessage `json:"message,omitempty"`
	// Calls are fields of the calls, by their index.
	Calls map[int]map[string]json.RawMessage `json:"calls,omitempty"`
}

// returns gives back to the provider what it sent with a message that has calls. Messages without calls go without: some servers refuse
// their reasoning.
func (c *call) returns(m *turnv1.Message) opaque {
	v := m.GetVerbatim()
	if v.GetIssuer() != c.provider.issuer || c.manner.Plain || c.provider.profile.noReturn || len(m.GetToolCalls()) == 0 {
		return opaque{}
	}
	var out opaque
	// Signatures are those of one model, reasoning in words is read by all.
	if len(v.GetOpaque()) > 0 && strings.HasSuffix(m.GetModel(), "/"+c.req.Model) && json.Unmarshal(v.GetOpaque(), &out) != nil {
		out = opaque{}
	}
	if out.Message == nil {
		out.Message = map[string]json.RawMessage{}
	}
	for _, name := range v.GetReasoningFields() {
		if raw, err := json.Marshal(m.GetReasoning()); err == nil {
			out.Message[name] = raw
		}
	}
	for name := range out.Message {
		c.returned[name] = true
	}
	for _, fields := range out.Calls {
		for name := range fields {
			c.returned[name] = true
		}
	}
	return out
}

// maxOpaque limits what is kept for a server.
const maxOpaque = 1 << 20

// collector gathers what the server wants back.
type collector struct {
	reasoning []string // fields with reasoning in words
	opaque    opaque
	size      int
}

// message takes the fields of a delta that are not read otherwise; those with reasoning in words are known by their names.
func (k *collector) message(fields map[string]json.RawMessage, reasoning []string) {
	for _, name := range reasoning {
		if !slices.Contains(k.reasoning, name) {
			k.reasoning = append(k.reasoning, name)
		}
	}
	for name, raw := range fields {
		if isReturned(name) && !slices.Contains(reasoning, name) {
			k.opaque.Message = k.add(k.opaque.Message, name, raw)
		}
	}
}

// call takes the fields of a piece of a call that are not read otherwise.
func (k *collector) call(index int, fields map[string]json.RawMessage) {
	for name, raw := range fields {
		if k.opaque.Calls == nil {
			k.opaque.Calls = map[int]map[string]json.RawMessage{}
		}
		k.opaque.Calls[index] = k.add(k.opaque.Calls[index], name, raw)
	}
}

func (k *collector) add(to map[string]json.RawMessage, name string, raw json.RawMessage) map[string]json.RawMessage {
	if k.size += len(name) + len(raw); isNull(raw) || k.size > maxOpaque {
		return to
	}
	if to == nil {
		to = map[string]json.RawMessage{}
	}
	to[name] = joined(to[name], raw)
	return to
}

// verbatim returns what was gathered, nil if the server sent nothing of the kind.
func (k *collector) verbatim(issuer string) *turnv1.Verbatim {
	out := &turnv1.Verbatim{Issuer: issuer, ReasoningFields: k.reasoning}
	if len(k.opaque.Message)+len(k.opaque.Calls) > 0 && k.size <= maxOpaque {
		out.Opaque, _ = json.Marshal(k.opaque) // raw JSON always encodes
	}
	if len(out.GetReasoningFields()) == 0 && len(out.GetOpaque()) == 0 {
		return nil
	}
	return out
}

// parts are in the names of the fields that servers want back. Others, such as citations, are about the text.
var parts = []string{"reasoning", "thinking", "thought", "signature", "encrypted", "opaque", "extra_content", "provider_specific_fields"}

func isReturned(name string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// mayReturn reports whether a message can have such a field: most pieces of a stream are short texts, which need not be read twice.
func mayReturn(raw []byte) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return bytes.Contains(raw, []byte(part)) })
}

// joined puts the pieces of a field together: texts and lists grow, other values are replaced.
func joined(have, piece json.RawMessage) json.RawMessage {
	var texts [2]provider.Fragment
	if json.Unmarshal(have, &texts[0]) == nil && json.Unmarshal(piece, &texts[1]) == nil {
		if raw, err := json.Marshal(string(texts[0] + texts[1])); err == nil {
			return raw
		}
	}
	var lists [2][]map[string]json.RawMessage
	if json.Unmarshal(have, &lists[0]) == nil && json.Unmarshal(piece, &lists[1]) == nil {
		if raw, err := json.Marshal(merged(lists[0], lists[1])); err == nil {
			return raw
		}
	}
	return slices.Clone(piece)
}

// merged appends the parts of a list; the pieces of one part become one.
func merged(list, more []map[string]json.RawMessage) []map[string]json.RawMessage {
	for _, part := range more {
		last := len(list) - 1
		same := last >= 0 && len(part["index"]) > 0 && string(list[last]["index"]) == string(part["index"]) &&
			string(list[last]["type"]) == string(part["type"])
		if !same {
			list = append(list, part)
			continue
		}
		for name, raw := range part {
			switch {
			case isNull(raw):
			case name == "text" || name == "summary" || name == "data":
				list[last][name] = joined(list[last][name], raw)
			default:
				list[last][name] = raw
			}
		}
	}
	return list
}
