package api

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/approval"
	"github.com/windlass-dev/windlass/services/sessions/eventfeed"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Approvals implements ApprovalService.
type Approvals struct {
	sessionsv1.UnimplementedApprovalServiceServer
	approvals *approval.Service
	feed      *eventfeed.Feed
}

// NewApprovals serves approvals, and their changes as the feed has them.
func NewApprovals(approvals *approval.Service, feed *eventfeed.Feed) *Approvals {
	return &Approvals{approvals: approvals, feed: feed}
}

// GetApproval implements ApprovalService.
func (s *Approvals) GetApproval(ctx context.Context, req *sessionsv1.GetApprovalRequest) (*sessionsv1.Approval, error) {
	return answerApproval(s.approvals.Get(ctx, req.GetApprovalId()))
}

// ListApprovals implements ApprovalService.
func (s *Approvals) ListApprovals(ctx context.Context, req *sessionsv1.ListApprovalsRequest) (*sessionsv1.ListApprovalsResponse, error) {
	list, at, err := timePage(fmt.Sprintf("approvals|%s|%s|%s|%s|%s", access.Owner(ctx), enum.Name(req.GetStatus()),
		enum.Name(req.GetKind()), req.GetSessionId(), req.GetTurnId()), req)
	if err != nil {
		return nil, err
	}
	rows, err := s.approvals.List(ctx, approval.Filter{
		Open: req.GetStatus() == sessionsv1.ApprovalStatus_APPROVAL_STATUS_PENDING, Verdict: convert.VerdictOf(req.GetStatus()),
		Kind: req.GetKind(), SessionID: req.GetSessionId(), TurnID: req.GetTurnId(), Page: at,
	})
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, at.Limit-1, list, func(w store.Wait) any { return afterTime(w.CreateTime, w.ID) })
	out := &sessionsv1.ListApprovalsResponse{NextPageToken: next}
	for _, w := range rows {
		out.Approvals = append(out.Approvals, convert.ApprovalToProto(w))
	}
	return out, nil
}

// DecideApproval implements ApprovalService.
func (s *Approvals) DecideApproval(ctx context.Context, req *sessionsv1.DecideApprovalRequest) (*sessionsv1.Approval, error) {
	return answerApproval(s.approvals.Decide(ctx, approval.Decision{
		ID: req.GetApprovalId(), Approve: req.GetDecision() == "approve", ArgumentsHash: req.GetArgumentsHash(), Comment: req.GetComment(),
	}))
}

// BatchDecideApprovals implements ApprovalService.
func (s *Approvals) BatchDecideApprovals(
	ctx context.Context, req *sessionsv1.BatchDecideApprovalsRequest,
) (*sessionsv1.BatchDecideApprovalsResponse, error) {
	out := &sessionsv1.BatchDecideApprovalsResponse{}
	for _, one := range req.GetDecisions() {
		a, err := s.DecideApproval(ctx, one)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		result := &sessionsv1.DecidedApproval{Approval: a}
		if err != nil {
			f := fault.From(err)
			result.Error = &turnv1.TurnError{Code: fault.CodeName(f.Reason), Message: f.Message}
			if f.Todo != "" {
				result.Error.Message += ". " + f.Todo
			}
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}

// AnswerApproval implements ApprovalService.
func (s *Approvals) AnswerApproval(ctx context.Context, req *sessionsv1.AnswerApprovalRequest) (*sessionsv1.Approval, error) {
	return answerApproval(s.approvals.Answer(ctx, approval.Answer{
		ID: req.GetApprovalId(), Action: req.GetAction(), Content: req.GetContent(), Result: req.GetResult(),
		Structured: req.GetStructuredContent(),
		IsError:    req.GetIsError(), Bytes: proto.Size(req),
	}))
}

func answerApproval(w store.Wait, err error) (*sessionsv1.Approval, error) {
	if err != nil {
		return nil, err
	}
	return convert.ApprovalToProto(w), nil
}
