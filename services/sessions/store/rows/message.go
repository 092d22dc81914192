package rows

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
)

// Encode returns a message as it is stored: no bytes for nil.
func Encode(m proto.Message) ([]byte, error) {
	if m == nil || reflect.ValueOf(m).IsNil() {
		return nil, nil
	}
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return data, nil
}

// Decode reads a stored message: nil for no bytes.
func Decode[M any, P interface {
	*M
	proto.Message
}](data []byte) (P, error) {
	if len(data) == 0 {
		return nil, nil
	}
	m := P(new(M))
	if err := proto.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return m, nil
}
