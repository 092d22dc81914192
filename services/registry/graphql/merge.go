package graphql

// separate gives other names to fields of a union's members that cannot be in one response beside those of earlier members: fields of one
// name have the same shape there, whichever member answers (GraphQL, October 2021, section 5.3.2).
func (s *selection) separate() {
	taken := map[string]bool{}
	for _, f := range s.fragments {
		for _, field := range f.fields {
			taken[field.key()] = true
		}
	}
	earlier := map[string][]*selected{}
	for _, f := range s.fragments {
		for _, field := range f.fields {
			if differs(field, earlier[field.key()]) {
				for field.alias = f.on + "_" + field.name; taken[field.alias]; {
					field.alias += "_"
				}
				taken[field.alias] = true
			}
			earlier[field.key()] = append(earlier[field.key()], field)
		}
	}
}

// differs reports whether a field has another shape than one of the others.
func differs(f *selected, others []*selected) bool {
	for _, other := range others {
		if !sameShape(f.of, other.of, f.inner == nil && other.inner == nil) || (f.inner == nil) != (other.inner == nil) ||
			conflict(f.inner, other.inner) {
			return true
		}
	}
	return false
}

// sameShape compares lists and nullability of two types and, of plain values, the types themselves.
func sameShape(a, b *typeRef, plain bool) bool {
	for a != nil && b != nil {
		if a.OfType == nil || b.OfType == nil {
			return a.OfType == nil && b.OfType == nil && (!plain || a.Name == b.Name)
		}
		if a.Kind != b.Kind {
			return false
		}
		a, b = a.OfType, b.OfType
	}
	return a == b
}

// conflict reports whether two selection sets have fields of one name and different shapes.
func conflict(a, b *selection) bool {
	if a == nil || b == nil {
		return false
	}
	byName := map[string][]*selected{}
	for _, f := range a.all() {
		byName[f.key()] = append(byName[f.key()], f)
	}
	for _, f := range b.all() {
		if differs(f, byName[f.key()]) {
			return true
		}
	}
	return false
}

// all returns the fields of a selection set and of its fragments.
func (s *selection) all() []*selected {
	out := s.fields[:len(s.fields):len(s.fields)]
	for _, f := range s.fragments {
		out = append(out, f.all()...)
	}
	return out
}
