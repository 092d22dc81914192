package graphql

import "strings"

// Limits of what a query asks for.
const (
	// maxDepth is how deeply objects are nested: what lists of pages need (edges, node, and its own objects).
	maxDepth = 3
	// maxFields is the number of fields in all.
	maxFields = 100
)

// selection is a selection set. Fields come before fragments.
type selection struct {
	typename  bool
	fields    []*selected
	fragments []fragment
}

// selected is a field of a selection set.
type selected struct {
	// alias is its name in the response; empty = its own.
	alias, name string
	of          *typeRef
	inner       *selection // nil for a plain value
}

// fragment is what is selected of one member of a union.
type fragment struct {
	on string
	*selection
}

func (f *selected) key() string {
	if f.alias != "" {
		return f.alias
	}
	return f.name
}

// empty reports whether nothing is selected, which is not valid.
func (s *selection) empty() bool {
	return s == nil || !s.typename && len(s.fields)+len(s.fragments) == 0
}

// String is the selection set with braces; empty for one without fields.
func (s *selection) String() string {
	if s.empty() {
		return ""
	}
	var parts []string
	if s.typename {
		parts = append(parts, "__typename")
	}
	for _, f := range s.fields {
		text := f.name + f.inner.String()
		if f.alias != "" {
			text = f.alias + ": " + text
		}
		parts = append(parts, text)
	}
	for _, f := range s.fragments {
		parts = append(parts, "... on "+f.on+" "+f.String())
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// selector makes the selection of a query.
type selector struct {
	*schema
	fields int
}

// of returns the selection set of a type; empty for one without fields. Fields that need arguments are left out, and so are objects in
// objects that are already open, so that no query runs in circles.
func (s *selector) of(r *typeRef, open map[string]bool, depth int) *selection {
	t := s.types[r.named().Name]
	if t == nil {
		return nil
	}
	switch t.Kind {
	case object, iface:
		return s.object(t, open, depth)
	case union:
		out := &selection{typename: true}
		for _, p := range t.PossibleTypes {
			member := s.types[p.Name]
			if member == nil || open[p.Name] {
				continue
			}
			if inner := s.object(member, open, depth+1); !inner.empty() {
				out.fragments = append(out.fragments, fragment{p.Name, inner})
			}
		}
		out.separate()
		return out
	default:
		return nil
	}
}

func (s *selector) object(t *namedType, open map[string]bool, depth int) *selection {
	if open[t.Name] {
		return nil
	}
	s.fields++ // so that a schema of objects alone ends too
	open[t.Name] = true
	defer delete(open, t.Name)
	out := &selection{typename: t.Kind == iface}
	var objects []field
	for _, f := range t.Fields {
		if f.Deprecated || !isName(f.Name) || !s.known(&f.Type) || needsArguments(f) {
			continue
		}
		switch s.types[f.Type.named().Name].Kind {
		case scalar, enum:
			if s.fields++; s.fields <= maxFields {
				out.fields = append(out.fields, &selected{name: f.Name, of: &f.Type})
			}
		default:
			objects = append(objects, f)
		}
	}
	for _, f := range objects { // after all plain fields, which count first
		if depth >= maxDepth || s.fields >= maxFields {
			break
		}
		if inner := s.of(&f.Type, open, depth+1); !inner.empty() {
			out.fields = append(out.fields, &selected{name: f.Name, of: &f.Type, inner: inner})
		}
	}
	return out
}

func needsArguments(f field) bool {
	for _, a := range f.Args {
		if a.required() {
			return true
		}
	}
	return false
}
