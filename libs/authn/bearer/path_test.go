package bearer

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	var claims map[string]any
	if err := json.Unmarshal([]byte(`{"sub":"u","realm_access":{"roles":["a"]},"https://x.org/roles":{"back\\slash":1},"null":null}`), &claims); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		path, want string
		found, bad bool
	}{
		{path: "sub", want: `"u"`, found: true},
		{path: "realm_access.roles", want: `["a"]`, found: true},
		{path: `https://x\.org/roles.back\\slash`, want: `1`, found: true},
		{path: "null", want: `null`, found: true},
		{path: "https://x.org/roles", want: `null`},
		{path: "sub.more", want: `null`},
		{path: "missing", want: `null`},
		{path: "", want: `null`},
		{path: ".", bad: true},
		{path: "a.", bad: true},
		{path: ".a", bad: true},
		{path: "a..b", bad: true},
		{path: `a\`, bad: true},
		{path: `a\b`, bad: true},
		{path: strings.Repeat("a.", 16) + "a", bad: true},
	} {
		p, err := parsePath(row.path)
		if (err != nil) != row.bad {
			t.Errorf("%q: %v", row.path, err)
		}
		if row.bad {
			continue
		}
		value, found := p.find(claims)
		got, _ := json.Marshal(value)
		if found != row.found || string(got) != row.want {
			t.Errorf("%q: %s, %t", row.path, got, found)
		}
	}
}
