package protoyaml

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/enum"
)

// enumOf returns the enum of a field or of a map's values, nil where there is none.
func enumOf(fd protoreflect.FieldDescriptor) protoreflect.EnumDescriptor {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	return fd.Enum()
}

// longNames puts the long names of an enum's values, as in EFFECT_CLASS_READ, in place of those that people write, as in "read".
// What is no value's name stays as it is.
func longNames(e protoreflect.EnumDescriptor, content any) any {
	switch v := content.(type) {
	case string:
		return enum.Full(e, v)
	case map[string]any:
		for key, value := range v {
			v[key] = longNames(e, value)
		}
	case []any:
		for i, value := range v {
			v[i] = longNames(e, value)
		}
	}
	return content
}

// shortNames lists an enum's values as people write them: "read, idempotent or once".
func shortNames(e protoreflect.EnumDescriptor) string {
	names := enum.Names(e)
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
