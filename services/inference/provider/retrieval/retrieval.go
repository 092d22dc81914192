// Package retrieval has what kinds of providers implement besides conversations, if their APIs have it: vectors of texts, the order of
// documents and counts of tokens. It reads and checks the answers.
package retrieval

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// Embedder is a provider that makes vectors of texts.
type Embedder interface {
	// EmbedLimits returns what one request takes. The error is that of a model of which it is known that it makes no vectors.
	EmbedLimits(model string) (EmbedLimits, error)
	// Embed returns one vector for each text, in order. It does not check them: CheckVectors does. The texts are within EmbedLimits. Errors
	// are those of Provider.Generate.
	Embed(ctx context.Context, req EmbedRequest) (Embedded, error)
}

// EmbedLimits is what one request takes.
type EmbedLimits struct {
	// Texts is the number of texts, at least 1.
	Texts int
	// Tokens is the number of tokens of all texts; 0 = no limit. One text alone may have more: then the provider refuses it.
	Tokens int
}

// EmbedRequest asks for vectors.
type EmbedRequest struct {
	// Model is the provider's own name of the model.
	Model string
	// Texts are not empty. Shared with the caller: read only.
	Texts []string
	// Dimensions is the length of the vectors, 0 for the model's own.
	Dimensions int
	// Query: the texts are searched for. Document: they are found. Neither: the caller does not say.
	Query, Document bool
	// APIKey replaces the provider's own key; zero does not.
	APIKey secret.Value
}

// Embedded is the answer to an EmbedRequest.
type Embedded struct {
	// Vectors are those of the texts, in order.
	Vectors [][]float32
	// Usage is nil if the provider reported none.
	Usage *provider.Usage
	// Estimated: the usage is an estimate. Providers do not set it.
	Estimated bool
	// Rest is how long the provider takes no further calls with this key; 0 if it says nothing of the kind.
	Rest time.Duration
}

// Reranker is a provider that orders documents by a query.
type Reranker interface {
	// Rerank returns the documents in the provider's order, without checks: CheckRanks does them. Errors are those of Provider.Generate.
	Rerank(ctx context.Context, req RerankRequest) (Reranked, error)
}

// RerankRequest asks for the order of documents.
type RerankRequest struct {
	// Model is the provider's own name of the model.
	Model string
	// Query is what the documents are compared with.
	Query string
	// Documents are not empty. Shared with the caller: read only.
	Documents []string
	// Top is the number of documents to return, at least 1.
	Top int
	// APIKey replaces the provider's own key; zero does not.
	APIKey secret.Value
}

// Reranked is the answer to a RerankRequest.
type Reranked struct {
	// Ranks are the documents.
	Ranks []Rank
	// Usage is nil if the provider reported none.
	Usage *provider.Usage
	// Estimated and Rest are as in Embedded.
	Estimated bool
	Rest      time.Duration
}

// Rank is one document.
type Rank struct {
	// Index is that of the document in the request.
	Index int
	// Score is higher for better documents.
	Score float64
}

// TokenCounter is a provider that counts tokens.
type TokenCounter interface {
	// CountTokens returns the tokens of a conversation. A provider whose server lacks the endpoint returns ErrNoCount.
	CountTokens(ctx context.Context, req provider.Request) (int64, error)
}

// NoVectors returns the error of a model that makes no vectors.
func NoVectors(provider, model, instead string) error {
	return rejected("%s/%s makes no vectors", provider, model).Hint("Use an embedding model, for example %s.", instead)
}

// NoRanks returns the error of a model that orders no documents.
func NoRanks(provider, model, instead string) error {
	return rejected("%s/%s reranks no documents", provider, model).Hint("Use a reranking model, for example %s.", instead)
}

// MaxDimensions is the greatest length of a vector.
const MaxDimensions = 8192

// Limits of an answer with vectors: bytes and JSON values beside the vectors' own.
const (
	bytesPerNumber = 32
	extraBytes     = 1 << 20
	extraValues    = 32
)

// CheckVectors returns the error of an answer that does not have one vector of finite numbers for each text, all of one length.
func CheckVectors(name string, req EmbedRequest, vectors [][]float32) error {
	if len(vectors) != len(req.Texts) {
		return provider.Broken("%s made %d vectors of %d texts", name, len(vectors), len(req.Texts))
	}
	want := len(vectors[0])
	for _, v := range vectors {
		switch {
		case len(v) == 0 || len(v) > MaxDimensions:
			return provider.Broken("%s made a vector of %d numbers", name, len(v))
		case len(v) != want:
			return provider.Broken("%s made vectors of %d and of %d numbers", name, want, len(v))
		case slices.ContainsFunc(v, func(f float32) bool { return math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) }):
			return provider.Broken("%s made a vector that holds something that is no finite number", name)
		}
	}
	if req.Dimensions > 0 && want != req.Dimensions {
		return rejected("%s makes vectors of %d numbers, not of %d", req.Model, want, req.Dimensions).
			Hint("Leave dimensions out, or use a model that can shorten its vectors.")
	}
	return nil
}

// CheckRanks sorts the documents of an answer, the best first, and returns the error of one that names a document twice, names one that
// there is not, has a score that is no finite number, or has fewer than were requested. Of more, it keeps the best.
func CheckRanks(name string, req RerankRequest, ranks []Rank) ([]Rank, error) {
	want := min(req.Top, len(req.Documents))
	seen := map[int]bool{}
	for _, r := range ranks {
		switch {
		case r.Index < 0 || r.Index >= len(req.Documents):
			return nil, provider.Broken("%s ranks document %d of %d", name, r.Index, len(req.Documents))
		case seen[r.Index]:
			return nil, provider.Broken("%s ranks document %d twice", name, r.Index)
		case math.IsNaN(r.Score) || math.IsInf(r.Score, 0):
			return nil, provider.Broken("%s ranks document %d by something that is no finite number", name, r.Index)
		}
		seen[r.Index] = true
	}
	if len(ranks) < want {
		return nil, provider.Broken("%s ranks %d documents of %d", name, len(ranks), want)
	}
	ranks = slices.Clone(ranks)
	slices.SortStableFunc(ranks, func(a, b Rank) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return a.Index - b.Index
	})
	return ranks[:want], nil
}

// Indexed is a vector with its place in the request, as OpenAI's API has it.
type Indexed struct {
	Index  *int      `json:"index"`
	Vector []float32 `json:"embedding"`
}

// Ordered returns vectors in the order of their indexes, or as they are if none has one.
func Ordered(name string, of []Indexed) ([][]float32, error) {
	out := make([][]float32, len(of))
	numbered := 0
	for i, v := range of {
		at := i
		if v.Index != nil {
			at = *v.Index
			numbered++
		}
		if at < 0 || at >= len(of) || out[at] != nil || len(v.Vector) == 0 {
			return nil, provider.Broken("%s made vectors that are empty, or not one for each text", name)
		}
		out[at] = v.Vector
	}
	if numbered != 0 && numbered != len(of) {
		return nil, provider.Broken("%s does not say which text each vector is of", name)
	}
	return out, nil
}

// ReadVectors reads an answer with vectors of a number of texts, closes it, and returns how long the key rests.
func ReadVectors(ctx context.Context, id provider.Identity, resp *http.Response, texts int, out any) (time.Duration, error) {
	return readWhole(ctx, id, resp, texts*MaxDimensions, noNumber, out)
}

// noNumber finds an element of a list that the decoder would take for 0.
var noNumber = regexp.MustCompile(`[\[,]\s*null`)

// ReadRanks reads an answer about a number of documents, closes it, and returns how long the key rests. Servers may return the documents.
func ReadRanks(ctx context.Context, id provider.Identity, resp *http.Response, documents int, out any) (time.Duration, error) {
	return readWhole(ctx, id, resp, (documents+1)*MaxDimensions, nil, out)
}

// readWhole reads the JSON of an answer that may have a number of values, but none that matches a pattern.
func readWhole(
	ctx context.Context, id provider.Identity, resp *http.Response, values int, without *regexp.Regexp, out any,
) (time.Duration, error) {
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	limit := values*bytesPerNumber + extraBytes
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		return 0, id.Cut(ctx, err)
	case len(body) > limit:
		return 0, provider.Excessive("the answer of %s is longer than %d bytes", id.Name, limit)
	}
	if n, depth := canon.Measure(body); n > values+values/extraValues+extraValues*extraValues || depth > extraValues {
		return 0, provider.Excessive("the answer of %s has %d values", id.Name, n)
	}
	if without != nil && without.Match(body) {
		return 0, provider.Broken("the answer of %s has a null in the place of a number", id.Name)
	}
	if err := json.Unmarshal(body, out); err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
			return 0, provider.Broken("%s answered a page instead of JSON", id.Name).
				Hint("Check that base_url is the address of the API (most end in /v1), and try again.")
		}
		return 0, id.Malformed("list of numbers", body, err)
	}
	return provider.QuotaRest(resp.Header, time.Now()), nil
}

func rejected(format string, args ...any) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, format, args...)
}
