package mcp

import (
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
)

// variable is an expression of a URI template (RFC 6570) of which the values can be told apart again.
var variable = regexp.MustCompile(`\{\+?[A-Za-z0-9_]+\}`)

// pattern returns the expression that the URIs of a source's resources match: all that begin with a text, or, if it has expressions
// {name} or {+name}, those that the template can expand to. {name} is a part without slashes.
func pattern(uri string) (*regexp.Regexp, error) {
	var out strings.Builder
	out.WriteString(`\A(?s:`)
	at, whole := 0, false
	for _, found := range variable.FindAllStringIndex(uri, -1) {
		out.WriteString(regexp.QuoteMeta(uri[at:found[0]]))
		if uri[found[0]+1] == '+' {
			out.WriteString(`.+`)
		} else {
			out.WriteString(`[^/]+`)
		}
		at, whole = found[1], true
	}
	if strings.ContainsAny(variable.ReplaceAllString(uri, ""), "{}") {
		return nil, fault.Invalid("source.uri", "has an expression that is neither {name} nor {+name}")
	}
	out.WriteString(regexp.QuoteMeta(uri[at:]))
	out.WriteString(`)`)
	if whole {
		out.WriteString(`\z`)
	}
	re, err := regexp.Compile(out.String())
	if err != nil { // it has too many expressions
		return nil, fault.Invalid("source.uri", "is too long a template")
	}
	return re, nil
}
