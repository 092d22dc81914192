// Package enum writes the values of enums as the API and its clients do: "react" for STRATEGY_REACT.
package enum

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Name returns the short name of a value, "" for the unspecified one and for those that are not known.
func Name(e protoreflect.Enum) string {
	v := e.Descriptor().Values().ByNumber(e.Number())
	if v == nil || v.Number() == 0 {
		return ""
	}
	return Short(e.Descriptor(), string(v.Name()))
}

// Parse returns the value with a short name, the unspecified one if there is none.
func Parse[E protoreflect.Enum](name string) E {
	var none E
	if v := none.Descriptor().Values().ByName(protoreflect.Name(Full(none.Descriptor(), name))); v != nil && name == strings.ToLower(name) {
		return none.Type().New(v.Number()).(E)
	}
	return none
}

// Names lists the short names of an enum, without the unspecified value.
func Names(ed protoreflect.EnumDescriptor) []string {
	var names []string
	for i := range ed.Values().Len() {
		if v := ed.Values().Get(i); v.Number() != 0 {
			names = append(names, Short(ed, string(v.Name())))
		}
	}
	return names
}

// Short turns STRATEGY_REACT into react.
func Short(ed protoreflect.EnumDescriptor, name string) string {
	return strings.ToLower(strings.TrimPrefix(name, prefix(ed)))
}

// Full turns react into STRATEGY_REACT; what is no short name stays as it is.
func Full(ed protoreflect.EnumDescriptor, name string) string {
	candidate := protoreflect.Name(prefix(ed) + strings.ToUpper(name))
	if name == strings.ToLower(name) && ed.Values().ByName(candidate) != nil {
		return string(candidate)
	}
	return name
}

// prefix begins all names of an enum: STRATEGY_ of Strategy. Enums of others may have none.
func prefix(ed protoreflect.EnumDescriptor) string {
	prefix, ok := strings.CutSuffix(string(ed.Values().Get(0).Name()), "UNSPECIFIED")
	if !ok {
		return ""
	}
	return prefix
}
