package rerun

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Recording returns the result that a call of a re-run had in the turn that it runs again, nil for none. Message and call name the call.
func (s *Service) Recording(ctx context.Context, t store.Turn, ses store.Session, message, call string) (*turnv1.ToolResult, error) {
	in, err := s.deps.Access.Input(ctx, t)
	if err != nil {
		return nil, err
	}
	if in.Rerun == nil {
		return nil, nil
	}
	messages, err := s.deps.Conversations.OfTurn(ctx, ses, t, nil)
	if err != nil {
		return nil, err
	}
	hash, n := place(callsOf(messages), message, call)
	if hash == "" {
		return nil, fault.NotFound("turn %s has no tool call %q in message %q", t.ID, call, message)
	}
	before, err := s.recordings(ctx, t.Tenant, in.Rerun.GetOfTurn())
	if err != nil || n > len(before[hash]) {
		return nil, err
	}
	return before[hash][n-1], nil
}

// recordings lists the results of a turn's calls by their hash, in order; nil stands for a call that came to nothing of its own,
// because it was cut off by the end of the turn. A turn that was deleted meanwhile has none.
func (s *Service) recordings(ctx context.Context, tenant, turn string) (map[string][]*turnv1.ToolResult, error) {
	t, err := s.deps.Store.Turn(ctx, tenant, turn)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	messages, err := s.deps.Conversations.OfTurn(ctx, store.Session{Tenant: t.Tenant, ID: t.SessionID}, t, nil)
	if err != nil {
		return nil, err
	}
	steps, err := s.deps.Store.Steps(ctx, t.Tenant, t.ID)
	if err != nil {
		return nil, err
	}
	cut := map[string]bool{}
	for _, step := range steps {
		if !step.Done {
			continue
		}
		o, err := step.StepOutcome()
		if err != nil {
			return nil, err
		}
		cut[o.GetMessageId()] = o.GetCancelled() || o.GetError() != nil
	}
	out := map[string][]*turnv1.ToolResult{}
	for _, c := range callsOf(messages) {
		if cut[c.resultID] {
			c.result = nil
		}
		out[c.hash] = append(out[c.hash], c.result)
	}
	return out, nil
}
