package blueprint

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/libs/placeholder"
)

// component is the part of an address in which a placeholder stands.
type component int

const (
	nowhere component = iota
	inHost
	inPath
	inQuery
)

var (
	// label is one label of a host's name: no dot, so that a caller's value stays below the name that the author wrote.
	label = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	// authority is a host, perhaps with its port.
	authority = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`)
)

// Shape is an address with a word in the place of each placeholder, for checks of its form.
func Shape(text string) string {
	shape, _ := shapeOf(text)
	return shape
}

func shapeOf(text string) (shape string, refs []placeholder.Ref) {
	shape, wrong := placeholder.Resolve(text, func(r placeholder.Ref) (string, *placeholder.Error) {
		refs = append(refs, r)
		return word(len(refs) - 1), nil
	})
	if len(wrong) > 0 { // told of elsewhere
		return text, nil
	}
	return shape, refs
}

// word stands for the n-th placeholder. It may stand in a host's name.
func word(n int) string { return fmt.Sprintf("zzplaceholder%dzz", n) }

// where finds the n-th placeholder in a parsed shape.
func where(u *url.URL, n int) component {
	switch w := word(n); {
	case strings.Contains(u.Host, w):
		return inHost
	case strings.Contains(u.EscapedPath(), w):
		return inPath
	case strings.Contains(u.RawQuery, w):
		return inQuery
	default:
		return nowhere
	}
}

// checkAddress refuses placeholders where nothing but the author may say what stands there.
func checkAddress(text string) (wrong []*placeholder.Error) {
	shape, refs := shapeOf(text)
	u, err := url.Parse(shape)
	if len(refs) == 0 || err != nil { // told of elsewhere
		return nil
	}
	for n, r := range refs {
		switch at := where(u, n); {
		case at == nowhere:
			wrong = append(wrong,
				placeholder.Wrong(r, "is not allowed here: placeholders may stand in the host, the path and the query of an address"))
		case at == inHost && callers(r) && !below(u.Hostname(), word(n)):
			wrong = append(wrong,
				placeholder.Wrong(r,
					"is not allowed here: a caller may choose a label below a name that you write, as in https://${params.region}.example.com"))
		}
	}
	return wrong
}

// below reports whether a word is in a label of a host's name that is not the last one, or in a name of one label that has more
// than the word.
func below(host, word string) bool {
	at := strings.LastIndexByte(host, '.')
	last := host[at+1:]
	if at < 0 {
		return last != word
	}
	return !strings.Contains(last, word)
}

// escaping makes the values of an address fit the component that they stand in.
func escaping(text string, lookup placeholder.Lookup) placeholder.Lookup {
	shape, _ := shapeOf(text)
	u, err := url.Parse(shape)
	n := -1
	return func(r placeholder.Ref) (string, *placeholder.Error) {
		n++
		value, wrong := lookup(r)
		if wrong != nil || value == "" && !callers(r) { // a worker's stands for nothing yet
			return value, wrong
		}
		if err != nil {
			return "", placeholder.Wrong(r, "stands in an address that is not valid")
		}
		switch at := where(u, n); {
		case at == inHost && callers(r) && (!label.MatchString(value) || !below(u.Hostname(), word(n))):
			return "", placeholder.Wrong(r, `stands for something that is no label of a host's name: want letters, digits and "-"`)
		case at == inHost && !callers(r) && !authority.MatchString(value):
			return "", placeholder.Wrong(r, "stands for something that is no host")
		case at == inHost, at == inPath && !callers(r):
			return value, nil
		case at == inPath && strings.Trim(value, ".") == "":
			return "", placeholder.Wrong(r, "stands for something that is no part of a path")
		case at == inPath:
			return url.PathEscape(value), nil
		case at == inQuery:
			return url.QueryEscape(value), nil
		default:
			return "", placeholder.Wrong(r, "is not allowed here")
		}
	}
}
