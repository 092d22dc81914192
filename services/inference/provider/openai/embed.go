package openai

import (
	"cmp"
	"context"
	"net/http"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/retrieval"
)

// Limits of one request. OpenAI takes 2,048 texts and 300,000 tokens; the answer to so many is too long to hold.
const (
	embedTexts  = 128
	embedTokens = 250_000
)

var (
	_ retrieval.Embedder = (*Provider)(nil)
	_ retrieval.Reranker = (*Provider)(nil)
)

// EmbedLimits implements retrieval.Embedder.
func (p *Provider) EmbedLimits(model string) (retrieval.EmbedLimits, error) {
	if p.profile.noVectors {
		return retrieval.EmbedLimits{}, p.without("embeddings").Hint("Use another provider for %s.", model)
	}
	return retrieval.EmbedLimits{Texts: embedTexts, Tokens: cmp.Or(p.profile.embedTokens, embedTokens)}, nil
}

// counts is what servers count of requests without an answer of text.
type counts struct {
	Prompt int64 `json:"prompt_tokens"`
	Total  int64 `json:"total_tokens"`
}

func (u counts) of() *provider.Usage {
	if n := cmp.Or(u.Prompt, u.Total); n > 0 {
		return &provider.Usage{Input: n}
	}
	return nil
}

// Embed implements retrieval.Embedder with POST embeddings.
func (p *Provider) Embed(ctx context.Context, req retrieval.EmbedRequest) (retrieval.Embedded, error) {
	if !req.APIKey.IsZero() {
		p = p.with(req.APIKey)
	}
	body := map[string]any{"model": req.Model, "input": req.Texts, "encoding_format": "float"}
	if req.Dimensions > 0 {
		body["dimensions"] = req.Dimensions
	}
	var resp *http.Response
	if err := p.client.Post(ctx, "embeddings", body, &resp); err != nil {
		return retrieval.Embedded{}, p.id.Failed(ctx, req.Model, err)
	}
	var said struct {
		Data  []retrieval.Indexed `json:"data"`
		Usage counts              `json:"usage"`
	}
	rest, err := retrieval.ReadVectors(ctx, p.id, resp, len(req.Texts), &said)
	if err != nil {
		return retrieval.Embedded{}, err
	}
	vectors, err := retrieval.Ordered(p.id.Name, said.Data)
	return retrieval.Embedded{Vectors: vectors, Usage: said.Usage.of(), Rest: rest}, err
}

// Rerank implements retrieval.Reranker with POST rerank, as vLLM, llama.cpp, Jina and Cohere have it.
func (p *Provider) Rerank(ctx context.Context, req retrieval.RerankRequest) (retrieval.Reranked, error) {
	if p.profile.noRerank {
		return retrieval.Reranked{}, p.without("reranking").Hint("Use another provider for %s, for example one of profile vllm.", req.Model)
	}
	if !req.APIKey.IsZero() {
		p = p.with(req.APIKey)
	}
	body := map[string]any{"model": req.Model, "query": req.Query, "documents": req.Documents, "top_n": req.Top}
	var resp *http.Response
	if err := p.client.Post(ctx, "rerank", body, &resp); err != nil {
		return retrieval.Reranked{}, p.id.Failed(ctx, req.Model, err)
	}
	var said struct {
		Results []struct {
			Index *int     `json:"index"`
			Score *float64 `json:"relevance_score"`
			// Plain is what some servers name the score.
			Plain *float64 `json:"score"`
		} `json:"results"`
		Usage counts `json:"usage"`
		Meta  struct {
			Tokens struct {
				Input float64 `json:"input_tokens"`
			} `json:"tokens"`
		} `json:"meta"`
	}
	rest, err := retrieval.ReadRanks(ctx, p.id, resp, len(req.Documents), &said)
	if err != nil {
		return retrieval.Reranked{}, err
	}
	out := retrieval.Reranked{Usage: said.Usage.of(), Rest: rest}
	if n := int64(said.Meta.Tokens.Input); out.Usage == nil && n > 0 {
		out.Usage = &provider.Usage{Input: n}
	}
	for _, r := range said.Results {
		score := cmp.Or(r.Score, r.Plain)
		if r.Index == nil || score == nil {
			return out, provider.Broken("%s ranks a document without its index or score", p.id.Name)
		}
		out.Ranks = append(out.Ranks, retrieval.Rank{Index: *r.Index, Score: *score})
	}
	return out, nil
}

// without returns the error of a server that is known to lack a part of the API.
func (p *Provider) without(what string) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "the provider %q has no %s", p.id.Name, what)
}
