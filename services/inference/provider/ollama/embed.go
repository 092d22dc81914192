package ollama

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

// embedTexts is the number of texts of one request: Ollama has no limit, and embeds one after the other.
const embedTexts = 64

var _ provider.Embedder = (*Provider)(nil)

// EmbedLimits implements provider.Embedder.
func (*Provider) EmbedLimits(string) (provider.EmbedLimits, error) {
	return provider.EmbedLimits{Texts: embedTexts}, nil
}

// Embed implements provider.Embedder with POST /api/embed. A text that is longer than the model reads is refused, not cut in silence.
func (p *Provider) Embed(ctx context.Context, req provider.EmbedRequest) (provider.Embedded, error) {
	client := p.client.With(req.APIKey)
	made := map[string]any{"model": req.Model, "input": req.Texts, "truncate": false}
	if req.Dimensions > 0 {
		made["dimensions"] = req.Dimensions
	}
	body, err := json.Marshal(made)
	if err != nil {
		return provider.Embedded{}, err
	}
	resp, err := client.Do(ctx, http.MethodPost, "/api/embed", "application/json", body)
	if err != nil {
		return provider.Embedded{}, client.Failed(ctx, req.Model, err)
	}
	var said struct {
		Vectors [][]float32 `json:"embeddings"`
		Read    int64       `json:"prompt_eval_count"`
	}
	rest, err := client.ReadVectors(ctx, resp, len(req.Texts), &said)
	if err != nil {
		return provider.Embedded{}, err
	}
	out := provider.Embedded{Vectors: said.Vectors, Rest: rest}
	if said.Read > 0 {
		out.Usage = &provider.Usage{Input: said.Read}
	}
	return out, nil
}
