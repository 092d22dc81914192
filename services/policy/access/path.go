package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Paths of what is not a claim.
const (
	pathSubject = "$subject"
	pathRoles   = "$roles"
)

// maxSegments limits the depth of a path.
const maxSegments = 16

// perToken are claims that differ in each token of the same user. Policies cannot match them, so that results are cached across tokens.
var perToken = []string{"exp", "iat", "nbf", "jti", "nonce", "at_hash", "c_hash", "s_hash"}

// path is a parsed claim path: a name of its own, or the names from the claims down.
type path struct {
	special string
	names   []string
}

var errEmptyName = errors.New(`a name is empty: write names with single dots between, such as realm_access.roles, and a dot within a name with a backslash before it`)

// parsePath parses a dotted path.
func parsePath(text string) (path, error) {
	if strings.HasPrefix(text, "$") {
		if text == pathSubject || text == pathRoles {
			return path{special: text}, nil
		}
		return path{}, fmt.Errorf(`%q: besides claims there are $subject and $roles; write a claim whose name starts with $ as \$`, text)
	}
	var names []string
	var name strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '.':
			names = append(names, name.String())
			name.Reset()
		case c != '\\':
			name.WriteByte(c)
		case i+1 < len(text) && strings.IndexByte(`.\$`, text[i+1]) >= 0:
			i++
			name.WriteByte(text[i])
		default:
			return path{}, fmt.Errorf(`byte %d: a backslash stands before a dot, a backslash or $ only; write a backslash as \\`, i)
		}
	}
	names = append(names, name.String())
	if len(names) > maxSegments {
		return path{}, fmt.Errorf("has %d names; %d is the most", len(names), maxSegments)
	}
	if slices.Contains(names, "") {
		return path{}, errEmptyName
	}
	if slices.Contains(perToken, names[0]) {
		return path{}, fmt.Errorf("%q differs in each token, and policies do not see it; match a claim about the user", names[0])
	}
	return path{names: names}, nil
}

// list reports whether the path always leads to a list.
func (p path) list() bool { return p.special == pathRoles }

// find returns the value at the path, nil if there is none. Null counts as none.
func (p path) find(who *policyv1.Principal) *structpb.Value {
	switch p.special {
	case pathSubject:
		return structpb.NewStringValue(who.GetSubject())
	case pathRoles:
		list := &structpb.ListValue{}
		for _, r := range who.GetRoles() {
			list.Values = append(list.Values, structpb.NewStringValue(r))
		}
		return structpb.NewListValue(list)
	}
	at := who.GetClaims()
	for i, n := range p.names {
		v, ok := at.GetFields()[n]
		if !ok {
			return nil
		}
		if i == len(p.names)-1 {
			if _, null := v.GetKind().(*structpb.Value_NullValue); null {
				return nil
			}
			return v
		}
		at = v.GetStructValue() // nil for other values, and so without fields
	}
	return nil
}
