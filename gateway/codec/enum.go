package codec

import "google.golang.org/protobuf/reflect/protoreflect"

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
