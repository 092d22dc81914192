package api

import (
	"cmp"
	"context"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/tokens"
	"github.com/windlass-dev/windlass/libs/truncate"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/knowledge/document"
	"github.com/windlass-dev/windlass/services/knowledge/factbook"
	"github.com/windlass-dev/windlass/services/knowledge/search"
	"github.com/windlass-dev/windlass/services/knowledge/store"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
)

// recall implements RecallService.
type recall struct {
	knowledgev1.UnimplementedRecallServiceServer
	book      *factbook.Book
	searches  *search.Service
	documents *document.Service
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

const (
	// usualTokens and usualPassages are a budget that is not set.
	usualTokens, usualPassages = 2000, 6
	// maxQuery bounds the part of an input that is searched for, in bytes.
	maxQuery = 8 << 10
)

// FindPassages implements RecallService.
func (s *recall) FindPassages(ctx context.Context, req *knowledgev1.FindPassagesRequest) (*knowledgev1.FindPassagesResponse, error) {
	out := &knowledgev1.FindPassagesResponse{}
	query := strings.TrimSpace(truncate.Cut(req.GetInput(), maxQuery))
	if query == "" {
		return out, nil
	}
	found, err := s.searches.Banks(authn.With(ctx, req.GetPrincipal()), req.GetBankIds(), search.Query{
		Text: query, Results: cmp.Or(int(req.GetBudget().GetMaxPassages()), usualPassages),
	})
	if err != nil {
		return nil, err
	}
	left := cmp.Or(int(req.GetBudget().GetMaxTokens()), usualTokens) - tokens.Text(passage.Prompt(nil))
	for _, r := range found.Results {
		p := &knowledgev1.FoundPassage{
			Ref: &turnv1.PassageRef{
				BankId: r.Bank, DocumentId: r.Document, Version: r.Version, Start: r.Start, End: r.End, Score: r.Score,
			},
			Text: r.Text, DocumentName: r.DocumentName, Heading: r.Heading, Page: int32(r.Page),
		}
		shown := passage.Found("", []*turnv1.PassageRef{p.GetRef()}, []*knowledgev1.FoundPassage{p})
		if size := tokens.Text("\n\n" + passage.Shown(shown[0])); size <= left {
			left -= size
			out.Passages = append(out.Passages, p)
		}
	}
	return out, nil
}

// ReadPassages implements RecallService.
func (s *recall) ReadPassages(ctx context.Context, req *knowledgev1.ReadPassagesRequest) (*knowledgev1.ReadPassagesResponse, error) {
	ranges := make([]store.Range, len(req.GetRefs()))
	for i, ref := range req.GetRefs() {
		ranges[i] = store.Range{
			Bank: ref.GetBankId(), Document: ref.GetDocumentId(), Version: ref.GetVersion(), Start: ref.GetStart(), End: ref.GetEnd(),
		}
	}
	found, err := s.documents.Excerpts(authn.With(ctx, req.GetPrincipal()), ranges)
	if err != nil {
		return nil, err
	}
	out := &knowledgev1.ReadPassagesResponse{}
	for i, ref := range req.GetRefs() {
		if e, ok := found[ranges[i]]; ok {
			out.Passages = append(out.Passages, &knowledgev1.FoundPassage{
				Ref: ref, Text: e.Text, DocumentName: e.DocumentName, Heading: e.Heading, Page: int32(e.Page),
			})
		}
	}
	return out, nil
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
