package canon

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

// protojson writes and reads the numbers of google.protobuf.Value as doubles. Where that loses something, a number takes its way as a
// string with this mark, which is a secret.
var mark = "number " + rand.Text() + " "

// Mask returns what JSON has in place of a number before protojson reads it: the number itself if it loses nothing, else a string that
// Unmask makes a number again.
func Mask(number string) string {
	if _, rounded := double(number); !rounded {
		return number
	}
	return `"` + mark + number + `"`
}

// Unmask makes numbers of the masks in a message.
func Unmask(m proto.Message) {
	each(m.ProtoReflect(), func(v *structpb.Value) {
		if text, ok := strings.CutPrefix(v.GetStringValue(), mark); ok {
			proto.Reset(v)
			proto.Merge(v, number(json.Number(text)))
		}
	})
}

// Rounded reports whether a message has numbers whose doubles are not what was written.
func Rounded(m proto.Message) bool {
	rounded := false
	each(m.ProtoReflect(), func(v *structpb.Value) { rounded = rounded || len(v.ProtoReflect().GetUnknown()) > 0 })
	return rounded
}

// Marshal writes a message as protojson does, but every number of a google.protobuf.Value as it was written.
func Marshal(o protojson.MarshalOptions, m proto.Message) ([]byte, error) { return Append(nil, o, m) }

// Append is Marshal that appends to b.
func Append(b []byte, o protojson.MarshalOptions, m proto.Message) ([]byte, error) {
	if !Rounded(m) {
		return o.MarshalAppend(b, m)
	}
	m = proto.Clone(m)
	each(m.ProtoReflect(), func(v *structpb.Value) {
		if _, ok := v.GetKind().(*structpb.Value_NumberValue); !ok || len(v.ProtoReflect().GetUnknown()) == 0 {
			return
		}
		text := Number(v)
		proto.Reset(v)
		v.Kind = &structpb.Value_StringValue{StringValue: mark + text}
	})
	text, err := o.Marshal(m)
	if err != nil {
		return nil, err
	}
	return unmasked(b, text), nil
}

// unmasked appends JSON to out, and replaces the masks in it.
func unmasked(out, text []byte) []byte {
	start := []byte(`"` + mark)
	for {
		before, rest, found := bytes.Cut(text, start)
		out = append(out, before...)
		if !found {
			return out
		}
		end := max(bytes.IndexByte(rest, '"'), 0)
		out, text = append(out, rest[:end]...), rest[min(end+1, len(rest)):]
	}
}

// each calls f for each google.protobuf.Value in a message that is no object and no list.
func each(m protoreflect.Message, f func(*structpb.Value)) {
	if !MayHold(m.Descriptor()) {
		return
	}
	switch known := m.Interface().(type) {
	case *structpb.Value:
		eachValue(known, f)
		return
	case *structpb.Struct:
		for _, v := range known.GetFields() {
			eachValue(v, f)
		}
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, e protoreflect.Value) bool {
				each(e.Message(), f)
				return true
			})
		case fd.IsMap() || fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				each(v.List().Get(i).Message(), f)
			}
		default:
			each(v.Message(), f)
		}
		return true
	})
}

func eachValue(v *structpb.Value, f func(*structpb.Value)) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		for _, e := range k.StructValue.GetFields() {
			eachValue(e, f)
		}
	case *structpb.Value_ListValue:
		for _, e := range k.ListValue.GetValues() {
			eachValue(e, f)
		}
	default:
		f(v)
	}
}

var holders sync.Map // by the name of a message: whether a google.protobuf.Value can be in it

// MayHold reports whether a google.protobuf.Value can be in a message.
func MayHold(md protoreflect.MessageDescriptor) bool {
	if known, ok := holders.Load(md.FullName()); ok {
		return known == true
	}
	found := holds(md, map[protoreflect.FullName]bool{})
	holders.Store(md.FullName(), found)
	return found
}

func holds(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	switch md.FullName() {
	case "google.protobuf.Value", "google.protobuf.Struct", "google.protobuf.ListValue":
		return true
	}
	if seen[md.FullName()] {
		return false
	}
	seen[md.FullName()] = true
	for i := range md.Fields().Len() {
		if inner := md.Fields().Get(i).Message(); inner != nil && holds(inner, seen) {
			return true
		}
	}
	return false
}
