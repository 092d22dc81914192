package rpc

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// patternWords describes the patterns used in our requests. A pattern that is not listed is shown as it is.
var patternWords = map[string]string{
	`^[a-z][a-z0-9_-]{0,62}$`: `must begin with a lower-case letter and go on with lower-case letters, digits, "-" and "_", ` +
		`at most 63 in all`,
	`^([a-z][a-z0-9_-]{0,62})?$`: `must begin with a lower-case letter and go on with lower-case letters, digits, "-" and "_", ` +
		`at most 63 in all`,
	`^[A-Za-z0-9_-]{1,56}$`:                `must be letters, digits, "-" and "_", 1 to 56`,
	`^[A-Za-z0-9_-]{1,64}$`:                `must be letters, digits, "-" and "_", 1 to 64`,
	`^(|failed|(infer-)?[1-9][0-9]{0,3})$`: `must name a model step: "infer-2" or "2", or be "failed"`,
}

// violationText describes what is wrong with a field. It omits the empty value from a list of allowed ones, since it means "not given".
func violationText(v *protovalidate.Violation) string {
	switch {
	case !v.RuleValue.IsValid():
	case v.Proto.GetRuleId() == "string.in":
		return "must be one of " + strings.Join(allowed(v), ", ")
	case v.Proto.GetRuleId() == "string.pattern":
		if words, ok := patternWords[v.RuleValue.String()]; ok {
			return words
		}
	}
	return v.Proto.GetMessage()
}

func allowed(v *protovalidate.Violation) []string {
	list := v.RuleValue.List()
	var out []string
	for i := range list.Len() {
		if s := list.Get(i).String(); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Limits of the violations reported per message, and of the number of elements up to which more than the first violation is searched for:
// each costs about a kilobyte meanwhile.
const (
	maxViolations = 100
	maxElements   = 2000
)

// Validator returns the validator of the process. A validator holds the descriptors of all messages for its rules, and the rules that it
// has compiled: some MiB, so that there is one.
func Validator() (protovalidate.Validator, error) {
	v := protovalidate.GlobalValidator
	if err := v.Validate(nil); err != nil { // builds it
		return nil, fmt.Errorf("build validator: %w", err)
	}
	return v, nil
}

// Violations returns the violations of a message's field rules. A message with very many elements is checked only up to its first
// violation: the length of a list is checked before its content.
func Violations(v protovalidate.Validator, m proto.Message) ([]*protovalidate.Violation, error) {
	err := v.Validate(m, protovalidate.WithFailFast(), protovalidate.WithFilter(protovalidate.FilterFunc(ruled)))
	if err != nil && elements(m.ProtoReflect(), maxElements) > 0 {
		err = v.Validate(m)
	}
	if err == nil {
		return nil, nil
	}
	var bad *protovalidate.ValidationError
	if !errors.As(err, &bad) {
		return nil, fmt.Errorf("validate %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return bad.Violations[:min(len(bad.Violations), maxViolations)], nil
}

// rules says, by descriptor, which fields and messages have rules, themselves or in what they can hold. The validator visits every message
// otherwise, such as all of a conversation.
var rules sync.Map

// ruled implements protovalidate.FilterFunc.
func ruled(_ protoreflect.Message, d protoreflect.Descriptor) bool {
	if known, ok := rules.Load(d); ok {
		return known == true
	}
	found := hasRules(d, map[protoreflect.Descriptor]bool{})
	rules.Store(d, found)
	return found
}

// hasRules reports whether a message or field has rules, itself or in what it can hold and is not seen yet.
func hasRules(d protoreflect.Descriptor, seen map[protoreflect.Descriptor]bool) bool {
	if seen[d] {
		return false
	}
	seen[d] = true
	switch d := d.(type) {
	case protoreflect.FieldDescriptor:
		return proto.HasExtension(d.Options(), validate.E_Field) || d.Message() != nil && hasRules(d.Message(), seen)
	case protoreflect.MessageDescriptor:
		found := proto.HasExtension(d.Options(), validate.E_Message)
		for i := range d.Oneofs().Len() {
			found = found || proto.HasExtension(d.Oneofs().Get(i).Options(), validate.E_Oneof)
		}
		for i := range d.Fields().Len() {
			found = found || hasRules(d.Fields().Get(i), seen)
		}
		return found
	}
	return true
}

// elements counts down from left for each message, and for each element of a list or map in m. It stops at 0.
func elements(m protoreflect.Message, left int) int {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			if left -= v.Map().Len(); left > 0 && fd.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					left = elements(v.Message(), left)
					return left > 0
				})
			}
		case fd.IsList():
			left -= v.List().Len()
			for i := 0; left > 0 && fd.Message() != nil && i < v.List().Len(); i++ {
				left = elements(v.List().Get(i).Message(), left)
			}
		case fd.Message() != nil:
			left = elements(v.Message(), left-1)
		}
		return left > 0
	})
	return max(left, 0)
}
