package api

import (
	"context"

	"github.com/windlass-dev/windlass/libs/tokens"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/factbook"
	"github.com/windlass-dev/windlass/services/knowledge/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// recall implements RecallService.
type recall struct {
	knowledgev1.UnimplementedRecallServiceServer
	book *factbook.Book
}

// Recall implements RecallService.
func (s *recall) Recall(ctx context.Context, req *knowledgev1.RecallRequest) (*knowledgev1.RecallResponse, error) {
	size := func(f store.Fact) int { return tokens.Text(contract.ToolPrefix + contract.LineOf(factToProto(f))) }
	found, err := s.book.Recall(ctx, ownerOf(req.GetPrincipal()), req.GetAgentId(), req.GetInput(), size)
	if err != nil {
		return nil, err
	}
	out := &knowledgev1.RecallResponse{}
	for _, r := range found {
		out.Facts = append(out.Facts, &knowledgev1.RecalledFact{Fact: factToProto(r.Fact), Reason: r.Reason})
	}
	return out, nil
}

// ReadFacts implements RecallService.
func (s *recall) ReadFacts(ctx context.Context, req *knowledgev1.ReadFactsRequest) (*knowledgev1.ReadFactsResponse, error) {
	rows, err := s.book.Read(ctx, ownerOf(req.GetPrincipal()), req.GetFactIds())
	if err != nil {
		return nil, err
	}
	return &knowledgev1.ReadFactsResponse{Facts: factsToProto(rows)}, nil
}

// outcomes are what became of a fact, as the API names it.
var outcomes = map[factbook.Outcome]knowledgev1.RememberOutcome{
	factbook.Remembered: knowledgev1.RememberOutcome_REMEMBER_OUTCOME_REMEMBERED,
	factbook.Known:      knowledgev1.RememberOutcome_REMEMBER_OUTCOME_KNOWN,
	factbook.Proposed:   knowledgev1.RememberOutcome_REMEMBER_OUTCOME_PROPOSED,
	factbook.Forgotten:  knowledgev1.RememberOutcome_REMEMBER_OUTCOME_FORGOTTEN,
	factbook.Off:        knowledgev1.RememberOutcome_REMEMBER_OUTCOME_OFF,
	factbook.Past:       knowledgev1.RememberOutcome_REMEMBER_OUTCOME_PAST,
	factbook.Full:       knowledgev1.RememberOutcome_REMEMBER_OUTCOME_FULL,
}

// Remember implements RecallService.
func (s *recall) Remember(ctx context.Context, req *knowledgev1.RememberRequest) (*knowledgev1.RememberResponse, error) {
	d, from := draftOf(req.GetFact()), req.GetSource()
	d.SessionID, d.TurnID, d.CallID, d.Tainted = from.GetSessionId(), from.GetTurnId(), from.GetCallId(), from.GetTainted()
	outcome, f, err := s.book.Remember(ctx, ownerOf(req.GetPrincipal()), d)
	if err != nil {
		return nil, err
	}
	out := &knowledgev1.RememberResponse{Outcome: outcomes[outcome]}
	if f.ID != "" {
		out.Fact = factToProto(f)
	}
	return out, nil
}
