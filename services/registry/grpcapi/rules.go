package grpcapi

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// rules is what the options of a field say about its values: those of google.api.field_behavior, and the plain ones of buf.validate.
type rules struct {
	required, outputOnly, inputOnly bool

	field *validate.FieldRules // nil if there are none
}

func rulesOf(f protoreflect.FieldDescriptor) rules {
	options, ok := f.Options().(*descriptorpb.FieldOptions)
	if !ok || options == nil {
		return rules{}
	}
	list := behaviors(options)
	r := rules{
		required:   slices.Contains(list, annotations.FieldBehavior_REQUIRED),
		outputOnly: slices.Contains(list, annotations.FieldBehavior_OUTPUT_ONLY),
		inputOnly:  slices.Contains(list, annotations.FieldBehavior_INPUT_ONLY),
	}
	field, ok := proto.GetExtension(options, validate.E_Field).(*validate.FieldRules)
	if !ok || field == nil || field.GetIgnore() != validate.Ignore_IGNORE_UNSPECIFIED {
		return r
	}
	r.required = r.required || field.GetRequired()
	r.field = field
	return r
}

// items are the rules of the elements of a list.
func (r rules) items() rules { return rules{field: r.field.GetRepeated().GetItems()} }

// collection writes the rules of a list or map into its schema.
func (r rules) collection(f protoreflect.FieldDescriptor, out map[string]any) {
	if f.IsList() {
		of := r.field.GetRepeated()
		setPointer(out, "minItems", minimum(of.GetMinItems()))
		setPointer(out, "maxItems", maximum(of != nil && of.HasMaxItems(), of.GetMaxItems()))
		if of.GetUnique() {
			out["uniqueItems"] = true
		}
	}
	if f.IsMap() {
		of := r.field.GetMap()
		setPointer(out, "minProperties", minimum(of.GetMinPairs()))
		setPointer(out, "maxProperties", maximum(of != nil && of.HasMaxPairs(), of.GetMaxPairs()))
	}
}

// value writes the rules of one value into its schema.
func (r rules) value(f protoreflect.FieldDescriptor, out map[string]any) {
	if r.field == nil {
		return
	}
	if s := r.field.GetString(); s != nil && f.Kind() == protoreflect.StringKind {
		text(s, out)
		return
	}
	if out["type"] != "integer" && f.Kind() != protoreflect.Int64Kind && f.Kind() != protoreflect.Uint64Kind {
		return
	}
	m := r.field.ProtoReflect()
	kind := m.WhichOneof(m.Descriptor().Oneofs().ByName("type"))
	if kind == nil || string(kind.Name()) != f.Kind().String() {
		return
	}
	bounds(m.Get(kind).Message(), out)
}

func text(s *validate.StringRules, out map[string]any) {
	setPointer(out, "minLength", minimum(s.GetMinLen()))
	setPointer(out, "maxLength", maximum(s.HasMaxLen(), s.GetMaxLen()))
	if s.HasLen() {
		out["minLength"], out["maxLength"] = s.GetLen(), s.GetLen()
	}
	if len(s.GetIn()) > 0 && len(s.GetIn()) <= maxEnum {
		out["enum"] = s.GetIn()
	}
	// A group with flags is not a part of JSON Schema's patterns.
	if _, err := regexp.Compile(s.GetPattern()); s.GetPattern() != "" && err == nil && !strings.Contains(s.GetPattern(), "(?") {
		out["pattern"] = s.GetPattern()
	}
	switch {
	case s.GetEmail():
		out["format"] = "email"
	case s.GetUuid():
		out["format"] = "uuid"
	case s.GetUri():
		out["format"] = "uri"
	}
}

// bounds writes the bounds of an integer. Two that exclude a range instead of defining one are left to the server.
func bounds(m protoreflect.Message, out map[string]any) {
	low, high := math.Inf(-1), math.Inf(1)
	found := map[string]any{}
	for rule, keyword := range map[protoreflect.Name]string{
		"gt": "exclusiveMinimum", "gte": "minimum", "lt": "exclusiveMaximum", "lte": "maximum",
	} {
		f := m.Descriptor().Fields().ByName(rule)
		if f == nil || !m.Has(f) {
			continue
		}
		v := m.Get(f).Interface()
		found[keyword] = v
		if rule == "gt" || rule == "gte" {
			low = number(v)
		} else {
			high = number(v)
		}
	}
	if low > high {
		return
	}
	maps.Copy(out, found)
}

func number(v any) float64 {
	switch v := v.(type) {
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case uint32:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return 0
}

func minimum(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}

func maximum(set bool, n uint64) *uint64 {
	if !set {
		return nil
	}
	return &n
}

func setPointer(out map[string]any, key string, v *uint64) {
	if v != nil {
		out[key] = *v
	}
}
