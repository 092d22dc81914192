package envref

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
)

var (
	headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	reference  = regexp.MustCompile(`\$\{(env:[A-Za-z_][A-Za-z0-9_]*|secret:[A-Za-z][A-Za-z0-9_.-]{0,127})\}`)
)

// Place describes where the references of a definition are resolved, for error messages.
type Place struct {
	// Owner is the process whose environment is used: "MCP bridge".
	Owner string
	// Prefix is the prefix of variables that are allowed by default: "WINDLASS_TOOL_".
	Prefix string
}

// CheckHeaders reports invalid headers and secrets in clear text, since definitions are stored and shown. The prefix is the path of the
// headers.
func (p Place) CheckHeaders(prefix string, headers map[string]string) (wrong []fault.Field) {
	bad := func(name, message string) {
		wrong = append(wrong, fault.Field{Path: prefix + "." + name, Message: message})
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		switch {
		case !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n"):
			bad(name, "not a valid header")
		case secretHeader(name) && !reference.MatchString(value):
			bad(name, p.advice()+p.example(value, name))
		case broken(value):
			bad(name, "a reference is written ${env:NAME} or ${secret:NAME}")
		}
	}
	return wrong
}

// CheckVariables is CheckHeaders for environment variables.
func (p Place) CheckVariables(prefix string, variables map[string]string) (wrong []fault.Field) {
	bad := func(name, message string) {
		wrong = append(wrong, fault.Field{Path: prefix + "." + name, Message: message})
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value := variables[name]
		switch {
		case name == "" || strings.Contains(name, "="):
			bad(name, "not a valid environment variable")
		case secretVariable(name) && !reference.MatchString(value):
			bad(name, p.advice()+p.variable(name))
		case broken(value):
			bad(name, "a reference is written ${env:NAME} or ${secret:NAME}")
		}
	}
	return wrong
}

// advice says what to write instead of a secret; an example follows.
func (p Place) advice() string {
	return "a secret must not be written here; put it into the environment of the " + p.Owner + " and refer to it: "
}

// secretHeader reports whether a header of this name probably carries a secret.
func secretHeader(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "authorization", "proxy-authorization", "cookie", "apikey":
		return true
	}
	return secretWords(strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }))
}

// secretVariable reports whether an environment variable of this name probably carries a secret.
func secretVariable(name string) bool {
	return secretWords(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' }))
}

func secretWords(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		for _, part := range []string{"token", "secret", "password", "passwd", "credential", "apikey"} {
			if strings.Contains(w, part) {
				return true
			}
		}
		return strings.HasSuffix(w, "key") || strings.HasSuffix(w, "keys") || w == "auth"
	})
}

// broken reports whether the value contains a malformed reference.
func broken(value string) bool {
	rest := reference.ReplaceAllString(value, "")
	return strings.Contains(rest, "${env:") || strings.Contains(rest, "${secret:")
}

// Whole reports whether a text is one reference and nothing else.
func Whole(text string) bool { return text != "" && reference.FindString(text) == text }

// example returns a header value that uses a reference and keeps the value's scheme word.
func (p Place) example(value, header string) string {
	variable := p.variable(header)
	if scheme, _, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "basic") {
		return scheme + " " + variable
	}
	return variable
}

// variable returns a reference that is allowed by default.
func (p Place) variable(name string) string {
	return "${env:" + p.Prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "}"
}
