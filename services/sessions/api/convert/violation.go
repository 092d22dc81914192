package convert

import (
	"strings"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// Violations finds what breaks the validation rules of a message's fields: where the interceptor has seen a part of it, or nothing.
func Violations(v protovalidate.Validator, prefix string, m proto.Message) []fault.Field {
	bad, err := rpc.Violations(v, m)
	if err != nil {
		return []fault.Field{{Path: strings.TrimSuffix(prefix, "."), Message: err.Error()}}
	}
	var wrong []fault.Field
	for _, v := range bad {
		wrong = append(wrong, fault.Field{Path: prefix + protovalidate.FieldPathString(v.Proto.GetField()), Message: v.Proto.GetMessage()})
	}
	return wrong
}
