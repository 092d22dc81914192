package dense

import (
	"cmp"
	"slices"
)

// Entry is a chunk with its code.
type Entry struct {
	// Seq orders the entries of a bank by the time at which they were stored.
	Seq int64
	// Chunk identifies the chunk in the database; Document and Ordinal say which of a document it is.
	Chunk    int64
	Document string
	Ordinal  int
	// Code is the code of its vector; empty if it has none.
	Code []byte
}

// Index has the codes of a bank in memory. It is not safe for concurrent use.
type Index struct {
	words     int // of a code
	last      int64
	chunks    []int64
	ordinals  []int32
	documents []int32 // positions in names
	codes     []uint64
	names     []string
	positions map[string]int32
	empty     int
}

// NewIndex returns an empty index.
func NewIndex() *Index { return &Index{positions: map[string]int32{}} }

// Last is the seq of the last entry that was added.
func (x *Index) Last() int64 { return x.last }

// Len is how many entries were added, those without a code included.
func (x *Index) Len() int { return len(x.chunks) + x.empty }

// entryBytes is the memory that an entry takes besides its code, nameBytes that of a document.
const entryBytes, nameBytes = 16, 96

// Bytes is about the memory that the index takes.
func (x *Index) Bytes() int {
	return 8*cap(x.codes) + entryBytes*cap(x.chunks) + nameBytes*len(x.names)
}

// Add adds an entry, whose seq is greater than that of those before. An entry with a code of another length counts as one without.
func (x *Index) Add(e Entry) {
	x.last = e.Seq
	if x.words == 0 {
		x.words = len(e.Code) / 8
	}
	if len(e.Code) == 0 || len(e.Code) != 8*x.words {
		x.empty++
		return
	}
	at, ok := x.positions[e.Document]
	if !ok {
		at = int32(len(x.names))
		x.names = append(x.names, e.Document)
		x.positions[e.Document] = at
	}
	x.chunks = append(x.chunks, e.Chunk)
	x.ordinals = append(x.ordinals, int32(e.Ordinal))
	x.documents = append(x.documents, at)
	x.codes = append(x.codes, words(e.Code)...)
}

// Nearest returns the chunks of at most n entries whose codes are nearest to the given one, the nearest first, among the documents that
// allowed names. Entries with the same distance are ordered by document and ordinal, so that the choice depends on nothing else.
func (x *Index) Nearest(code []byte, n int, allowed func(document string) bool) []int64 {
	if x.words == 0 || len(code) != 8*x.words || n <= 0 {
		return nil
	}
	may := make([]bool, len(x.names))
	for i, name := range x.names {
		may[i] = allowed(name)
	}
	query := words(code)
	distances := make([]int32, len(x.chunks))
	counts := make([]int, 64*x.words+1)
	for i := range x.chunks {
		if distances[i] = -1; may[x.documents[i]] {
			d := distance(query, x.codes[i*x.words:(i+1)*x.words])
			distances[i] = int32(d)
			counts[d]++
		}
	}
	limit, before := 0, 0 // fewer than n entries are nearer than limit
	for limit < len(counts)-1 && before+counts[limit] < n {
		before += counts[limit]
		limit++
	}
	var near []int
	for i, d := range distances {
		if d >= 0 && int(d) <= limit {
			near = append(near, i)
		}
	}
	slices.SortFunc(near, func(a, b int) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(x.names[x.documents[a]], x.names[x.documents[b]]),
			cmp.Compare(x.ordinals[a], x.ordinals[b]))
	})
	out := make([]int64, 0, n)
	for _, i := range near[:min(len(near), n)] {
		out = append(out, x.chunks[i])
	}
	return out
}
