package canon

import (
	"encoding/json"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"
)

// exact is the number of a field that google.protobuf.Value does not have. A number that its double does not show as it was written, such
// as a large integer, keeps its text there: protobuf carries unknown fields along, through stores and between processes. Programs that do
// not know it read the double.
const exact protowire.Number = 61016

// Struct converts the object to protobuf, with every number as it was written; see Number. The doubles of numbers out of range are the
// largest ones.
func (o Object) Struct() *structpb.Struct {
	s := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(o))}
	for name, v := range o {
		s.Fields[name] = Value(v)
	}
	return s
}

// Value converts a value of encoding/json, with numbers as json.Number.
func Value(v any) *structpb.Value {
	switch v := v.(type) {
	case map[string]any:
		return structpb.NewStructValue(Object(v).Struct())
	case []any:
		list := &structpb.ListValue{Values: make([]*structpb.Value, len(v))}
		for i, e := range v {
			list.Values[i] = Value(e)
		}
		return structpb.NewListValue(list)
	case string:
		return structpb.NewStringValue(v)
	case bool:
		return structpb.NewBoolValue(v)
	case json.Number:
		return number(v)
	case float64:
		return structpb.NewNumberValue(v)
	default:
		return structpb.NewNullValue()
	}
}

// number converts a number.
func number(n json.Number) *structpb.Value {
	f, rounded := double(n.String())
	v := structpb.NewNumberValue(f)
	if rounded {
		raw := protowire.AppendTag(nil, exact, protowire.BytesType)
		v.ProtoReflect().SetUnknown(protowire.AppendString(raw, n.String()))
	}
	return v
}

// double returns the double of a number, and whether it is not written as the number is.
func double(text string) (f float64, rounded bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil { // out of range
		f = math.Copysign(math.MaxFloat64, f)
	}
	return f, format(f) != text
}

// format writes a double as protojson does.
func format(f float64) string {
	text, err := json.Marshal(f)
	if err != nil {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return string(text)
}

// Number returns the text of a number in protobuf: as it was written, if that is known. A text that does not belong to the double is
// ignored: rules judge the double.
func Number(v *structpb.Value) string {
	f := v.GetNumberValue()
	for raw := v.ProtoReflect().GetUnknown(); len(raw) > 0; {
		num, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			break
		}
		raw = raw[n:]
		if num == exact && kind == protowire.BytesType {
			text, n := protowire.ConsumeString(raw)
			if d, _ := double(text); n > 0 && d == f && json.Valid([]byte(text)) {
				return text
			}
		}
		if n = protowire.ConsumeFieldValue(num, kind, raw); n < 0 {
			break
		}
		raw = raw[n:]
	}
	return format(f)
}

// FromStruct converts an object from protobuf.
func FromStruct(s *structpb.Struct) Object {
	o := make(Object, len(s.GetFields()))
	for name, v := range s.GetFields() {
		o[name] = FromValue(v)
	}
	return o
}

// FromValue converts a value from protobuf.
func FromValue(v *structpb.Value) any {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return map[string]any(FromStruct(k.StructValue))
	case *structpb.Value_ListValue:
		list := make([]any, len(k.ListValue.GetValues()))
		for i, e := range k.ListValue.GetValues() {
			list[i] = FromValue(e)
		}
		return list
	case *structpb.Value_StringValue:
		return k.StringValue
	case *structpb.Value_BoolValue:
		return k.BoolValue
	case *structpb.Value_NumberValue:
		if math.IsNaN(k.NumberValue) || math.IsInf(k.NumberValue, 0) {
			return nil // JSON has no such number
		}
		return json.Number(Number(v))
	default:
		return nil
	}
}

// StructJSON returns the JSON of an object in protobuf, with sorted keys and every number as it was written.
func StructJSON(s *structpb.Struct) []byte { return FromStruct(s).JSON() }

// ValueJSON returns the JSON of a value in protobuf, like StructJSON.
func ValueJSON(v *structpb.Value) []byte { return AppendValue(nil, FromValue(v), literal) }

// ParseStruct reads one JSON object like Parse.
func ParseStruct(text []byte) (*structpb.Struct, error) {
	o, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return o.Struct(), nil
}

// ParseValue reads one JSON value.
func ParseValue(text []byte) (*structpb.Value, error) {
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	return Value(v), nil
}

// Canonical returns the form of a value that Hash is made of: values with the same meaning have the same.
func Canonical(v any) string { return string(AppendValue(nil, v, canonical)) }

// CanonicalText is Canonical of the value that a JSON text holds.
func CanonicalText(text []byte) (string, error) {
	v, err := parse(text)
	if err != nil {
		return "", err
	}
	return Canonical(v), nil
}
