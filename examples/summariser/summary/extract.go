package summary

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// extracted says what made a summary without a model.
const extracted = "no model made this: sentences of the document, picked by how often their words occur in it"

// runesPerWord bounds the length of a text whose words are not separated by spaces.
const runesPerWord = 10

// sentence is a sentence of a document.
type sentence struct {
	text  string
	words []string
	place int
	score float64
}

// Extract returns the sentences of a document whose words occur most often in it, in their order, up to about as many words as asked for.
// Words of the focus count more. It is no model and understands nothing.
func Extract(document string, o Options) Summary {
	all := sentences(document)
	count := map[string]int{}
	for _, s := range all {
		for _, w := range s.words {
			count[w]++
		}
	}
	focus := words(o.Focus)
	for i := range all {
		s := &all[i]
		for _, w := range s.words {
			if len([]rune(w)) > 3 { // shorter ones are mostly grammar
				s.score += float64(count[w])
			}
			if slices.Contains(focus, w) {
				s.score += float64(len(all))
			}
		}
		s.score /= math.Sqrt(float64(len(s.words) + 1)) // or the longest sentence always wins
	}
	slices.SortStableFunc(all, func(a, b sentence) int { return cmp.Compare(b.score, a.score) })
	var picked []sentence
	left := o.Words
	for _, s := range all {
		if cost := max(len(s.words), len([]rune(s.text))/runesPerWord); cost <= left {
			picked = append(picked, s)
			left -= cost
		}
	}
	if len(picked) == 0 { // every sentence is longer than the summary may be
		picked = []sentence{{text: beginning(all[0].text, o.Words)}}
	}
	slices.SortFunc(picked, func(a, b sentence) int { return a.place - b.place })
	texts := make([]string, len(picked))
	for i, s := range picked {
		texts[i] = s.text
	}
	return Summary{Text: strings.Join(texts, " "), Method: "extract", MadeBy: extracted}
}

// sentences splits at marks that end a sentence and are followed by a space, and at empty lines. There is always one.
func sentences(document string) []sentence {
	var found []sentence
	add := func(text string) {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			found = append(found, sentence{text: text, words: words(text), place: len(found)})
		}
	}
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(document, "\r\n", "\n"), "\n\n") {
		begin, after := 0, false
		for i, r := range paragraph {
			if after && unicode.IsSpace(r) {
				add(paragraph[begin:i])
				begin = i
			}
			after = strings.ContainsRune(".!?…。", r)
		}
		add(paragraph[begin:])
	}
	if len(found) == 0 {
		return []sentence{{}}
	}
	return found
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// beginning is the first words of a text, bounded in length for texts without spaces.
func beginning(text string, count int) string {
	fields := strings.Fields(text)
	text = strings.Join(fields[:min(count, len(fields))], " ")
	if runes := []rune(text); len(runes) > runesPerWord*count {
		text = string(runes[:runesPerWord*count])
	}
	return text + " …"
}
