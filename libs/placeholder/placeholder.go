// Package placeholder puts values in the place of ${namespace.path} in a text. It knows no namespaces: who resolves a text says what
// each placeholder stands for. "$${" writes "${", and what is put in is never read for placeholders again.
//
// A text may be resolved in two stages, at two places: Begin puts in what the first place knows and seals the rest, Finish opens it.
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
	// Namespace is what stands before the first dot: "params".
	Namespace string
	// Path is all behind it: "customer.name".
	Path string
}

// String is the placeholder as it is written.
func (r Ref) String() string { return "${" + r.Namespace + "." + r.Path + "}" }

// Error says what is wrong with one placeholder. It never holds a value.
type Error struct {
	// Placeholder as it is written.
	Placeholder string
	// Message says what is wrong, and what to do.
	Message string
}

// Error names the placeholder.
func (e *Error) Error() string { return e.Placeholder + " " + e.Message }

// Wrong makes an error about a placeholder.
func Wrong(r Ref, format string, args ...any) *Error {
	return &Error{Placeholder: r.String(), Message: fmt.Sprintf(format, args...)}
}

// Lookup gives what a placeholder stands for.
type Lookup func(Ref) (string, *Error)

// In tells whether a text must be resolved: without a "$" it stands for itself.
func In(text string) bool { return strings.Contains(text, "${") }

// Check calls check for each placeholder of a text, and gives its errors and those of the text itself.
func Check(text string, check func(Ref) *Error) []*Error {
	_, wrong := walk(text, func(r Ref) (string, *Error) { return "", check(r) }, plain)
	return wrong
}

// Resolve puts all values in. With errors there is no text.
func Resolve(text string, lookup Lookup) (string, []*Error) {
	if !In(text) {
		return text, nil
	}
	return walk(text, lookup, plain)
}

// Begin puts in the values of all namespaces but those of later, whose placeholders are left for Finish: of lookup only the error counts for
// them. The result is sealed: only Finish reads it.
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

// Finish puts the rest of the values into a sealed text.
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

// sealed texts have "$$" for each "$" that is none of a placeholder.
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

// walk copies a text as literal says, with its placeholders replaced. It goes through to the end even after errors.
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
			return "", append(wrong, &Error{Placeholder: firstOf(text[at:]), Message: "has no closing brace; write $${ where no placeholder is meant"})
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

// maxShown bounds what an error shows of a broken placeholder, in bytes.
const maxShown = 60

func firstOf(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return truncate.Bytes(text, maxShown)
}
