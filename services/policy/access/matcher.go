package access

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/condition"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// matcher is a compiled condition on a claim.
type matcher struct {
	spec     store.Matcher
	path     path
	patterns []*regexp.Regexp
}

// newMatcher compiles a condition within a budget. The fault's path is relative to it.
func newMatcher(m store.Matcher, left *budget) (matcher, []Fault) {
	var faults []Fault
	fault := func(field, format string, args ...any) {
		faults = append(faults, Fault{field, fmt.Sprintf(format, args...)})
	}
	out := matcher{spec: m}
	var err error
	if out.path, err = parsePath(m.Path); err != nil {
		fault("path", "%s", err)
	}
	if len(m.Values) == 0 {
		fault("values", "give at least one value to compare the claim with")
	}
	switch m.Operator {
	case store.Equals, store.NotEquals:
	case store.Contains, store.NotContains:
		if i := slices.Index(m.Values, ""); i >= 0 {
			fault(fmt.Sprintf("values[%d]", i), "is empty, and every text contains that; give what the claim must contain")
		}
	case store.Matches:
		for i, v := range m.Values {
			re, err := left.compile(v)
			if err != nil {
				fault(fmt.Sprintf("values[%d]", i), "%s", err)
				if errors.Is(err, errCompiled) {
					break
				}
				continue
			}
			out.patterns = append(out.patterns, re)
		}
	default:
		fault("operator", "use equals, not_equals, contains, not_contains or matches")
	}
	if out.path.list() && m.Operator != store.Contains && m.Operator != store.NotContains {
		fault("operator", "%s is a list, which this operator never matches; use contains or not_contains", m.Path)
	}
	return out, faults
}

// matches reports whether a principal meets the condition, and if not, why, without the values that are asked for.
func (m matcher) matches(who *policyv1.Principal) (ok bool, why string) {
	v := m.path.find(who)
	if v == nil {
		return false, "there is no such claim"
	}
	if m.spec.Operator == store.Contains || m.spec.Operator == store.NotContains {
		found, ok := contains(v, m.spec.Values)
		switch {
		case !ok:
			return false, fmt.Sprintf("the claim is %s, neither a list nor a text", kindOf(v))
		case found == (m.spec.Operator == store.Contains):
			return true, ""
		case found:
			return false, "the claim contains a value that it must not contain"
		}
		return false, "the claim contains none of the values"
	}
	text, ok := scalar(v)
	if !ok {
		return false, fmt.Sprintf("the claim is %s, not a text, number or boolean", kindOf(v))
	}
	switch m.spec.Operator {
	case store.Equals:
		return verdict(slices.Contains(m.spec.Values, text), "the claim equals none of the values")
	case store.NotEquals:
		return verdict(!slices.Contains(m.spec.Values, text), "the claim equals a value that it must not equal")
	case store.Matches:
		return verdict(slices.ContainsFunc(m.patterns, func(re *regexp.Regexp) bool { return re.MatchString(text) }),
			"the claim as a whole matches none of the patterns")
	}
	return false, "the operator is unknown"
}

func verdict(ok bool, why string) (matches bool, reason string) {
	if ok {
		return true, ""
	}
	return false, why
}

// contains reports whether a list has one of the values, or one of them occurs in a text; ok is false for other claims.
func contains(v *structpb.Value, values []string) (found, ok bool) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return slices.ContainsFunc(values, func(want string) bool { return strings.Contains(k.StringValue, want) }), true
	case *structpb.Value_ListValue:
		return slices.ContainsFunc(k.ListValue.GetValues(), func(item *structpb.Value) bool {
			text, ok := scalar(item)
			return ok && slices.Contains(values, text)
		}), true
	}
	return false, false
}

// scalar returns the text of a text, number or boolean.
func scalar(v *structpb.Value) (string, bool) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return k.StringValue, true
	case *structpb.Value_BoolValue:
		return strconv.FormatBool(k.BoolValue), true
	case *structpb.Value_NumberValue:
		if digits, rounded := condition.Integer(v); rounded {
			return digits, true
		}
		return strconv.FormatFloat(k.NumberValue, 'f', -1, 64), true
	}
	return "", false
}

func kindOf(v *structpb.Value) string {
	switch v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return "a text"
	case *structpb.Value_BoolValue:
		return "a boolean"
	case *structpb.Value_NumberValue:
		return "a number"
	case *structpb.Value_ListValue:
		return "a list"
	case *structpb.Value_StructValue:
		return "an object"
	}
	return "null"
}
