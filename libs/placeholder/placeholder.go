// Package placeholder replaces ${namespace.path} in a text. It knows no namespaces: the caller's Lookup returns the value of each
// placeholder. "$${" stands for a literal "${", and inserted values are never scanned for placeholders.
//
// A text may be resolved in two stages in different processes: Begin inserts the values that the first one knows and seals the rest for
// Finish.
package placeholder

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// Ref is one placeholder.
type Ref struct {
	// Namespace is the part before the first dot: "params".
	Namespace string
	// Path is the part after it: "customer.name".
	Path string
}

// String returns the placeholder as it is written.
func (r Ref) String() string { return "${" + r.Namespace + "." + r.Path + "}" }

// Error says what is wrong with one placeholder. It never contains a value.
type Error struct {
	// Placeholder as it is written.
	Placeholder string
	// Message says what is wrong, and what to do.
	Message string
}

// Error returns the placeholder and the message.
func (e *Error) Error() string { return e.Placeholder + " " + e.Message }

// Wrong returns an error about a placeholder.
func Wrong(r Ref, format string, args ...any) *Error {
	return &Error{Placeholder: r.String(), Message: fmt.Sprintf(format, args...)}
}

// Lookup returns the value of a placeholder.
type Lookup func(Ref) (string, *Error)

// In reports whether a text contains "${" and must be resolved.
func In(text string) bool { return strings.Contains(text, "${") }

// Check calls check for each placeholder of a text, and returns its errors and syntax errors.
func Check(text string, check func(Ref) *Error) []*Error {
	_, wrong := walk(text, func(r Ref) (string, *Error) { return "", check(r) }, plain)
	return wrong
}

// Resolve inserts all values. If there are errors it returns no text.
func Resolve(text string, lookup Lookup) (string, []*Error) {
	if !In(text) {
		return text, nil
	}
	return walk(text, lookup, plain)
}

// Begin inserts the values of all namespaces except later ones, whose placeholders stay for Finish; lookup is called for them too, but only
// its error counts. The result is sealed: only Finish can read it.
func Begin(text string, lookup Lookup, later ...string) (string, []*Error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	return walk(text, func(r Ref) (string, *Error) {
		value, wrong := lookup(r)
		if slices.Contains(later, r.Namespace) {
			return r.String(), wrong
		}
		return seal(value), wrong
	}, seal)
}

// Finish inserts the remaining values into a sealed text.
func Finish(sealed string, lookup Lookup) (string, []*Error) {
	if !strings.Contains(sealed, "$") {
		return sealed, nil
	}
	var b strings.Builder
	var wrong []*Error
	for rest := sealed; rest != ""; {
		text, after, found := strings.Cut(rest, "$")
		b.WriteString(text)
		if rest = after; !found {
			break
		}
		if strings.HasPrefix(rest, "$") {
			b.WriteByte('$')
			rest = rest[1:]
			continue
		}
		inner, after, closed := strings.Cut(strings.TrimPrefix(rest, "{"), "}")
		ref, ok := parse(inner)
		if !closed || !ok {
			return "", []*Error{{Placeholder: "$" + firstOf(rest), Message: "stands in a text that was not sealed"}}
		}
		value, e := lookup(ref)
		if e != nil {
			wrong = append(wrong, e)
		}
		b.WriteString(value)
		rest = after
	}
	if len(wrong) > 0 {
		return "", wrong
	}
	return b.String(), nil
}

// seal doubles each "$" that is not part of a placeholder.
func seal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func plain(text string) string { return text }

var inside = regexp.MustCompile(`^([a-z][a-z0-9_]*)\.([^\s{}$]+)$`)

func parse(inner string) (Ref, bool) {
	m := inside.FindStringSubmatch(inner)
	if m == nil {
		return Ref{}, false
	}
	return Ref{Namespace: m[1], Path: m[2]}, true
}

// walk copies a text with literal parts passed through literal and placeholders replaced. It continues after errors.
func walk(text string, lookup Lookup, literal func(string) string) (string, []*Error) {
	var b strings.Builder
	var wrong []*Error
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			b.WriteString(literal(text))
			break
		}
		if at > 0 && text[at-1] == '$' { // $${
			b.WriteString(literal(text[:at-1] + "${"))
			text = text[at+2:]
			continue
		}
		b.WriteString(literal(text[:at]))
		inner, after, closed := strings.Cut(text[at+2:], "}")
		ref, ok := parse(inner)
		switch {
		case !closed:
			return "", append(wrong, &Error{
				Placeholder: firstOf(text[at:]),
				Message:     "has no closing brace; write $${ where no placeholder is meant",
			})
		case !ok:
			wrong = append(wrong, &Error{
				Placeholder: firstOf("${" + inner + "}"),
				Message:     "is no placeholder: want ${namespace.name}; write $${ where none is meant",
			})
		default:
			value, e := lookup(ref)
			if e != nil {
				wrong = append(wrong, e)
			}
			b.WriteString(value)
		}
		text = after
	}
	if len(wrong) > 0 {
		return "", wrong
	}
	return b.String(), nil
}

// maxShown is how much of a broken placeholder an error quotes, in bytes.
const maxShown = 60

func firstOf(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return truncate.Bytes(text, maxShown)
}
