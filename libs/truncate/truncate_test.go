package truncate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/truncate"
)

func TestNames(t *testing.T) {
	got := truncate.Names([]string{"b b", "a\x00ä", "", "é", "b b", "toolong", "left out"}, 4, 4)
	if strings.Join(got, ",") != "a,bb,tool" {
		t.Errorf("got %q", got)
	}
}

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		name, got, want string
	}{
		{"bytes, short enough", truncate.Bytes("abc", 3), "abc"},
		{"bytes, too long", truncate.Bytes("abcd", 3), "abc…"},
		{"bytes, in the middle of a character", truncate.Bytes("aé", 2), "a…"},
		{"bytes, not UTF-8", truncate.Bytes("a\xffbc", 3), "ab…"},
		{"characters, short enough", truncate.Chars("äöü", 3), "äöü"},
		{"characters, too long", truncate.Chars("äöüß", 3), "äöü…"},
		{"characters, none", truncate.Chars("ä", 0), "…"},
		{"line", truncate.Line("  one\n\ttwo\x00three ", 20), "one two three"},
		{"line, too long", truncate.Line("one two three", 9), "one two…"},
		{"line, nothing", truncate.Line("\n", 9), ""},
		{"line, of spaces first", truncate.Line(strings.Repeat(" ", 100)+"a", 9), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if got := truncate.Cut("abcd", 2); got != "ab" {
		t.Errorf("cut %q", got)
	}
}

func TestTruncatedTextsKeepTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(1, 40).Draw(t, "limit")
		if got := truncate.Cut(text, limit); len(got) > limit || !strings.HasPrefix(text, got) {
			t.Fatalf("cut %q", got)
		}
		if got := truncate.Chars(text, limit); utf8.RuneCountInString(got) > limit+1 ||
			!strings.HasPrefix(text, strings.TrimSuffix(got, "…")) && got != text {
			t.Fatalf("characters %q", got)
		}
		if got := truncate.Line(text, limit); utf8.RuneCountInString(got) > limit || strings.ContainsAny(got, "\n\t") {
			t.Fatalf("line %q", got)
		}
	})
}
