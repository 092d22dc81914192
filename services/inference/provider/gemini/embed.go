package gemini

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/retrieval"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// embedTexts is the number of texts of one request.
const embedTexts = 100

var (
	_ retrieval.Embedder     = (*Provider)(nil)
	_ retrieval.TokenCounter = (*Provider)(nil)
)

// EmbedLimits implements retrieval.Embedder.
func (p *Provider) EmbedLimits(model string) (retrieval.EmbedLimits, error) {
	if p.vertex {
		return retrieval.EmbedLimits{}, retrieval.NoVectors(p.client.Name, model, "one of Google AI: Vertex AI embeds by another API")
	}
	return retrieval.EmbedLimits{Texts: embedTexts}, nil
}

// embedding is the request for one text.
type embedding struct {
	Model      string  `json:"model"`
	Content    content `json:"content"`
	Task       string  `json:"taskType,omitempty"`
	Dimensions int     `json:"outputDimensionality,omitempty"`
}

// Embed implements retrieval.Embedder with batchEmbedContents. It does not say how many tokens it read.
func (p *Provider) Embed(ctx context.Context, req retrieval.EmbedRequest) (retrieval.Embedded, error) {
	client, task := p.client.With(req.APIKey), ""
	switch {
	case req.Query:
		task = "RETRIEVAL_QUERY"
	case req.Document:
		task = "RETRIEVAL_DOCUMENT"
	}
	list := make([]embedding, len(req.Texts))
	for i, text := range req.Texts {
		list[i] = embedding{"models/" + req.Model, content{Parts: []any{textPart(text)}}, task, req.Dimensions}
	}
	body, err := json.Marshal(map[string]any{"requests": list})
	if err != nil {
		return retrieval.Embedded{}, err
	}
	path := "/models/" + url.PathEscape(req.Model) + ":batchEmbedContents"
	resp, err := client.Do(ctx, http.MethodPost, path, "application/json", body) //nolint:bodyclose // ReadVectors closes it
	if err != nil {
		return retrieval.Embedded{}, client.Failed(ctx, req.Model, err)
	}
	var said struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
	rest, err := retrieval.ReadVectors(ctx, client.Identity, resp, len(req.Texts), &said)
	out := retrieval.Embedded{Rest: rest}
	for _, e := range said.Embeddings {
		out.Vectors = append(out.Vectors, e.Values)
	}
	return out, err
}

// CountTokens implements retrieval.TokenCounter with countTokens.
func (p *Provider) CountTokens(ctx context.Context, req provider.Request) (int64, error) {
	own := *p
	own.client = p.client.With(req.APIKey)
	conversation := own.newCall(req, p.lessons.Manner(req.Model)).body()
	made := any(conversation)
	if !p.vertex {
		made = map[string]any{"generateContentRequest": counted{"models/" + req.Model, conversation}}
	}
	text, err := wire.JSON(made)
	if err != nil {
		return 0, err
	}
	path := "/models/" + url.PathEscape(req.Model) + ":countTokens"
	resp, err := own.client.Do(ctx, http.MethodPost, path, "application/json", text) //nolint:bodyclose // ReadCount closes it
	var said struct {
		Total *int64 `json:"totalTokens"`
	}
	if err := retrieval.ReadCount(ctx, own.client.Identity, req.Model, resp, err, &said); err != nil {
		return 0, err
	}
	return retrieval.Counted(own.client.Name, said.Total)
}

// counted is a request whose tokens are counted.
type counted struct {
	Model string `json:"model"`
	body
}
