package anthropic

import (
	"context"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/retrieval"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

var _ retrieval.TokenCounter = (*Provider)(nil)

// counted is a request whose tokens are counted: what a message is generated with besides the conversation is refused there.
type counted struct {
	Model    string    `json:"model"`
	System   []any     `json:"system,omitempty"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitempty"`
}

// CountTokens implements retrieval.TokenCounter with POST v1/messages/count_tokens.
func (p *Provider) CountTokens(ctx context.Context, req provider.Request) (int64, error) {
	if !req.APIKey.IsZero() {
		p = p.with(req.APIKey)
	}
	made := p.newCall(req, p.lessons.Manner(req.Model)).body()
	body, err := wire.JSON(counted{made.Model, made.System, made.Messages, made.Tools})
	if err != nil {
		return 0, err
	}
	var resp *http.Response
	err = p.client.Post(ctx, "v1/messages/count_tokens", body, &resp, option.WithHeader("Accept", "application/json"))
	var said struct {
		Total *int64 `json:"input_tokens"`
	}
	if err := retrieval.ReadCount(ctx, p.id, req.Model, resp, err, &said); err != nil {
		return 0, err
	}
	return retrieval.Counted(p.id.Name, said.Total)
}
