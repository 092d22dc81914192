package grpcapi

import (
	"math"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/services/registry/grpccall"
)

// maxEnum is the number of names up to which an enum's are listed.
const maxEnum = 500

// Patterns of values that are written as strings.
const (
	signed   = `^-?[0-9]+$`
	unsigned = `^[0-9]+$`
	duration = `^-?[0-9]+(\.[0-9]{1,9})?s$`
)

// isObject reports whether the JSON form of a message is always an object.
func isObject(d protoreflect.MessageDescriptor) bool {
	known, ok := wellKnown(d, toServer)
	if !ok {
		return true
	}
	schema, ok := known.(map[string]any)
	return ok && schema["type"] == "object"
}

// wellKnown returns the schema of a message with a JSON form of its own; false for other messages.
func wellKnown(d protoreflect.MessageDescriptor, to direction) (any, bool) {
	if d.FullName().Parent() != grpccall.WellKnown {
		return nil, false
	}
	switch d.Name() {
	case "Any":
		return map[string]any{"type": "object", "description": `A message of any type: its fields, and its type's URL as "@type".`}, true
	case "Timestamp":
		return map[string]any{"type": "string", "format": "date-time"}, true
	case "Duration":
		return map[string]any{"type": "string", "pattern": duration, "description": `Seconds with the suffix "s", as in "1.5s".`}, true
	case "FieldMask":
		return map[string]any{"type": "string", "description": `Paths of fields in lowerCamelCase, as in "name,address.postalCode".`}, true
	case "Struct":
		return map[string]any{"type": "object"}, true
	case "Value":
		return true, true
	case "ListValue":
		return map[string]any{"type": "array", "items": true}, true
	case "Empty":
		return object(map[string]any{}, nil), true
	}
	if kind, ok := wrappers[d.Name()]; ok {
		return scalar(kind, to), true
	}
	return nil, false
}

var wrappers = map[protoreflect.Name]protoreflect.Kind{
	"DoubleValue": protoreflect.DoubleKind, "FloatValue": protoreflect.FloatKind, "Int64Value": protoreflect.Int64Kind,
	"UInt64Value": protoreflect.Uint64Kind, "Int32Value": protoreflect.Int32Kind, "UInt32Value": protoreflect.Uint32Kind,
	"BoolValue": protoreflect.BoolKind, "StringValue": protoreflect.StringKind, "BytesValue": protoreflect.BytesKind,
}

// scalar is the schema of a scalar. A 64-bit integer is a string in responses, since not every reader's numbers hold it; requests may have
// either. Floating-point numbers that JSON lacks are strings.
func scalar(kind protoreflect.Kind, to direction) map[string]any {
	switch kind {
	case protoreflect.BoolKind:
		return map[string]any{"type": "boolean"}
	case protoreflect.StringKind:
		return map[string]any{"type": "string"}
	case protoreflect.BytesKind:
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "number"}, map[string]any{"enum": []any{"NaN", "Infinity", "-Infinity"}},
		}}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return map[string]any{"type": "integer", "minimum": math.MinInt32, "maximum": math.MaxInt32}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return map[string]any{"type": "integer", "minimum": 0, "maximum": uint32(math.MaxUint32)}
	}
	out := map[string]any{"type": "string", "pattern": signed}
	if kind == protoreflect.Uint64Kind || kind == protoreflect.Fixed64Kind {
		out["pattern"] = unsigned
	}
	if to == toServer {
		out["type"] = []any{"integer", "string"}
		if out["pattern"] == unsigned {
			out["minimum"] = 0
		}
	}
	return out
}

// enum is the schema of an enum's names. Servers may also send numbers that have no name.
func enum(d protoreflect.EnumDescriptor, to direction) map[string]any {
	if d.FullName() == grpccall.WellKnown+".NullValue" {
		return map[string]any{"type": "null"}
	}
	out := map[string]any{"type": "string"}
	if d.Values().Len() <= maxEnum {
		var names []any
		for i := range d.Values().Len() {
			names = append(names, string(d.Values().Get(i).Name()))
		}
		out["enum"] = names
	}
	if to == fromServer && !d.IsClosed() {
		return map[string]any{"anyOf": []any{out, map[string]any{"type": "integer"}}}
	}
	return out
}

// keys is the schema of the keys of a map; nil for any string.
func keys(kind protoreflect.Kind) any {
	switch kind {
	case protoreflect.StringKind:
		return nil
	case protoreflect.BoolKind:
		return map[string]any{"enum": []any{"true", "false"}}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return map[string]any{"pattern": unsigned}
	default:
		return map[string]any{"pattern": signed}
	}
}
