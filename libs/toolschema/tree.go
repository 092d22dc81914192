package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// object is a JSON object that keeps the order of its members: models read a schema from its beginning.
type object struct {
	keys   []string
	values map[string]any // *object, []any, or json.RawMessage of a scalar
	lost   []string       // what is said in words
}

func newObject() *object { return &object{values: map[string]any{}} }

func (o *object) has(key string) bool { _, ok := o.values[key]; return ok }

func (o *object) set(key string, value any) {
	if !o.has(key) {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) remove(keys ...string) {
	for _, key := range keys {
		delete(o.values, key)
	}
	kept := o.keys[:0:0]
	for _, key := range o.keys {
		if o.has(key) {
			kept = append(kept, key)
		}
	}
	o.keys = kept
}

// properties returns the member of that name, nil if it is no object.
func (o *object) properties() *object {
	inner, _ := o.values["properties"].(*object)
	return inner
}

// text returns a member that is a string.
func (o *object) text(key string) (string, bool) { return text(o.values[key]) }

func text(v any) (string, bool) {
	raw, ok := v.(json.RawMessage)
	var s string
	if !ok || len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// list returns a member that is a list.
func (o *object) list(key string) []any {
	list, _ := o.values[key].([]any)
	return list
}

// clone returns a copy that has the same values.
func (o *object) clone() *object {
	return &object{keys: slices.Clone(o.keys), values: maps.Clone(o.values), lost: slices.Clone(o.lost)}
}

func quoted(s string) json.RawMessage {
	if plainText(s) {
		return append(append([]byte{'"'}, s...), '"')
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return json.RawMessage(`""`) // a string always encodes
	}
	return bytes.TrimSpace(b.Bytes())
}

// plainText reports whether a text is written in JSON as it is, as nearly all names are.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			return false
		}
	}
	return true
}

// parse reads one JSON value.
func parse(text string) (any, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	v, err := value(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text behind its end")
	}
	return v, nil
}

func value(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("is not valid JSON: %w", err)
	}
	delim, ok := token.(json.Delim)
	if !ok {
		raw, err := json.Marshal(token)
		return json.RawMessage(raw), err
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	if delim == '[' {
		list := []any{}
		for dec.More() {
			v, err := value(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	o := newObject()
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("is not valid JSON: %w", err)
		}
		v, err := value(dec, depth+1)
		if err != nil {
			return nil, err
		}
		o.set(fmt.Sprint(key), v)
	}
	_, err = dec.Token()
	return o, err
}

// write appends the JSON of a value.
func write(out []byte, v any) []byte {
	switch v := v.(type) {
	case *object:
		out = append(out, '{')
		for i, key := range v.keys {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, quoted(key)...), ':')
			out = write(out, v.values[key])
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = write(out, e)
		}
		return append(out, ']')
	case json.RawMessage:
		return append(out, v...)
	default:
		return append(out, "null"...)
	}
}
