package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Explain says what is wrong with data that Unmarshal rejected for a message of this type: where the JSON is invalid, else which field is
// unknown or has the wrong type. It returns nil if it finds nothing wrong.
func Explain(data []byte, md protoreflect.MessageDescriptor) *fault.Error {
	if at := invalidUTF8(data); at >= 0 {
		return malformed(data, at, "the text is not valid UTF-8")
	}
	if err := bounded(data); err != nil {
		return fault.Invalid("body", "%s", err)
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		at := len(data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset)
		}
		return malformed(data, at, strings.TrimPrefix(err.Error(), "json: "))
	}
	if e := checkObject("", raw, md); e != nil {
		return e
	}
	err := Unmarshal(data, dynamicpb.NewMessage(md))
	if err == nil {
		return nil
	}
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ") // protojson varies its texts on purpose
	return fault.Invalid("body", "%s", strings.TrimSpace(strings.TrimPrefix(text, "proto:")))
}

func malformed(data []byte, at int, what string) *fault.Error {
	at = min(max(at, 0), len(data))
	line := 1 + bytes.Count(data[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(data[:at], '\n')
	if at == len(data) || what != "the text is not valid UTF-8" {
		column = max(column-1, 1) // the offset of a syntax error is after the invalid byte
	}
	return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_MALFORMED_BODY,
		"the body is no valid JSON at line %d, column %d: %s", line, column, what).
		Hint("Send one JSON object in UTF-8.")
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

// checkObject returns an error for the first member of an object that does not match its message.
func checkObject(path string, raw json.RawMessage, md protoreflect.MessageDescriptor) *fault.Error {
	members, ok := split(raw)
	if !ok {
		return fault.Invalid(orBody(path), "must be a JSON object")
	}
	seen := map[protoreflect.Name]bool{}
	for _, m := range members {
		fd := field(md, m.key)
		if fd == nil {
			return unknown(join(path, m.key), md)
		}
		if seen[fd.Name()] {
			return fault.Invalid(join(path, m.key), "is given twice")
		}
		seen[fd.Name()] = true
		if e := checkField(join(path, m.key), m.value, fd); e != nil {
			return e
		}
	}
	return nil
}

func checkField(path string, raw json.RawMessage, fd protoreflect.FieldDescriptor) *fault.Error {
	own := fd.Message() != nil && !fd.IsMap() && fd.Message().ParentFile().Package() != "google.protobuf"
	switch {
	case string(raw) == "null":
		return nil
	case own && fd.IsList():
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return fault.Invalid(path, "must be %s", expected(fd))
		}
		for i, item := range items {
			if e := checkObject(fmt.Sprintf("%s[%d]", path, i), item, fd.Message()); e != nil {
				return e
			}
		}
		return nil
	case own:
		return checkObject(path, raw, fd.Message())
	}
	alone := append(append([]byte(`{"`+fd.TextName()+`":`), raw...), '}')
	if err := Unmarshal(alone, dynamicpb.NewMessage(fd.ContainingMessage())); err != nil {
		return fault.Invalid(path, "must be %s", expected(fd))
	}
	return nil
}

func unknown(path string, md protoreflect.MessageDescriptor) *fault.Error {
	names := make([]string, md.Fields().Len())
	for i := range names {
		names[i] = md.Fields().Get(i).TextName()
	}
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_UNKNOWN_FIELD, "%s: there is no such field", path).
		Hint("Remove or rename it. There are: %s.", strings.Join(names, ", "))
	if len(names) == 0 {
		e = e.Hint("Remove it: there are no fields here.")
	}
	e.Fields = []fault.Field{{Path: path, Message: "there is no such field"}}
	return e
}

type member struct {
	key   string
	value json.RawMessage
}

// split returns the members of an object in order, including duplicates.
func split(raw json.RawMessage) ([]member, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []member
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, false
		}
		m := member{key: key}
		if err := d.Decode(&m.value); err != nil {
			return nil, false
		}
		out = append(out, m)
	}
	return out, true
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func orBody(path string) string {
	if path == "" {
		return "body"
	}
	return path
}
