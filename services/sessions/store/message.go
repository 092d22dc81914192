package store

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
)

// encode returns a message as it is stored: no bytes for nil.
func encode(m proto.Message) ([]byte, error) {
	if m == nil || reflect.ValueOf(m).IsNil() {
		return nil, nil
	}
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return data, nil
}

// decode reads a stored message: nil for no bytes.
func decode[M any, P interface {
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
