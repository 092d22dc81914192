// Package codec is the JSON form of our messages for people and programs outside the mesh: REST bodies, SSE events, the
// CLI's output. Names are snake_case as in proto/, every field is shown, and enums are short and lower-case: "react" for
// STRATEGY_REACT. Reading takes full enum names and camelCase field names too.
package codec

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/canon"
)

// Marshal writes a message on one line.
func Marshal(m proto.Message) ([]byte, error) {
	b, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	// protojson puts in spaces at random, so that nobody relies on its bytes; some build has them, and another has none.
	var out bytes.Buffer
	if err := json.Compact(&out, rewrite(b, m.ProtoReflect().Descriptor(), short)); err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return out.Bytes(), nil
}

// Unmarshal reads a message that is all of data. A field that the message does not have is an error, and so is an enum
// value that nobody knows; Explain says in a caller's terms what is wrong.
func Unmarshal(data []byte, m proto.Message) error {
	if err := bounded(data); err != nil {
		return err
	}
	return unmarshal(data, m, protojson.UnmarshalOptions{})
}

// maxDepth is how deep objects and lists of a request may be nested. Messages of the mesh take more, so that whatever comes in here can be passed on.
// maxValues is how many values it may have: the smallest ones, an empty object of two bytes, take up to 150 bytes as a message.
const (
	maxDepth  = 200
	maxValues = 100_000
)

var (
	errTooDeep = fmt.Errorf("objects and lists are nested more than %d deep", maxDepth)
	errTooMany = fmt.Errorf("has more than %d values", maxValues)
)

// bounded refuses a text that is not to be parsed.
func bounded(data []byte) error {
	switch values, depth := canon.Measure(data); {
	case depth > maxDepth:
		return errTooDeep
	case values > maxValues:
		return errTooMany
	}
	return nil
}

// UnmarshalKnown is Unmarshal for answers: what a newer server adds is passed over.
func UnmarshalKnown(data []byte, m proto.Message) error {
	return unmarshal(data, m, protojson.UnmarshalOptions{DiscardUnknown: true})
}

func unmarshal(data []byte, m proto.Message, opts protojson.UnmarshalOptions) error {
	// The rewriter walks valid JSON only; what is not valid goes on as it is and protojson refuses it.
	if md := m.ProtoReflect().Descriptor(); hasEnum(md, nil) && json.Valid(data) {
		data = rewrite(data, md, full)
	}
	return opts.Unmarshal(data, m) //nolint:wrapcheck // Explain reads it
}
