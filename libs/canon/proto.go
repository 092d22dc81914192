package canon

import (
	"encoding/json"
	"math"

	"google.golang.org/protobuf/types/known/structpb"
)

// Struct converts the object to protobuf. Numbers become doubles; those out of range become the largest double.
func (o Object) Struct() *structpb.Struct {
	s := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(o))}
	for name, v := range o {
		s.Fields[name] = value(v)
	}
	return s
}

func value(v any) *structpb.Value {
	switch v := v.(type) {
	case map[string]any:
		return structpb.NewStructValue(Object(v).Struct())
	case []any:
		list := &structpb.ListValue{Values: make([]*structpb.Value, len(v))}
		for i, e := range v {
			list.Values[i] = value(e)
		}
		return structpb.NewListValue(list)
	case string:
		return structpb.NewStringValue(v)
	case bool:
		return structpb.NewBoolValue(v)
	case json.Number:
		f, err := v.Float64()
		if err != nil { // out of range: infinite, with its sign
			f = math.Copysign(math.MaxFloat64, f)
		}
		return structpb.NewNumberValue(f)
	default:
		return structpb.NewNullValue()
	}
}
