package glob

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	for _, row := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true},
		{"*", "sessions.turns.create", true},
		{"", "", true},
		{"", "a", false},
		{"sessions.*", "sessions.turns.create", true},
		{"sessions.*", "sessions", false},
		{"*.list", "registry.tools.list", true},
		{"*.list", "registry.tools.listing", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"notes__*", "notes__add", true},
		{"notes__?dd", "notes__add", true},
		{"notes__?dd", "notes__dd", false},
		{"?", "é", true},
		{"??", "é", false},
		{"Notes__*", "notes__add", false},
		{"**a", "bba", true},
		{"[a]", "a", false},
	} {
		if got := Match(row.pattern, row.name); got != row.want {
			t.Errorf("Match(%q, %q) = %t", row.pattern, row.name, got)
		}
	}
}

func TestAnyOfNothingMatchesNothing(t *testing.T) {
	if Any(nil, "a") || !Any([]string{"b", "a*"}, "ab") {
		t.Error("Any is wrong")
	}
}

// TestMatchAgreesWithRegexp compares Match with the equivalent regular expression.
func TestMatchAgreesWithRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?é]{0,8}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[abé]{0,10}`).Draw(t, "name")
		text := regexp.QuoteMeta(pattern)
		text = strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(text)
		want := regexp.MustCompile(`^(?s:` + text + `)$`).MatchString(name)
		if got := Match(pattern, name); got != want {
			t.Fatalf("Match(%q, %q) = %t, the regular expression says %t", pattern, name, got, want)
		}
	})
}

func TestHostilePatternIsNotSlow(t *testing.T) {
	done := make(chan bool)
	go func() { done <- Match(strings.Repeat("a*", 2000)+"b", strings.Repeat("a", 20000)) }()
	select {
	case got := <-done:
		if got {
			t.Error("matched")
		}
	case <-time.After(time.Minute):
		t.Fatal("matching takes exponential time")
	}
}
