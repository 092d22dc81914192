package rpc

import (
	"strings"

	"buf.build/go/protovalidate"
)

// patternWords say what the patterns of our requests want. One without words is shown as it is.
var patternWords = map[string]string{
	`^[a-z][a-z0-9_-]{0,62}$`:              `must begin with a lower-case letter and go on with lower-case letters, digits, "-" and "_", at most 63 in all`,
	`^([a-z][a-z0-9_-]{0,62})?$`:           `must begin with a lower-case letter and go on with lower-case letters, digits, "-" and "_", at most 63 in all`,
	`^[A-Za-z0-9_-]{1,56}$`:                `must be letters, digits, "-" and "_", 1 to 56`,
	`^[A-Za-z0-9_-]{1,64}$`:                `must be letters, digits, "-" and "_", 1 to 64`,
	`^(|failed|(infer-)?[1-9][0-9]{0,3})$`: `must name a model step: "infer-2" or "2", or be "failed"`,
}

// violationText says what is wrong with a field. Of a list of allowed values the empty one, which stands for "not given", is left out.
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
