package knowledge

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/services/knowledge/ingest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// reader implements ingest.Reader for plain text: each paragraph is a chunk.
type reader struct{}

// Read implements ingest.Reader.
func (reader) Read(_ context.Context, c ingest.Content) (store.Ingested, error) {
	if !utf8.Valid(c.Data) || strings.ContainsRune(string(c.Data), 0) {
		return store.Ingested{}, &ingest.RefusedError{Reason: "The content is not text in UTF-8. Convert it and store it again."}
	}
	out := store.Ingested{Text: string(c.Data)}
	at := 0
	for part := range strings.SplitAfterSeq(out.Text, "\n\n") {
		if counts, length := count(part); length > 0 {
			out.Chunks = append(out.Chunks, store.Chunk{Start: at, End: at + len(part), Counts: counts, Length: length})
		}
		at += len(part)
	}
	return out, nil
}

// maxWord is the maximum length of an analysed word in bytes.
const maxWord = 256

// count returns how often each word of a text occurs, and how many there are.
func count(text string) (counts map[string]int, length int) {
	counts = map[string]int{}
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), apart) {
		if len(word) <= maxWord {
			counts[word]++
			length++
		}
	}
	return counts, length
}
