package bearer

import (
	"errors"
	"fmt"
	"strings"
)

// claimPath names a value in nested objects of claims: realm_access.roles is "roles" in the object "realm_access". A backslash before a dot
// or a backslash makes it part of a name, as in https://example\.com/roles. The zero path names nothing.
type claimPath struct{ names []string }

// maxDepth bounds the names of a path.
const maxDepth = 16

// parsePath parses a path; an empty text gives the zero path.
func parsePath(text string) (claimPath, error) {
	if text == "" {
		return claimPath{}, nil
	}
	var p claimPath
	var name strings.Builder
	for rest := text; ; rest = rest[1:] {
		switch {
		case rest == "" || rest[0] == '.':
			if name.Len() == 0 {
				return claimPath{}, fmt.Errorf("path %q has an empty name", text)
			}
			p.names = append(p.names, name.String())
			name.Reset()
			if rest == "" {
				if len(p.names) > maxDepth {
					return claimPath{}, fmt.Errorf("path %q has more than %d names", text, maxDepth)
				}
				return p, nil
			}
		case rest[0] == '\\':
			if len(rest) < 2 || rest[1] != '.' && rest[1] != '\\' {
				return claimPath{}, errors.New(`a backslash in a path must precede a dot or a backslash: ` + text)
			}
			rest = rest[1:]
			name.WriteByte(rest[0])
		default:
			name.WriteByte(rest[0])
		}
	}
}

func (p claimPath) isZero() bool { return len(p.names) == 0 }

// find returns the value in claims that the path names.
func (p claimPath) find(claims map[string]any) (any, bool) {
	if p.isZero() {
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
