// Package embed makes vectors of chunks and queries with an embedding model of the inference service, and orders passages with a reranking
// one. It checks all answers: a model that is away, slow or wrong costs searches their second order, and never an error.
package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/knowledge/dense"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// pause is how long searches do without a model that was away or slow, so that not each of them waits for it.
const pause = 10 * time.Second

// ErrPaused means that a model was away just now.
var ErrPaused = errors.New("the model was away a moment ago")

// inference is the part of the inference service that is called.
type inference interface {
	Embed(ctx context.Context, in *inferencev1.EmbedRequest, opts ...grpc.CallOption) (*inferencev1.EmbedResponse, error)
	Rerank(ctx context.Context, in *inferencev1.RerankRequest, opts ...grpc.CallOption) (*inferencev1.RerankResponse, error)
}

// Options say which models are called, and how.
type Options struct {
	// Model is the "provider/model" that makes vectors; Dimensions is their length, 0 = the model's own.
	Model      string
	Dimensions int
	// Reranker is the "provider/model" that orders passages; "" = none.
	Reranker string
	// Timeout bounds each call for a search.
	Timeout time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Models calls the models. It is safe for concurrent use.
type Models struct {
	client inference
	opts   Options

	embedPause, rerankPause atomic.Int64 // until when the models are not called for searches, in microseconds
}

// NewModels returns the models over a client.
func NewModels(client inference, opts Options) *Models { return &Models{client: client, opts: opts} }

// vectors returns one vector for each text. A vector has the given length, 0 = any, the same for all.
func (m *Models) vectors(
	ctx context.Context, model string, dimensions int, purpose inferencev1.EmbedPurpose, texts []string,
) ([][]float32, error) {
	ask := 0 // most models have one length, and refuse to be asked for it
	if model == m.opts.Model {
		ask = m.opts.Dimensions
	}
	resp, err := m.client.Embed(ctx, &inferencev1.EmbedRequest{
		Model: model, Texts: texts, Dimensions: int32(ask), Purpose: purpose,
	})
	if err != nil {
		return nil, fmt.Errorf("embed %d texts with %s: %w", len(texts), model, err)
	}
	if len(resp.GetEmbeddings()) != len(texts) {
		return nil, fmt.Errorf("%s made %d vectors of %d texts", model, len(resp.GetEmbeddings()), len(texts))
	}
	out := make([][]float32, len(texts))
	for i, e := range resp.GetEmbeddings() {
		out[i] = e.GetValues()
		if dimensions == 0 {
			dimensions = len(out[i])
		}
		if len(out[i]) != dimensions || dimensions == 0 {
			return nil, fmt.Errorf("%s made a vector of %d numbers, not %d", model, len(out[i]), dimensions)
		}
		for _, f := range out[i] {
			if f64 := float64(f); math.IsNaN(f64) || math.IsInf(f64, 0) {
				return nil, fmt.Errorf("%s made a vector with a number that is not finite", model)
			}
		}
	}
	return out, nil
}

// Query returns the unit vector of a query in a space.
func (m *Models) Query(ctx context.Context, s store.Space, text string) (out []float32, err error) {
	err = m.brief(ctx, &m.embedPause, func(ctx context.Context) error {
		all, err := m.vectors(ctx, s.Model, s.Dimensions, inferencev1.EmbedPurpose_EMBED_PURPOSE_QUERY, []string{text})
		if err != nil {
			return err
		}
		unit, ok := dense.Unit(all[0])
		if !ok {
			return fmt.Errorf("%s gives no direction to the query", s.Model)
		}
		out = unit
		return nil
	})
	return out, err
}

// Rerank returns the positions of texts in their order for a query, the best first. It returns nil if there is no reranking model.
func (m *Models) Rerank(ctx context.Context, query string, texts []string) (order []int, err error) {
	if m.opts.Reranker == "" || len(texts) < 2 {
		return nil, nil
	}
	err = m.brief(ctx, &m.rerankPause, func(ctx context.Context) error {
		resp, err := m.client.Rerank(ctx, &inferencev1.RerankRequest{Model: m.opts.Reranker, Query: query, Documents: texts})
		if err != nil {
			return fmt.Errorf("rerank %d texts with %s: %w", len(texts), m.opts.Reranker, err)
		}
		ranked := slices.Clone(resp.GetResults())
		slices.SortStableFunc(ranked, func(a, b *inferencev1.RankedDocument) int { return cmp.Compare(b.GetScore(), a.GetScore()) })
		seen := make([]bool, len(texts))
		order = nil
		for _, r := range ranked {
			at := int(r.GetIndex())
			if at < 0 || at >= len(texts) || seen[at] || math.IsNaN(r.GetScore()) {
				return fmt.Errorf("%s ranked a text that it was not given, or ranked one twice", m.opts.Reranker)
			}
			seen[at] = true
			order = append(order, at)
		}
		for at := range texts { // those that it left out follow in their order
			if !seen[at] {
				order = append(order, at)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return order, nil
}

// brief makes a call for a search, which does not wait longer than the timeout, nor for a model that was away just now.
func (m *Models) brief(parent context.Context, paused *atomic.Int64, call func(context.Context) error) error {
	now := m.opts.Now()
	if now.UnixMicro() < paused.Load() {
		return ErrPaused
	}
	ctx, cancel := context.WithTimeout(parent, m.opts.Timeout)
	defer cancel()
	err := call(ctx)
	away := ctx.Err() != nil || fault.Is(err, faultv1.Reason_REASON_UNAVAILABLE) || fault.Is(err, faultv1.Reason_REASON_DEADLINE_EXCEEDED)
	if err != nil && parent.Err() == nil && away {
		paused.Store(now.Add(pause).UnixMicro())
	}
	return err
}
