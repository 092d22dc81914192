package rest

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/gateway/codec"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// marshaler adapts codec to the runtime's interface.
type marshaler struct{}

// ContentType implements runtime.Marshaler.
func (marshaler) ContentType(v any) string {
	if media := transcriptType(v); media != "" {
		return media
	}
	if x, ok := v.(*sessionsv1.ReadArtifactResponse); ok {
		return servedType(x.GetArtifact().GetMediaType())
	}
	return "application/json"
}

// Marshal implements runtime.Marshaler.
func (marshaler) Marshal(v any) ([]byte, error) {
	if x, ok := v.(*sessionsv1.ExportSessionResponse); ok {
		return marshalExport(x)
	}
	if x, ok := v.(*sessionsv1.ListTurnEventsResponse); ok {
		return marshalEvents(x)
	}
	if x, ok := v.(*sessionsv1.ReadArtifactResponse); ok {
		return x.GetData(), nil
	}
	m, ok := v.(proto.Message)
	if !ok {
		return json.Marshal(v)
	}
	b, err := codec.Marshal(m)
	return append(b, '\n'), err
}

// Unmarshal implements runtime.Marshaler. The target is a message, or a pointer to a message field that may be nil.
func (marshaler) Unmarshal(data []byte, v any) error {
	if m, ok := v.(proto.Message); ok {
		return codec.Unmarshal(data, m)
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.Elem().Kind() != reflect.Pointer {
		return fmt.Errorf("a body cannot be read into %T", v)
	}
	if rv.Elem().IsNil() {
		rv.Elem().Set(reflect.New(rv.Type().Elem().Elem()))
	}
	m, ok := reflect.TypeAssert[proto.Message](rv.Elem())
	if !ok {
		return fmt.Errorf("a body cannot be read into %T", v)
	}
	return codec.Unmarshal(data, m)
}

// NewDecoder implements runtime.Marshaler. A missing body is io.EOF, which generated code treats as an empty message.
func (m marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		data, err := readWhole(r)
		if err != nil {
			return fmt.Errorf("read body: %w", err)
		}
		if len(data) == 0 {
			return io.EOF
		}
		return m.Unmarshal(data, v)
	})
}

// readWhole reads a body; one that was read already is not copied.
func readWhole(r io.Reader) ([]byte, error) {
	if b, ok := r.(*body); ok && b.Len() == len(b.data) {
		_, _ = b.Seek(0, io.SeekEnd) // it never fails
		return b.data, nil
	}
	return io.ReadAll(r)
}

// NewEncoder implements runtime.Marshaler.
func (m marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		b, err := m.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
}
