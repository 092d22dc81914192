package nearest_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/nearest"
)

func TestName(t *testing.T) {
	known := []string{"id", "instructions", "model", "modes", "max_steps", "MAX_TOKENS", strings.Repeat("long", 50)}
	for _, row := range []struct{ name, misspelled, want string }{
		{"a letter too many", "modell", "model"},
		{"a letter missing", "instrctions", "instructions"},
		{"two letters swapped", "mdoel", "model"},
		{"a plural", "max_step", "max_steps"},
		{"other case", "Model", "model"},
		{"known in upper case", "max_token", "MAX_TOKENS"},
		{"the first of several that are equally close", "modex", "model"},
		{"the closest", "modess", "modes"},
		{"a third of a long name", "struktions", "instructions"},
		{"nothing in common", "x", ""},
		{"nothing close", "temperature", ""},
		{"empty", "", ""},
		{"longer than any name", strings.Repeat("model", 100), ""},
		{"long", strings.Repeat("long", 49) + "lon", strings.Repeat("long", 50)},
	} {
		if got := nearest.Name(row.misspelled, known); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	if got := nearest.Name("model", nil); got != "" {
		t.Errorf("of no names: %q", got)
	}
}

func TestNames(t *testing.T) {
	known := []string{"web__fetch", "notes__add", "notes__adds", "notes__and"}
	suffix := func(end string) func(string) bool {
		return func(known string) bool { return strings.HasSuffix(known, end) }
	}
	for _, row := range []struct {
		name, misspelled string
		limit            int
		alike            func(string) bool
		want             string
	}{
		{"the closest first, then in their order", "notes__add", 5, nil, "notes__add notes__adds notes__and"},
		{"as many as asked for", "notes__add", 2, nil, "notes__add notes__adds"},
		{"none asked for", "notes__add", 0, nil, ""},
		{"alike counts as one letter away", "fetch", 5, suffix("__fetch"), "web__fetch"},
		{"alike does not push a closer name back", "notes__add", 5, suffix("__fetch"), "notes__add web__fetch notes__adds notes__and"},
	} {
		if got := strings.Join(nearest.Names(row.misspelled, known, row.limit, row.alike), " "); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
