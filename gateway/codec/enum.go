package codec

import (
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// holders are the results of hasEnum, by descriptor.
var holders sync.Map

// mayHoldEnum is hasEnum, computed once for each message.
func mayHoldEnum(md protoreflect.MessageDescriptor) bool {
	if known, ok := holders.Load(md); ok {
		return known == true
	}
	found := hasEnum(md, nil)
	holders.Store(md, found)
	return found
}

// hasEnum reports whether a message or anything in it can contain one of our enums.
func hasEnum(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if md.ParentFile().Package() == "google.protobuf" || seen[md.FullName()] {
		return false
	}
	if seen == nil {
		seen = map[protoreflect.FullName]bool{}
	}
	seen[md.FullName()] = true
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if fd.Enum() != nil || fd.Message() != nil && hasEnum(fd.Message(), seen) {
			return true
		}
	}
	return false
}

// field returns the field with a name from proto/ or its camelCase form.
func field(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if fd := md.Fields().ByTextName(name); fd != nil {
		return fd
	}
	return md.Fields().ByJSONName(name)
}
