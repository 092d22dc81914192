package rank

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// maxRelatedQuery is the number of words of a query up to which related words are searched as well. A longer text has words enough.
const maxRelatedQuery = 32

//go:embed related.txt
var relatedText string

// related maps analysed words to those that mean nearly the same.
var related = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(relatedText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		group := Query(line)
		for _, word := range group {
			for _, other := range group {
				if other != word && !slices.Contains(out[word], other) {
					out[word] = append(out[word], other)
				}
			}
		}
	}
	return out
})

// Related returns, for each word of a query, the analysed words that mean nearly the same and are not in the query themselves. They are
// those of a list of English words, the same for all banks. A query of more than 32 words has none.
func Related(query []string) [][]string {
	out := make([][]string, len(query))
	if len(query) > maxRelatedQuery {
		return out
	}
	for i, word := range query {
		for _, other := range related()[word] {
			if !slices.Contains(query, other) {
				out[i] = append(out[i], other)
			}
		}
	}
	return out
}
