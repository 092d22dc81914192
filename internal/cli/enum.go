package cli

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/gateway/codec"
)

// enum formats an enum value as the API does; "" for unspecified and unknown values.
func enum(e protoreflect.Enum) string {
	names := codec.Names(e.Descriptor()) // without the unspecified one
	for i := range e.Descriptor().Values().Len() {
		switch e.Descriptor().Values().Get(i).Number() {
		case 0:
			names = append([]string{""}, names...)
		case e.Number():
			return names[i]
		}
	}
	return ""
}
