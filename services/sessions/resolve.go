package sessions

import (
	"context"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

var resolutions = map[turnv1.Verdict]string{
	turnv1.Verdict_VERDICT_ANSWERED: "done",
	turnv1.Verdict_VERDICT_NOT_DONE: "not_done",
	turnv1.Verdict_VERDICT_GIVEN_UP: "give_up",
}

// ResolveToolCall implements TurnService.
func (s *Service) ResolveToolCall(ctx context.Context, req *sessionsv1.ResolveToolCallRequest) (*sessionsv1.Approval, error) {
	t, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	switch {
	case req.GetOutcome() != "done" && req.GetResult() != "":
		return nil, fault.Invalid("result", "belongs to outcome \"done\"")
	case !utf8.ValidString(req.GetResult()):
		return nil, fault.Invalid("result", "is not valid UTF-8")
	case !access.Storable(req.GetComment()):
		return nil, fault.Invalid("comment", "must not contain NUL")
	}
	seen, err := s.unresolved(ctx, t, req.GetCallId())
	if err != nil {
		return nil, err
	}
	return s.onWait(ctx, seen, func(tx *journal.Tx, t *store.Turn, w *wait) error { return s.resolve(tx, t, w, req) })
}

// unresolved finds the wait for what became of a call: the open one, else the newest.
func (s *Service) unresolved(ctx context.Context, t store.Turn, call string) (*wait, error) {
	rows, err := s.store.WaitsOf(ctx, t.Tenant, t.ID)
	if err != nil {
		return nil, err
	}
	var found *wait
	for _, row := range rows {
		if row.CallID != call || turnv1.WaitKind(row.Kind) != turnv1.WaitKind_WAIT_KIND_RESOLUTION || found != nil && found.open() {
			continue
		}
		if found, err = readWait(row); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, fault.NotFound("turn %s waits for nobody to say what became of call %q", t.ID, call).
			Hint("GET /v1/approvals?turn_id=%s&kind=resolution lists what it waits for.", t.ID)
	}
	return found, nil
}

func (s *Service) resolve(tx *journal.Tx, t *store.Turn, w *wait, req *sessionsv1.ResolveToolCallRequest) error {
	verdict := keyOf(resolutions, req.GetOutcome())
	answer := &executionv1.Wait{}
	if verdict == turnv1.Verdict_VERDICT_ANSWERED {
		answer.Result = textResult(w, req.GetResult())
	}
	if !w.open() {
		if w.verdict() == verdict && proto.Equal(answer.GetResult(), w.answer.GetResult()) {
			return nil
		}
		return w.over()
	}
	who := authn.From(tx.Context()).GetSubject()
	w.answer = answer
	w.decided(tx, who, verdict != turnv1.Verdict_VERDICT_GIVEN_UP, req.GetComment())
	if err := takeInput(tx, *t); err != nil {
		return err
	}
	if err := s.endWait(tx, t, w, verdict, who); err != nil {
		return err
	}
	return s.notifyWorkflow(tx, *t)
}
