package approval

import (
	"context"
	"slices"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/requester"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

// Decision is what one person decides about an approval.
type Decision struct {
	ID      string
	Approve bool
	// ArgumentsHash is that of the arguments that the person saw, "" when they do not say.
	ArgumentsHash string
	// Comment is for people; that of a denial is for the model too.
	Comment string
}

// Decide adds the caller's decision to an approval, which ends with the first denial or with the last approval that it needs. The
// same decision again changes nothing.
func (s *Service) Decide(ctx context.Context, d Decision) (store.Wait, error) {
	seen, err := s.Get(ctx, d.ID)
	if err != nil {
		return seen, err
	}
	if err := mayDecide(ctx, seen); err != nil {
		return seen, err
	}
	if d.ArgumentsHash != "" && d.ArgumentsHash != seen.Request.GetArgumentsHash() {
		return seen, fault.Conflict("the arguments of approval %s have the hash %q", seen.ID, seen.Request.GetArgumentsHash()).
			Hint("Read the approval again, check its arguments, and decide with their arguments_hash.")
	}
	if !access.Storable(d.Comment) {
		return seen, fault.Invalid("comment", "must not contain NUL")
	}
	return s.deps.Waits.Update(ctx, seen, func(tx *journal.Tx, t *store.Turn, w *store.Wait) error { return s.decide(tx, t, w, d) }, ended)
}

// mayDecide returns why the caller may not decide a wait: it is no approval, or they have no right to.
func mayDecide(ctx context.Context, w store.Wait) error {
	switch w.Kind {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return otherKind(w, "it asks for an answer").Hint("Answer it: POST /v1/approvals/%s:answer.", w.ID)
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return otherKind(w, "it asks what became of a call").Hint("Say so: POST /v1/turns/%s:resolve.", w.TurnID)
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		return otherKind(w, "it waits for the user to log in, or to connect the source").
			Hint("To go on without the call, answer it with the action \"decline\": POST /v1/approvals/%s:answer.", w.ID)
	default:
		return otherKind(w, "it ends by itself").Hint("Cancel turn %s to stop waiting.", w.TurnID)
	}
	if len(w.Request.GetApproverRoles()) > 0 && !hasRole(ctx, w) {
		return denied("approval %s takes one of the roles %q", w.ID, w.Request.GetApproverRoles()).
			Hint("Ask a user with one of these roles.")
	}
	if who := authn.From(ctx).GetSubject(); slices.Contains(w.Requesters, who) && !w.Request.GetAllowRequester() {
		did := "gave the turn input"
		if who == w.Requester {
			did = "began the turn"
		}
		return denied("%s %s, so another user must decide approval %s", who, did, w.ID).
			Hint("Ask another user, or set allow_requester in the approval rule.")
	}
	return nil
}

func (s *Service) decide(tx *journal.Tx, t *store.Turn, w *store.Wait, d Decision) error {
	who := authn.From(tx.Context()).GetSubject()
	var mine *turnv1.ApprovalDecision
	for _, earlier := range w.Answer.GetDecisions() {
		if earlier.GetSubject() == who {
			mine = earlier
		}
	}
	switch same := mine != nil && mine.GetApprove() == d.Approve; {
	case same && (w.Open() || w.Verdict == turnv1.Verdict_VERDICT_APPROVED || w.Verdict == turnv1.Verdict_VERDICT_DENIED):
		return nil
	case !w.Open():
		return ended(*w)
	}
	recordDecision(tx, w, who, d.Approve, d.Comment)
	if !d.Approve && d.Comment != "" { // the model reads it
		if err := requester.Record(tx, *t); err != nil {
			return err
		}
	}
	verdict := turnv1.Verdict_VERDICT_DENIED
	if d.Approve {
		if n := approvals(*w); n < w.Quorum() {
			if err := wait.RecordDecided(tx, *w, who, n); err != nil {
				return err
			}
			return tx.SaveWait(tx.Context(), *w)
		}
		verdict = turnv1.Verdict_VERDICT_APPROVED
	}
	return s.deps.Waits.EndAndWake(tx, t, w, verdict, who)
}

// approvals counts the people who approved.
func approvals(w store.Wait) uint32 {
	people := map[string]bool{}
	for _, d := range w.Answer.GetDecisions() {
		if d.GetApprove() {
			people[d.GetSubject()] = true
		}
	}
	return uint32(len(people))
}
