package sessions

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// DecideApproval implements ApprovalService.
func (s *Service) DecideApproval(ctx context.Context, req *sessionsv1.DecideApprovalRequest) (*sessionsv1.Approval, error) {
	seen, err := s.seenWait(ctx, req.GetApprovalId())
	if err != nil {
		return nil, err
	}
	if err := mayDecide(ctx, seen); err != nil {
		return nil, err
	}
	if hash := req.GetArgumentsHash(); hash != "" && hash != seen.request.GetArgumentsHash() {
		return nil, fault.Conflict("the arguments of approval %s have the hash %q", seen.ID, seen.request.GetArgumentsHash()).
			Hint("Read the approval again, look at its arguments, and decide with their arguments_hash.")
	}
	if !access.Storable(req.GetComment()) {
		return nil, fault.Invalid("comment", "must not contain NUL")
	}
	return s.onWait(ctx, seen, func(tx *journal.Tx, t *store.Turn, w *wait) error { return s.decide(tx, t, w, req) })
}

// mayDecide returns why the caller may not decide a wait: it is no approval, or they have no right to.
func mayDecide(ctx context.Context, w *wait) error {
	switch w.kind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return w.other("it asks for an answer").Hint("Answer it: POST /v1/approvals/%s:answer.", w.ID)
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return w.other("it asks what became of a call").Hint("Say so: POST /v1/turns/%s:resolve.", w.TurnID)
	default:
		return w.other("it ends by itself").Hint("Cancel turn %s to stop waiting.", w.TurnID)
	}
	if len(w.request.GetApproverRoles()) > 0 && !w.hasRole(ctx) {
		return denied("approval %s takes one of the roles %q", w.ID, w.request.GetApproverRoles()).
			Hint("Ask somebody who has one of these roles.")
	}
	if who := authn.From(ctx).GetSubject(); slices.Contains(w.requesters, who) && !w.request.GetAllowRequester() {
		did := "gave the turn input"
		if who == w.Requester {
			did = "began the turn"
		}
		return denied("%s %s, so somebody else must decide approval %s", who, did, w.ID).
			Hint("Ask somebody else, or have the approval rule say allow_requester.")
	}
	return nil
}

// other says that a wait is of another kind than the call is for.
func (w *wait) other(why string) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "%s is of kind %q: %s", w.ID, enum.Name(w.kind()), why)
}

func denied(format string, args ...any) *fault.Error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, format, args...)
}

// decide adds one person's decision to an approval, which ends with the first refusal or with the last approval that it needs.
func (s *Service) decide(tx *journal.Tx, t *store.Turn, w *wait, req *sessionsv1.DecideApprovalRequest) error {
	who := authn.From(tx.Context()).GetSubject()
	approve := req.GetDecision() == "approve"
	var mine *turnv1.ApprovalDecision
	for _, d := range w.answer.GetDecisions() {
		if d.GetSubject() == who {
			mine = d
		}
	}
	switch same := mine != nil && mine.GetApprove() == approve; {
	case same && (w.open() || w.verdict() == turnv1.Verdict_VERDICT_APPROVED || w.verdict() == turnv1.Verdict_VERDICT_DENIED):
		return nil
	case !w.open():
		return w.over()
	}
	w.decided(tx, who, approve, req.GetComment())
	if !approve && req.GetComment() != "" { // the model reads it
		if err := takeInput(tx, *t); err != nil {
			return err
		}
	}
	verdict := turnv1.Verdict_VERDICT_DENIED
	if approve {
		if w.approvals() < w.quorum() {
			return w.save(tx)
		}
		verdict = turnv1.Verdict_VERDICT_APPROVED
	}
	if err := s.endWait(tx, t, w, verdict, who); err != nil {
		return err
	}
	return s.notifyWorkflow(tx, *t)
}

// decided adds what one person said.
func (w *wait) decided(tx *journal.Tx, who string, approve bool, comment string) {
	w.answer.Decisions = append(w.answer.Decisions, &turnv1.ApprovalDecision{
		Subject: who, Approve: approve, Comment: comment, Time: timestamp.OfMicros(tx.NowUs),
	})
}

// approvals counts the people who approved.
func (w *wait) approvals() uint32 {
	people := map[string]bool{}
	for _, d := range w.answer.GetDecisions() {
		if d.GetApprove() {
			people[d.GetSubject()] = true
		}
	}
	return uint32(len(people))
}

// BatchDecideApprovals implements ApprovalService.
func (s *Service) BatchDecideApprovals(ctx context.Context, req *sessionsv1.BatchDecideApprovalsRequest) (*sessionsv1.BatchDecideApprovalsResponse, error) {
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
