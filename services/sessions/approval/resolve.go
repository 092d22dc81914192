package approval

import (
	"context"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/requester"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Resolution says what became of a call whose outcome was unknown.
type Resolution struct {
	TurnID, CallID string
	// Outcome is answered: the call took effect; not done: it did not; or given up: nobody knows.
	Outcome turnv1.Verdict
	// Result is that of a call that took effect.
	Result  string
	Comment string
}

// Resolve ends the wait for what became of a call. The same resolution again changes nothing.
func (s *Service) Resolve(ctx context.Context, r Resolution) (store.Wait, error) {
	t, _, err := s.deps.Access.Turn(ctx, r.TurnID)
	if err != nil {
		return store.Wait{}, err
	}
	switch {
	case r.Outcome != turnv1.Verdict_VERDICT_ANSWERED && r.Result != "":
		return store.Wait{}, fault.Invalid("result", "belongs to outcome \"done\"")
	case !utf8.ValidString(r.Result):
		return store.Wait{}, fault.Invalid("result", "is not valid UTF-8")
	case !access.Storable(r.Comment):
		return store.Wait{}, fault.Invalid("comment", "must not contain NUL")
	}
	seen, err := s.unresolved(ctx, t, r.CallID)
	if err != nil {
		return seen, err
	}
	return s.deps.Waits.Update(ctx, seen, func(tx *journal.Tx, t *store.Turn, w *store.Wait) error { return s.resolve(tx, t, w, r) }, ended)
}

// unresolved finds the wait for what became of a call: the open one, else the newest.
func (s *Service) unresolved(ctx context.Context, t store.Turn, call string) (found store.Wait, err error) {
	waits, err := s.deps.Store.WaitsOf(ctx, t.Tenant, t.ID)
	if err != nil {
		return found, err
	}
	for _, w := range waits {
		if w.CallID == call && w.Kind == turnv1.WaitKind_WAIT_KIND_RESOLUTION && (found.ID == "" || !found.Open()) {
			found = w
		}
	}
	if found.ID == "" {
		return found, fault.NotFound("turn %s does not wait for the outcome of call %q", t.ID, call).
			Hint("GET /v1/approvals?turn_id=%s&kind=resolution lists what it waits for.", t.ID)
	}
	return found, nil
}

func (s *Service) resolve(tx *journal.Tx, t *store.Turn, w *store.Wait, r Resolution) error {
	answer := &store.WaitAnswer{}
	if r.Outcome == turnv1.Verdict_VERDICT_ANSWERED {
		answer.Result = textResult(*w, r.Result)
	}
	if !w.Open() {
		if w.Verdict == r.Outcome && proto.Equal(answer.GetResult(), w.Answer.GetResult()) {
			return nil
		}
		return ended(*w)
	}
	who := authn.From(tx.Context()).GetSubject()
	w.Answer = answer
	recordDecision(tx, w, who, r.Outcome != turnv1.Verdict_VERDICT_GIVEN_UP, r.Comment)
	if err := requester.Record(tx, *t); err != nil {
		return err
	}
	return s.deps.Waits.EndAndWake(tx, t, w, r.Outcome, who)
}
