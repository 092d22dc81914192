package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSON encodes a request's body. Requests are not written with the SDKs' parameters: their encoding takes several times as long, for each
// message of a conversation in each call.
func JSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// With returns what encodes as the object v with more fields, in the order of their names; v itself if there are none.
func With(v any, fields map[string]json.RawMessage) any {
	if len(fields) == 0 {
		return v
	}
	return extended{v, fields}
}

// extended is an object with fields that its type does not have.
type extended struct {
	object any
	fields map[string]json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (e extended) MarshalJSON() ([]byte, error) {
	out, err := JSON(e.object)
	if err != nil {
		return nil, err
	}
	more, err := JSON(e.fields)
	if err != nil {
		return nil, err
	}
	if out = out[:len(out)-1]; len(out) > 1 {
		out = append(out, ',')
	}
	return append(out, more[1:]...), nil
}
