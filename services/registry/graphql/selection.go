package graphql

import (
	"fmt"
	"strings"
)

// Limits of what a query asks for.
const (
	// maxDepth is how deeply objects are nested: what lists of pages need (edges, node, and its own objects).
	maxDepth = 3
	// maxFields is the number of fields in all.
	maxFields = 100
)

// selector writes the selection of a query.
type selector struct {
	*schema
	fields int
}

// of returns the selection set of a type, with braces; empty for one without fields. Fields that need arguments are left out, and so are
// objects in objects that are already open, so that no query runs in circles.
func (s *selector) of(r *typeRef, open map[string]bool, depth int) string {
	t := s.types[r.named().Name]
	if t == nil {
		return ""
	}
	switch t.Kind {
	case object, iface:
		return s.object(t, open, depth)
	case union:
		parts := []string{"__typename"}
		for _, p := range t.PossibleTypes {
			member := s.types[p.Name]
			if member == nil || open[p.Name] {
				continue
			}
			if inner := s.object(member, open, depth+1); inner != "" {
				parts = append(parts, fmt.Sprintf("... on %s %s", p.Name, inner))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	default:
		return ""
	}
}

func (s *selector) object(t *namedType, open map[string]bool, depth int) string {
	if open[t.Name] {
		return ""
	}
	s.fields++ // so that a schema of objects alone ends too
	open[t.Name] = true
	defer delete(open, t.Name)
	var parts []string
	if t.Kind == iface {
		parts = append(parts, "__typename")
	}
	var objects []field
	for _, f := range t.Fields {
		if f.Deprecated || !isName(f.Name) || !s.known(&f.Type) || needsArguments(f) {
			continue
		}
		switch s.types[f.Type.named().Name].Kind {
		case scalar, enum:
			if s.fields++; s.fields <= maxFields {
				parts = append(parts, f.Name)
			}
		default:
			objects = append(objects, f)
		}
	}
	for _, f := range objects { // after all plain fields, which count first
		if depth >= maxDepth || s.fields >= maxFields {
			break
		}
		if inner := s.of(&f.Type, open, depth+1); inner != "" {
			parts = append(parts, f.Name+inner)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func needsArguments(f field) bool {
	for _, a := range f.Args {
		if a.required() {
			return true
		}
	}
	return false
}
