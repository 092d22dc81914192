// Package codec converts messages to and from the JSON used outside the mesh: REST bodies, SSE events, the CLI's output. Names are
// snake_case as in proto/, every field is written, and enums are short and lower-case: "react" for STRATEGY_REACT, null if
// unspecified. Reading also accepts full enum names and camelCase field names. The numbers in objects of any form, such as a tool's
// arguments, stay as they are written.
package codec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
)

// Marshal writes a message on one line.
func Marshal(m proto.Message) ([]byte, error) { return Append(nil, m) }

// Append is Marshal that appends to b.
func Append(b []byte, m proto.Message) ([]byte, error) {
	return marshal(b, m, protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true})
}

// MarshalSet is Marshal for requests: it writes only the fields that are set.
func MarshalSet(m proto.Message) ([]byte, error) {
	return marshal(nil, m, protojson.MarshalOptions{UseProtoNames: true})
}

// keptBuffer is the capacity in bytes up to which buffers are reused.
const keptBuffer = 64 << 10

// buffers pools the buffers of what protojson writes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func marshal(b []byte, m proto.Message, opts protojson.MarshalOptions) ([]byte, error) {
	buf := buffers.Get().(*[]byte)
	text, err := canon.Append((*buf)[:0], opts, m)
	if cap(text) <= keptBuffer {
		defer buffers.Put(buf)
		*buf = text
	}
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return compact(b, rewrite(text, m.ProtoReflect().Descriptor(), shortName, nil)), nil
}

// compact appends valid JSON to b without the random spaces per build that protojson adds, so that nobody relies on its bytes.
func compact(b, text []byte) []byte {
	b = slices.Grow(b, len(text))
	copied, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && c == ' ':
			b = append(b, text[copied:i]...)
			copied = i + 1
		}
	}
	return append(b, text[copied:]...)
}

// shortName returns the name that a value is written with, "" for the unspecified one.
func shortName(ed protoreflect.EnumDescriptor, name string) string {
	if v := ed.Values().ByName(protoreflect.Name(name)); v != nil && v.Number() == 0 && strings.HasSuffix(name, "_UNSPECIFIED") {
		return ""
	}
	return enum.Short(ed, name)
}

// Unmarshal reads data as one message. Unknown fields and enum values are errors; Explain describes them in the caller's terms.
func Unmarshal(data []byte, m proto.Message) error {
	if err := bounded(data); err != nil {
		return err
	}
	return unmarshal(data, m, protojson.UnmarshalOptions{})
}

// maxDepth is the maximum nesting of objects and lists in a request. Messages of the mesh allow more, so that anything accepted here can be
// forwarded. maxValues is the maximum number of values: the smallest one, an empty object of two bytes, takes up to 150 bytes as a message.
const (
	maxDepth  = 200
	maxValues = 100_000
)

var (
	errTooDeep = fmt.Errorf("objects and lists are nested more than %d deep", maxDepth)
	errTooMany = fmt.Errorf("has more than %d values", maxValues)
)

// bounded rejects a text that exceeds the limits before it is parsed.
func bounded(data []byte) error {
	switch values, depth := canon.Measure(data); {
	case depth > maxDepth:
		return errTooDeep
	case values > maxValues:
		return errTooMany
	}
	return nil
}

// UnmarshalKnown is Unmarshal for responses: it ignores fields that a newer server added.
func UnmarshalKnown(data []byte, m proto.Message) error {
	return unmarshal(data, m, protojson.UnmarshalOptions{DiscardUnknown: true})
}

func unmarshal(data []byte, m proto.Message, opts protojson.UnmarshalOptions) error {
	// The rewriter requires valid JSON; leave invalid JSON for protojson to reject.
	if json.Valid(data) {
		data = rewrite(data, m.ProtoReflect().Descriptor(), enum.Full, canon.Mask)
	}
	if err := opts.Unmarshal(data, m); err != nil {
		return err // Explain reads it
	}
	canon.Unmask(m)
	return nil
}
