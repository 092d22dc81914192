package challenge_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/challenge"
)

func TestChallenges(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`Bearer`:                             {},
		`bearer a="1", b=2`:                  {"a": "1", "b": "2"},
		`Bearer  a = "x\"y" ,b="p, q=\"r\""`: {"a": `x"y`, "b": `p, q="r"`},
		`Basic realm="x"`:                    {},
		`Bearer a="unterminated`:             {},
		`Bearer a="1", a="2"`:                {"a": "1"},
		`Bearer =`:                           {},
		`Bearer scope="a b",resource_metadata="https://x/y"`: {"scope": "a b", "resource_metadata": "https://x/y"},
	} {
		got := challenge.Bearer(http.Header{"Www-Authenticate": {text}})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestInsufficientScopes(t *testing.T) {
	var many strings.Builder
	for i := range 2 * challenge.MaxScopes {
		fmt.Fprintf(&many, "s%d ", i)
	}
	for name, row := range map[string]struct {
		status int
		text   string
		scopes []string
		ok     bool
	}{
		"with scopes":          {403, `Bearer error="insufficient_scope", scope="read write read"`, []string{"read", "write"}, true},
		"without":              {403, `Bearer error="insufficient_scope"`, nil, true},
		"another error":        {403, `Bearer error="invalid_token", scope="read"`, nil, false},
		"another status":       {401, `Bearer error="insufficient_scope", scope="read"`, nil, false},
		"another scheme":       {403, `Basic error="insufficient_scope", scope="read"`, nil, false},
		"nothing":              {403, ``, nil, false},
		"characters of others": {403, "Bearer error=insufficient_scope, scope=\"a\\\\b c\x01d \u00e9 ok " + strings.Repeat("x", 300) + `"`, []string{"ok"}, true},
		"too many":             {403, `Bearer error="insufficient_scope", scope="` + many.String() + `"`, strings.Fields(many.String())[:challenge.MaxScopes], true},
	} {
		got, ok := challenge.Insufficient(&http.Response{StatusCode: row.status, Header: http.Header{"Www-Authenticate": {row.text}}})
		if ok != row.ok || !slices.Equal(got, row.scopes) {
			t.Errorf("%s: %q, %t", name, got, ok)
		}
	}
}
