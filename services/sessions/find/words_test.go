package find_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/sessions/find"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestWords(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"no words", "… -- !? \x00", ""},
		{"case and repetition", "The the THE end", "the end"},
		{"accents, composed or not", "café Cafe\u0301 Ünïcode", "cafe unicode"},
		{"numbers", "invoice #4711, 3.5", "invoice 4711 3 5"},
		{"wide letters and ligatures", "ＡＢＣ ﬁnd", "abc find"},
		{"scripts without spaces", "東京タワー ok", "東 京 タ ワ ー ok"},
		{"zero-width characters", "in\u200dvis\u00adible", "invisible"},
		{"not UTF-8", "a\xffb", "a b"},
		{"a long word", strings.Repeat("x", 1000), strings.Repeat("x", 48)},
		{"Greek, Cyrillic, Arabic", "Αθήνα Москва سلام", "αθηνα москва سلام"},
	} {
		if got := strings.Join(find.Words(tc.text, 100), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got := find.Words("a b c d", 2); len(got) != 2 {
		t.Errorf("two words at most: %q", got)
	}
	if got := find.Query("a b c d e f g h i j"); len(got) != 8 {
		t.Errorf("a query has %q", got)
	}
}
