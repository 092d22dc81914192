package codec

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// prefix returns the common prefix of an enum's value names: EFFECT_CLASS_ for EffectClass.
func prefix(ed protoreflect.EnumDescriptor) string {
	var b strings.Builder
	for i, r := range string(ed.Name()) {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String()) + "_"
}

// short turns STRATEGY_REACT into react.
func short(ed protoreflect.EnumDescriptor, name string) string {
	return strings.ToLower(strings.TrimPrefix(name, prefix(ed)))
}

// full turns react into STRATEGY_REACT; other names are returned unchanged.
func full(ed protoreflect.EnumDescriptor, name string) string {
	candidate := protoreflect.Name(prefix(ed) + strings.ToUpper(name))
	if name == strings.ToLower(name) && ed.Values().ByName(candidate) != nil {
		return string(candidate)
	}
	return name
}

// Names lists an enum's values as they are written in JSON, without the unspecified one.
func Names(ed protoreflect.EnumDescriptor) []string {
	var names []string
	for i := range ed.Values().Len() {
		if v := ed.Values().Get(i); v.Number() != 0 {
			names = append(names, short(ed, string(v.Name())))
		}
	}
	return names
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
