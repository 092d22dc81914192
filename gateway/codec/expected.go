package codec

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/enum"
)

// Expected describes what a value of a field must be: "must be …".
func Expected(fd protoreflect.FieldDescriptor) string { return "must be " + expected(fd) }

func expected(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.IsMap():
		return "an object, each value " + expectedElement(fd.MapValue())
	case fd.IsList():
		return "a list, each element " + expectedElement(fd)
	default:
		return expectedElement(fd)
	}
}

func expectedElement(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.EnumKind:
		return "one of: " + strings.Join(enum.Names(fd.Enum()), ", ")
	case protoreflect.StringKind:
		return "a text"
	case protoreflect.BytesKind:
		return "base64 text"
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "a number"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "a whole number from 0"
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return message(fd.Message())
	default:
		return "a whole number"
	}
}

func message(md protoreflect.MessageDescriptor) string {
	switch md.FullName() {
	case "google.protobuf.Duration":
		return `a duration in seconds, such as "30s"`
	case "google.protobuf.Timestamp":
		return `a time such as "2026-01-02T15:04:05Z"`
	case "google.protobuf.FieldMask":
		return `names of fields with commas between, such as "model,tools"`
	case "google.protobuf.Value":
		return "valid JSON with numbers that fit 64 bits"
	default:
		return "a JSON object"
	}
}
