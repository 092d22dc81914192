package api

import (
	"context"
	"math"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/money"
	"github.com/windlass-dev/windlass/libs/secret"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/attempt"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/retrieval"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// call is a call that is not a conversation: its model, what it has used, and its attempts that failed.
type call struct {
	server *server
	model  catalog.Model
	turnID string

	used      *turnv1.Usage
	estimated bool
	failed    []*turnv1.ModelAttempt
}

// newCall returns a call of a model.
func (s *server) newCall(model, turnID string) (*call, error) {
	m, err := s.Models.Resolve(model, codes.InvalidArgument)
	return &call{server: s, model: m, turnID: turnID, used: &turnv1.Usage{}}, err
}

// user returns the principal of a call; nil for a role of the mesh, which acts for itself and is asked about no model.
func user(ctx context.Context) *policyv1.Principal {
	who := authn.From(ctx)
	if who.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE {
		return nil
	}
	return who
}

// do makes one request to the provider, with another key when one is refused.
func (c *call) do(ctx context.Context, ask attempt.Ask) error {
	made, err := c.server.Attempts.Do(ctx, attempt.Call{
		Targets: []catalog.Model{c.model}, Request: provider.Request{TurnID: c.turnID}, Principal: user(ctx),
	}, ask)
	for _, a := range made {
		if a.GetClass() != turnv1.AttemptClass_ATTEMPT_CLASS_ANSWERED {
			c.failed = append(c.failed, a)
			continue
		}
		c.used.InputTokens = int32(min(int64(c.used.GetInputTokens())+int64(a.GetUsage().GetInputTokens()), math.MaxInt32))
		c.used.ModelCalls++
	}
	return err
}

// usage returns what the call has used, with its cost.
func (c *call) usage() *turnv1.Usage {
	if p := c.server.Models.Price(c.model); p != nil {
		c.used.CostMicros = contract.Cost(p, c.used)
		c.used.Cost = money.Text(c.used.GetCostMicros())
	}
	return c.used
}

// Embed implements InferenceService.
func (s *server) Embed(ctx context.Context, req *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
	c, err := s.newCall(req.GetModel(), req.GetTurnId())
	if err != nil {
		return nil, err
	}
	batches, err := s.Calls.Batches(c.model, req.GetTexts())
	if err != nil {
		return nil, err
	}
	out := &inferencev1.EmbedResponse{Model: c.model.FullName()}
	for _, texts := range batches {
		if err := c.embed(ctx, req, texts, out); err != nil {
			return nil, err
		}
	}
	out.Usage, out.UsageEstimated, out.FailedAttempts = c.usage(), c.estimated, c.failed
	return out, nil
}

// embed adds the vectors of one batch, which have the length of those before.
func (c *call) embed(ctx context.Context, req *inferencev1.EmbedRequest, texts []string, out *inferencev1.EmbedResponse) error {
	var got retrieval.Embedded
	err := c.do(ctx, func(ctx context.Context, m catalog.Model, key secret.Value) (report modelcall.Report, err error) {
		got, report, err = c.server.Calls.Embed(ctx, m, retrieval.EmbedRequest{
			Texts: texts, Dimensions: int(req.GetDimensions()),
			Query:    req.GetPurpose() == inferencev1.EmbedPurpose_EMBED_PURPOSE_QUERY,
			Document: req.GetPurpose() == inferencev1.EmbedPurpose_EMBED_PURPOSE_DOCUMENT,
		}, key, c.turnID)
		return report, err
	})
	if err != nil {
		return err
	}
	size := int32(len(got.Vectors[0])) // one for each text, all of one length
	switch {
	case out.GetDimensions() == 0:
		out.Dimensions = size
		if most := maxNumbers / int(size); len(req.GetTexts()) > most {
			return fault.Invalid("texts", "vectors of %d numbers are returned for %d texts at once, at most", size, most).
				Hint("Send fewer texts, or ask for fewer dimensions.")
		}
	case size != out.GetDimensions():
		return provider.Broken("%s made vectors of %d and of %d numbers", c.model.FullName(), out.GetDimensions(), size)
	}
	c.estimated = c.estimated || got.Estimated
	for _, v := range got.Vectors {
		out.Embeddings = append(out.Embeddings, &inferencev1.Embedding{Values: v})
	}
	return nil
}

// maxNumbers bounds the numbers of a response: a message of the mesh has 16 MiB, and its JSON has five times as many.
const maxNumbers = 3 << 20

// Rerank implements InferenceService.
func (s *server) Rerank(ctx context.Context, req *inferencev1.RerankRequest) (*inferencev1.RerankResponse, error) {
	c, err := s.newCall(req.GetModel(), req.GetTurnId())
	if err != nil {
		return nil, err
	}
	top := int(req.GetTopN())
	if top == 0 || top > len(req.GetDocuments()) {
		top = len(req.GetDocuments())
	}
	var got retrieval.Reranked
	err = c.do(ctx, func(ctx context.Context, m catalog.Model, key secret.Value) (report modelcall.Report, err error) {
		got, report, err = s.Calls.Rerank(ctx, m, retrieval.RerankRequest{
			Query: req.GetQuery(), Documents: req.GetDocuments(), Top: top,
		}, key, c.turnID)
		return report, err
	})
	if err != nil {
		return nil, err
	}
	out := &inferencev1.RerankResponse{
		Model: c.model.FullName(), Usage: c.usage(), UsageEstimated: got.Estimated, FailedAttempts: c.failed,
	}
	for _, r := range got.Ranks {
		out.Results = append(out.Results, &inferencev1.RankedDocument{Index: int32(r.Index), Score: r.Score})
	}
	return out, nil
}

// CountTokens implements InferenceService.
func (s *server) CountTokens(ctx context.Context, req *inferencev1.CountTokensRequest) (*inferencev1.CountTokensResponse, error) {
	c, err := s.newCall(req.GetModel(), req.GetTurnId())
	if err != nil {
		return nil, err
	}
	window, _ := s.Models.Window(c.model)
	out := &inferencev1.CountTokensResponse{Model: c.model.FullName(), ContextWindow: window}
	err = c.do(ctx, func(ctx context.Context, m catalog.Model, key secret.Value) (report modelcall.Report, err error) {
		out.Tokens, out.Note, report, err = s.Calls.Count(ctx, m, provider.Request{
			Instructions: req.GetInstructions(), Messages: req.GetMessages(), Tools: req.GetTools(), TurnID: c.turnID,
		}, key)
		return report, err
	})
	out.Estimated = out.GetNote() != ""
	if err != nil {
		return nil, err
	}
	return out, nil
}
