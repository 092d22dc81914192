package grpccall

import (
	"encoding/base64"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

const anyName = "google.protobuf.Any"

var errNested = errors.New("its messages are nested too deeply")

// openUnknown makes each Any in a message one that has a JSON form. One whose type is not known, or whose bytes are not of that type,
// becomes an object with its type URL and the bytes.
func (t types) openUnknown(m protoreflect.Message, depth int) error {
	if depth > maxNesting {
		return errNested
	}
	if m.Descriptor().FullName() == anyName {
		return t.openAny(m, depth)
	}
	var failed error
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			if f.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					failed = t.openUnknown(v.Message(), depth+1)
					return failed == nil
				})
			}
		case f.Message() == nil:
		case f.IsList():
			for i := 0; i < v.List().Len() && failed == nil; i++ {
				failed = t.openUnknown(v.List().Get(i).Message(), depth+1)
			}
		default:
			failed = t.openUnknown(v.Message(), depth+1)
		}
		return failed == nil
	})
	return failed
}

func (t types) openAny(m protoreflect.Message, depth int) error {
	fields := m.Descriptor().Fields()
	typeURL, value := fields.ByName("type_url"), fields.ByName("value")
	url, content := m.Get(typeURL).String(), m.Get(value).Bytes()
	if url == "" && len(content) == 0 {
		return nil
	}
	if found, err := t.FindMessageByURL(url); err == nil {
		inner := found.New()
		o := proto.UnmarshalOptions{Resolver: t, RecursionLimit: max(1, maxNesting-depth), AllowPartial: true}
		if o.Unmarshal(content, inner.Interface()) == nil {
			if err := t.openUnknown(inner, depth+1); err != nil {
				return err
			}
			opened, err := proto.MarshalOptions{AllowPartial: true}.Marshal(inner.Interface())
			if err == nil {
				m.Set(value, protoreflect.ValueOfBytes(opened))
				return nil
			}
		}
	}
	unknown, err := proto.Marshal(&structpb.Struct{Fields: map[string]*structpb.Value{
		"@type": structpb.NewStringValue(url), "base64": structpb.NewStringValue(base64.StdEncoding.EncodeToString(content)),
	}})
	if err != nil {
		return err
	}
	m.Set(typeURL, protoreflect.ValueOfString("type.googleapis.com/google.protobuf.Struct"))
	m.Set(value, protoreflect.ValueOfBytes(unknown))
	return nil
}
