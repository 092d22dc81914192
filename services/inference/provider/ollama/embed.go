package ollama

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/retrieval"
)

// embedTexts is the number of texts of one request: Ollama has no limit, and embeds one after the other.
const embedTexts = 64

var _ retrieval.Embedder = (*Provider)(nil)

// EmbedLimits implements retrieval.Embedder.
func (*Provider) EmbedLimits(string) (retrieval.EmbedLimits, error) {
	return retrieval.EmbedLimits{Texts: embedTexts}, nil
}

// Embed implements retrieval.Embedder with POST /api/embed. A text that is longer than the model reads is refused, not cut in silence.
func (p *Provider) Embed(ctx context.Context, req retrieval.EmbedRequest) (retrieval.Embedded, error) {
	client := p.client.With(req.APIKey)
	made := map[string]any{"model": req.Model, "input": req.Texts, "truncate": false}
	if req.Dimensions > 0 {
		made["dimensions"] = req.Dimensions
	}
	body, err := json.Marshal(made)
	if err != nil {
		return retrieval.Embedded{}, err
	}
	resp, err := client.Do(ctx, http.MethodPost, "/api/embed", "application/json", body) //nolint:bodyclose // ReadVectors closes it
	if err != nil {
		return retrieval.Embedded{}, client.Failed(ctx, req.Model, err)
	}
	var said struct {
		Vectors [][]float32 `json:"embeddings"`
		Read    int64       `json:"prompt_eval_count"`
	}
	rest, err := retrieval.ReadVectors(ctx, client.Identity, resp, len(req.Texts), &said)
	if err != nil {
		return retrieval.Embedded{}, err
	}
	out := retrieval.Embedded{Vectors: said.Vectors, Rest: rest}
	if said.Read > 0 {
		out.Usage = &provider.Usage{Input: said.Read}
	}
	return out, nil
}
