package api

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/watch"
)

// maxFollowed bounds the sub-agents' turns that a cursor may name.
const maxFollowed = 256

// treeFrom resolves what the caller may watch and the cursor, sub-agents included.
func (s *Watcher) treeFrom(ctx context.Context, req *sessionsv1.WatchTurnRequest) (watch.Tree, error) {
	at, err := watch.ParseTree(req.GetAfter())
	if err != nil || len(at.Below) > maxFollowed {
		return watch.Tree{}, badCursor("%q is no cursor of a session with its sub-agents", req.GetAfter())
	}
	f := watch.Tree{Cursor: at, Below: map[string]watch.Member{}, Find: s.childScope}
	f.Top.Scope, f.Top.At, err = s.watchFrom(ctx,
		&sessionsv1.WatchTurnRequest{SessionId: req.GetSessionId(), TurnId: req.GetTurnId(), After: at.Top})
	if err != nil {
		return f, err
	}
	for turn, place := range at.Below {
		t, ses, err := s.access.Turn(ctx, turn)
		if err != nil || t.AgentPath == "" {
			return f, badCursor("the cursor names %q, which is no turn of a sub-agent", turn)
		}
		if watch.Over(place) {
			continue
		}
		m := watch.Member{Scope: watch.Scope{Tenant: t.Tenant, Session: t.SessionID, Turn: t.ID, FirstSeq: t.FirstSeq, EndSeq: t.LastSeq}}
		if m.At, err = s.position(ctx, ses, place); err != nil {
			return f, err
		}
		f.Below[turn] = m
	}
	return f, nil
}

// childScope waits until the turn of a sub-agent is there: its link comes first.
func (s *Watcher) childScope(ctx context.Context, turn string) (watch.Scope, error) {
	tick := time.NewTicker(childPause)
	defer tick.Stop()
	for {
		t, err := s.store.Turn(ctx, authn.Tenant(ctx), turn)
		if err == nil {
			return watch.Scope{Tenant: t.Tenant, Session: t.SessionID, Turn: t.ID, FirstSeq: t.FirstSeq, EndSeq: t.LastSeq}, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return watch.Scope{}, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return watch.Scope{}, ctx.Err()
		}
	}
}

// childPause is how often a watcher queries a sub-agent's turn that is about to be made.
const childPause = 25 * time.Millisecond
