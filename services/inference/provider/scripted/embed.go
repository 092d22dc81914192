package scripted

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/windlass-dev/windlass/services/inference/provider/retrieval"
)

// dimensions is the length of vectors unless the request has another one.
const dimensions = 64

// embedTexts is the number of texts of one request.
const embedTexts = 256

var (
	_ retrieval.Embedder = (*Provider)(nil)
	_ retrieval.Reranker = (*Provider)(nil)
)

// EmbedLimits implements retrieval.Embedder.
func (*Provider) EmbedLimits(string) (retrieval.EmbedLimits, error) {
	return retrieval.EmbedLimits{Texts: embedTexts}, nil
}

// Embed implements retrieval.Embedder: texts that share words have similar vectors, and the same text always has the same one.
func (*Provider) Embed(ctx context.Context, req retrieval.EmbedRequest) (retrieval.Embedded, error) {
	var out retrieval.Embedded
	for _, text := range req.Texts {
		out.Vectors = append(out.Vectors, vector(text, cmp.Or(req.Dimensions, dimensions)))
	}
	return out, ctx.Err()
}

// Rerank implements retrieval.Reranker by the similarity of the vectors.
func (*Provider) Rerank(ctx context.Context, req retrieval.RerankRequest) (retrieval.Reranked, error) {
	query, ranks := vector(req.Query, dimensions), make([]retrieval.Rank, len(req.Documents))
	for i, text := range req.Documents {
		score := 0.0
		for n, f := range vector(text, dimensions) {
			score += float64(f) * float64(query[n])
		}
		ranks[i] = retrieval.Rank{Index: i, Score: score}
	}
	slices.SortStableFunc(ranks, func(a, b retrieval.Rank) int { return cmp.Compare(b.Score, a.Score) })
	return retrieval.Reranked{Ranks: ranks[:min(req.Top, len(ranks))]}, ctx.Err()
}

// vector adds a number for each word, at a position and with a sign that are a hash of it, and scales the sum to the length 1. A text
// without words is one word.
func vector(text string, size int) []float32 {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		words = []string{text}
	}
	sums := make([]float64, size)
	for _, word := range words {
		h := fnv.New64a()
		_, _ = h.Write([]byte(word)) // it never fails
		sum := h.Sum64()
		sign := 1.0
		if sum>>63 == 1 {
			sign = -1
		}
		sums[(sum>>8)%uint64(size)] += sign
	}
	norm := 0.0
	for _, f := range sums {
		norm += f * f
	}
	if norm == 0 { // words that cancel each other out
		sums[0], norm = 1, 1
	}
	out := make([]float32, size)
	for i, f := range sums {
		out[i] = float32(f / math.Sqrt(norm))
	}
	return out
}
