// Package claim finds values in the claims of a token.
package claim

import (
	"errors"
	"fmt"
	"strings"
)

// Path names a value in nested objects: realm_access.roles is "roles" in the object "realm_access". A backslash before a dot or a backslash
// makes it part of a name, as in https://example\.com/roles. The zero Path names nothing.
type Path struct{ names []string }

// maxDepth bounds the names of a path.
const maxDepth = 16

// ParsePath parses a path; an empty text gives the zero Path.
func ParsePath(text string) (Path, error) {
	if text == "" {
		return Path{}, nil
	}
	var p Path
	var name strings.Builder
	for rest := text; ; rest = rest[1:] {
		switch {
		case rest == "" || rest[0] == '.':
			if name.Len() == 0 {
				return Path{}, fmt.Errorf("path %q has an empty name", text)
			}
			p.names = append(p.names, name.String())
			name.Reset()
			if rest == "" {
				if len(p.names) > maxDepth {
					return Path{}, fmt.Errorf("path %q has more than %d names", text, maxDepth)
				}
				return p, nil
			}
		case rest[0] == '\\':
			if len(rest) < 2 || rest[1] != '.' && rest[1] != '\\' {
				return Path{}, errors.New(`a backslash in a path must precede a dot or a backslash: ` + text)
			}
			rest = rest[1:]
			name.WriteByte(rest[0])
		default:
			name.WriteByte(rest[0])
		}
	}
}

// IsZero reports whether the path names nothing.
func (p Path) IsZero() bool { return len(p.names) == 0 }

// Find returns the value in claims that the path names.
func (p Path) Find(claims map[string]any) (any, bool) {
	if p.IsZero() {
		return nil, false
	}
	var value any = claims
	for _, name := range p.names {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[name]; !ok {
			return nil, false
		}
	}
	return value, true
}
