package bedrock

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/retrieval"
)

// cohereTexts is the number of texts that Cohere's models take at once. Amazon's take one.
const cohereTexts = 96

var (
	_ retrieval.Embedder = (*Provider)(nil)
	_ retrieval.Reranker = (*Provider)(nil)
)

// maker returns the maker and the name of a model, without the region of an inference profile: "eu.cohere.embed-v4:0".
func maker(model string) (maker, name string) {
	for _, m := range []string{"amazon.", "cohere."} {
		if i := strings.Index(model, m); i == 0 || i > 0 && (model[i-1] == '.' || model[i-1] == '/') {
			return strings.TrimSuffix(m, "."), model[i+len(m):]
		}
	}
	return "", model
}

// EmbedLimits implements retrieval.Embedder.
func (p *Provider) EmbedLimits(model string) (retrieval.EmbedLimits, error) {
	switch who, name := maker(model); {
	case who == "amazon" && strings.HasPrefix(name, "titan-embed-text"):
		return retrieval.EmbedLimits{Texts: 1}, nil
	case who == "cohere" && strings.HasPrefix(name, "embed-"):
		return retrieval.EmbedLimits{Texts: cohereTexts}, nil
	}
	return retrieval.EmbedLimits{}, retrieval.NoVectors(p.client.Name, model, "amazon.titan-embed-text-v2:0 or cohere.embed-v4:0")
}

// Embed implements retrieval.Embedder with InvokeModel, in the forms of Amazon's and Cohere's models.
func (p *Provider) Embed(ctx context.Context, req retrieval.EmbedRequest) (retrieval.Embedded, error) {
	if who, name := maker(req.Model); who == "amazon" {
		return p.titan(ctx, req, strings.HasPrefix(name, "titan-embed-text-v2"))
	}
	made := map[string]any{"texts": req.Texts, "input_type": "search_document", "truncate": "NONE", "embedding_types": []string{"float"}}
	if req.Query {
		made["input_type"] = "search_query"
	}
	if req.Dimensions > 0 {
		made["output_dimension"] = req.Dimensions
	}
	var said struct {
		Embeddings json.RawMessage `json:"embeddings"`
	}
	header, rest, err := p.invoke(ctx, req.Model, made, len(req.Texts), &said)
	if err != nil {
		return retrieval.Embedded{}, err
	}
	var typed struct {
		Float [][]float32 `json:"float"`
	}
	if json.Unmarshal(said.Embeddings, &typed) != nil && json.Unmarshal(said.Embeddings, &typed.Float) != nil { // older models have a list
		return retrieval.Embedded{}, provider.Broken("the embeddings of %s cannot be read", p.client.Name)
	}
	return retrieval.Embedded{Vectors: typed.Float, Usage: inputOf(header), Rest: rest}, nil
}

// titan embeds one text with a model of Amazon's.
func (p *Provider) titan(ctx context.Context, req retrieval.EmbedRequest, second bool) (retrieval.Embedded, error) {
	made := map[string]any{"inputText": req.Texts[0]}
	if second && req.Dimensions > 0 {
		made["dimensions"] = req.Dimensions
	}
	var said struct {
		Embedding []float32 `json:"embedding"`
		Count     int64     `json:"inputTextTokenCount"`
	}
	_, rest, err := p.invoke(ctx, req.Model, made, 1, &said)
	if err != nil {
		return retrieval.Embedded{}, err
	}
	out := retrieval.Embedded{Vectors: [][]float32{said.Embedding}, Rest: rest}
	if said.Count > 0 {
		out.Usage = &provider.Usage{Input: said.Count}
	}
	return out, nil
}

// Rerank implements retrieval.Reranker with InvokeModel.
func (p *Provider) Rerank(ctx context.Context, req retrieval.RerankRequest) (retrieval.Reranked, error) {
	who, name := maker(req.Model)
	if who == "" || !strings.HasPrefix(name, "rerank-") {
		return retrieval.Reranked{}, retrieval.NoRanks(p.client.Name, req.Model, "amazon.rerank-v1:0 or cohere.rerank-v3-5:0")
	}
	made := map[string]any{"query": req.Query, "documents": req.Documents, "top_n": req.Top}
	if who == "cohere" {
		made["api_version"] = 2
	}
	var said struct {
		Results []struct {
			Index *int     `json:"index"`
			Score *float64 `json:"relevance_score"`
		} `json:"results"`
	}
	header, rest, err := p.invoke(ctx, req.Model, made, len(req.Documents), &said)
	if err != nil {
		return retrieval.Reranked{}, err
	}
	out := retrieval.Reranked{Usage: inputOf(header), Rest: rest}
	for _, r := range said.Results {
		if r.Index == nil || r.Score == nil {
			return out, provider.Broken("%s ranks a document without its index or score", p.client.Name)
		}
		out.Ranks = append(out.Ranks, retrieval.Rank{Index: *r.Index, Score: *r.Score})
	}
	return out, nil
}

// invoke calls a model in the form of its maker. The answer has one vector or rank for each of some items.
func (p *Provider) invoke(ctx context.Context, model string, made any, items int, out any) (http.Header, time.Duration, error) {
	body, err := json.Marshal(made)
	if err != nil {
		return nil, 0, err
	}
	path := "/model/" + url.PathEscape(model) + "/invoke"
	resp, err := p.client.Do(ctx, http.MethodPost, path, "application/json", body) //nolint:bodyclose // ReadVectors closes it
	if err != nil {
		return nil, 0, p.client.Failed(ctx, model, err)
	}
	rest, err := retrieval.ReadVectors(ctx, p.client.Identity, resp, items, out)
	return resp.Header, rest, err
}

// inputOf returns the tokens that Bedrock counted.
func inputOf(h http.Header) *provider.Usage {
	n, err := strconv.ParseInt(h.Get("X-Amzn-Bedrock-Input-Token-Count"), 10, 64)
	if err != nil || n <= 0 {
		return nil
	}
	return &provider.Usage{Input: n}
}
