package condition

import (
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
)

// Types is the option of an environment that knows messages, and whose values have exact integers: CEL takes the numbers of
// google.protobuf.Value for doubles, which are rounded beyond 2^53, so that a rule about an id would hold for another one. Integers
// that are doubles without being rounded stay doubles, so that expressions can calculate with them as with other numbers.
func Types(messages ...proto.Message) (cel.EnvOption, error) {
	registry, err := types.NewProtoRegistry(types.ProtoTypeDefs(messages...))
	if err != nil {
		return nil, err
	}
	return func(e *cel.Env) (*cel.Env, error) {
		e, err := cel.CustomTypeProvider(registry)(e)
		if err != nil {
			return nil, err
		}
		return cel.CustomTypeAdapter(adapter{registry})(e)
	}, nil
}

// adapter converts values of protobuf for CEL.
type adapter struct{ types.Adapter }

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case *structpb.Struct:
		return types.NewJSONStruct(a, v)
	case *structpb.ListValue:
		return types.NewJSONList(a, v)
	case *structpb.Value:
		switch k := v.GetKind().(type) {
		case *structpb.Value_StructValue:
			return types.NewJSONStruct(a, k.StructValue)
		case *structpb.Value_ListValue:
			return types.NewJSONList(a, k.ListValue)
		case *structpb.Value_NumberValue:
			if n := integer(v); n != nil {
				return n
			}
		}
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	}
	return a.Adapter.NativeToValue(value)
}

// integer returns an integer whose double is another number; nil for all others, and for those that CEL has no type for.
func integer(v *structpb.Value) ref.Val {
	text, rounded := Integer(v)
	if !rounded {
		return nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return types.Int(n)
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return types.Uint(n)
	}
	return nil
}

// Integer returns the digits of a number that is an integer, and whether it is one whose double is another number.
func Integer(v *structpb.Value) (digits string, rounded bool) {
	if len(v.ProtoReflect().GetUnknown()) == 0 {
		return "", false
	}
	whole, fraction, _ := strings.Cut(canon.Number(v), ".")
	if strings.Trim(fraction, "0") != "" || strings.Trim(whole, "-0123456789") != "" {
		return "", false
	}
	return whole, whole != strconv.FormatFloat(v.GetNumberValue(), 'f', -1, 64)
}
