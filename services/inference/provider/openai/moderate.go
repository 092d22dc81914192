package openai

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// maxModerationValues bounds the JSON values of an answer about one text.
const maxModerationValues = 256

var _ provider.Moderator = (*Provider)(nil)

// Moderate implements provider.Moderator with POST moderations.
func (p *Provider) Moderate(ctx context.Context, model string, texts []string, key secret.Value) ([]provider.Moderation, error) {
	if !key.IsZero() {
		p = p.with(key)
	}
	var resp *http.Response
	if err := p.client.Post(ctx, "moderations", map[string]any{"model": model, "input": texts}, &resp); err != nil {
		return nil, p.id.Failed(ctx, model, err)
	}
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	var body json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return nil, provider.Broken("the moderation of %s cannot be read", p.id.Name).Cause(err)
	}
	if values, _ := canon.Measure(body); values > maxModerationValues*(len(texts)+1) {
		return nil, provider.Excessive("the moderation of %s has %d values", p.id.Name, values)
	}
	var said struct {
		Results []struct {
			Flagged    *bool           `json:"flagged"`
			Categories map[string]bool `json:"categories"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, p.id.Malformed("moderation", body, err)
	}
	if len(said.Results) != len(texts) {
		return nil, provider.Broken("%s moderated %d texts of %d", p.id.Name, len(said.Results), len(texts))
	}
	out := make([]provider.Moderation, len(texts))
	for i, r := range said.Results {
		if r.Flagged == nil {
			return nil, provider.Broken("the moderation of %s does not say whether a text is flagged", p.id.Name)
		}
		out[i].Flagged = *r.Flagged
		for name, applies := range r.Categories {
			if applies {
				out[i].Categories = append(out[i].Categories, name)
			}
		}
	}
	return out, nil
}
