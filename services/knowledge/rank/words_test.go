package rank_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/services/knowledge/rank"
)

func TestWordsOfQueries(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, query string
		want        []string
	}{
		{name: "words are stemmed", query: "Searching searches searched", want: []string{"search"}},
		{name: "stop words are left out", query: "How do I delete the session?", want: []string{"delet", "session"}},
		{name: "a query of stop words keeps them", query: "What is it", want: []string{"what", "is", "it"}},
		{name: "camel case", query: "CreateTemp", want: []string{"creat", "temp", "createtemp"}},
		{name: "capitals before a word", query: "HTTPServer", want: []string{"http", "server", "httpserver"}},
		{name: "underscores", query: "max_document_bytes", want: []string{"max", "document", "byte", "maxdocumentbyt"}},
		{
			name: "dots, and each part that has several words", query: "os.CreateTemp",
			want: []string{"os", "creat", "temp", "createtemp", "oscreatetemp"},
		},
		{name: "hyphens", query: "sub-agents", want: []string{"sub", "agent", "subag"}},
		{name: "the same in one word", query: "subagents", want: []string{"subag"}},
		{name: "digits", query: "sha256", want: []string{"sha", "256", "sha256"}},
		{name: "versions", query: "1.26", want: []string{"1", "26", "126"}},
		{name: "the end of a sentence joins nothing", query: "session. Turn... end-", want: []string{"session", "turn", "end"}},
		{name: "possessives", query: "the agent's agent’s", want: []string{"agent"}},
		{name: "contractions", query: "don't", want: []string{"don", "t", "dont"}},
		{name: "accents and width", query: "Ｃａｆé", want: []string{"cafe"}},
		{name: "case folding", query: "Straße STRASSE", want: []string{"strass"}},
		{name: "combining marks", query: "cafe\u0301", want: []string{"cafe"}},
		{name: "other scripts", query: "Сессия", want: []string{"сессия"}},
		{name: "pairs of characters", query: "知識銀行", want: []string{"知識", "識銀", "銀行"}},
		{name: "a single character", query: "水", want: []string{"水"}},
		{name: "mixed scripts", query: "API検索v2", want: []string{"api", "検索", "v", "2"}},
		{name: "long words are left out", query: strings.Repeat("x", 65) + " yes", want: []string{"yes"}},
		{name: "no words", query: " … \x00 !"},
		{name: "broken UTF-8", query: "caf\xff ok", want: []string{"caf", "ok"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := rank.Query(row.query); !slices.Equal(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestQueriesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for r := 'a'; r <= 'z'; r++ {
		for q := 'a'; q <= 'z'; q++ {
			b.WriteString("q" + string(r) + string(q) + " ")
		}
	}
	if n := len(rank.Query(b.String())); n > 256 || n < 200 {
		t.Errorf("%d words", n)
	}
}

func TestHeadingsCountTwice(t *testing.T) {
	t.Parallel()
	counts, length := rank.Count([]string{"Banks", "Create a bank"}, "A bank has documents. CreateBank makes it.")
	want := map[string]int{
		"bank": 2 + 2 + 1 + 1, "creat": 2 + 1, "a": 2 + 1, "has": 1, "document": 1, "createbank": 1, "make": 1, "it": 1,
	}
	if !maps.Equal(counts, want) || length != 1+3+4+4 {
		t.Errorf("%v, %d words", counts, length)
	}
}

// TestAnyTextIsAnalysed: words have letters and digits only, of a bounded length, and the analysis of an analysed text finds its words.
func TestAnyTextIsAnalysed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-zA-Z0-9]{0,9}[ _.'-]?){0,9}`)).Draw(t, "text")
		counts, length := rank.Count(nil, text)
		if length < 0 || (length == 0) != (len(counts) == 0) {
			t.Fatalf("%d words, %v", length, counts)
		}
		for word, n := range counts {
			// Folding may make a character of several: at most 18 of one.
			if n < 1 || word == "" || !utf8.ValidString(word) || len(word) > 128 || strings.ContainsFunc(word, func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r)
			}) {
				t.Fatalf("%q × %d", word, n)
			}
		}
		for _, word := range rank.Query(text) {
			if counts[word] == 0 {
				t.Fatalf("the text has no %q of its query: %v", word, counts)
			}
		}
	})
}
