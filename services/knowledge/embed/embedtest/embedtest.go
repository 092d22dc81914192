// Package embedtest is an inference service for tests that makes vectors of words.
package embedtest

import (
	"context"
	"hash/fnv"
	"maps"
	"strings"
	"sync"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// Dimensions is the length of the vectors unless a request has another one.
const Dimensions = 64

// Models makes vectors: texts that share words have similar ones. The zero value is ready. It is safe for concurrent use.
type Models struct {
	inferencev1.InferenceServiceClient // the other calls panic

	mu sync.Mutex
	// answer replaces the answers.
	answer func(ctx context.Context, req *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error)
	rerank func(ctx context.Context, req *inferencev1.RerankRequest) (*inferencev1.RerankResponse, error)
	texts  map[string]int
	calls  int
}

// Answer replaces the answers of Embed; nil = the usual ones.
func (m *Models) Answer(f func(ctx context.Context, req *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = f
}

// Reranks replaces the answers of Rerank; nil = the order of the texts.
func (m *Models) Reranks(f func(ctx context.Context, req *inferencev1.RerankRequest) (*inferencev1.RerankResponse, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rerank = f
}

// Texts says how often each text of a document was embedded, by usual answers.
func (m *Models) Texts() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.texts)
}

// Calls is how often Embed was called.
func (m *Models) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// Embed implements InferenceServiceClient.
func (m *Models) Embed(ctx context.Context, req *inferencev1.EmbedRequest, _ ...grpc.CallOption) (*inferencev1.EmbedResponse, error) {
	m.mu.Lock()
	m.calls++
	answer := m.answer
	m.mu.Unlock()
	if answer != nil {
		return answer(ctx, req)
	}
	return m.Usual(req), ctx.Err()
}

// Usual returns the usual answer.
func (m *Models) Usual(req *inferencev1.EmbedRequest) *inferencev1.EmbedResponse {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts == nil {
		m.texts = map[string]int{}
	}
	size := int(req.GetDimensions())
	if size == 0 {
		size = Dimensions
	}
	out := &inferencev1.EmbedResponse{Model: req.GetModel(), Dimensions: int32(size)}
	for _, text := range req.GetTexts() {
		if req.GetPurpose() == inferencev1.EmbedPurpose_EMBED_PURPOSE_DOCUMENT {
			m.texts[text]++
		}
		out.Embeddings = append(out.Embeddings, &inferencev1.Embedding{Values: Vector(text, size)})
	}
	return out
}

// Rerank implements InferenceServiceClient.
func (m *Models) Rerank(ctx context.Context, req *inferencev1.RerankRequest, _ ...grpc.CallOption) (*inferencev1.RerankResponse, error) {
	m.mu.Lock()
	rerank := m.rerank
	m.mu.Unlock()
	if rerank != nil {
		return rerank(ctx, req)
	}
	out := &inferencev1.RerankResponse{}
	for i := range req.GetDocuments() {
		out.Results = append(out.Results, &inferencev1.RankedDocument{Index: int32(i), Score: -float64(i)})
	}
	return out, ctx.Err()
}

// synonyms are words that have the same vector.
var synonyms = map[string]string{"automobile": "car", "vehicle": "car", "physician": "doctor"}

// Vector returns the vector of a text.
func Vector(text string, size int) []float32 {
	out := make([]float32, size)
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if same := synonyms[word]; same != "" {
			word = same
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(word)) // never fails
		sum := h.Sum64()
		sign := float32(1)
		if sum>>63 == 1 {
			sign = -1
		}
		out[(sum>>8)%uint64(size)] += sign
	}
	return out
}
