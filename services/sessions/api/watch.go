package api

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/stack"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/watch"
)

// Watcher follows turns and sessions for callers.
type Watcher struct {
	store   *store.Store
	access  access.Reader
	hub     *watch.Hub
	maxWait time.Duration
}

// NewWatcher returns a Watcher. A call waits for the end of a turn at most maxWait.
func NewWatcher(s *store.Store, reader access.Reader, hub *watch.Hub, maxWait time.Duration) *Watcher {
	return &Watcher{store: s, access: reader, hub: hub, maxWait: maxWait}
}

// WatchTurn implements TurnService.
func (s *Turns) WatchTurn(req *sessionsv1.WatchTurnRequest, stream sessionsv1.TurnService_WatchTurnServer) error {
	return s.deps.Watcher.serve(req, stream)
}

func (s *Watcher) serve(req *sessionsv1.WatchTurnRequest, stream sessionsv1.TurnService_WatchTurnServer) error {
	ctx := stream.Context()
	send := func(e *turnv1.Event, cursor string) error {
		return stream.Send(&sessionsv1.WatchTurnResponse{Event: e, Cursor: cursor})
	}
	var follow func() error
	if req.GetIncludeChildren() {
		tree, err := s.treeFrom(ctx, req)
		if err != nil {
			return err
		}
		follow = func() error { return s.hub.StreamTree(ctx, tree, send) }
	} else {
		var scope watch.Scope
		var at watch.Position
		if err := stack.Apart(func() (err error) {
			scope, at, err = s.watchFrom(ctx, req)
			return err
		}); err != nil {
			return err
		}
		follow = func() error { return s.hub.Stream(ctx, scope, at, send) }
	}
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	return watchFault(follow())
}

// watchFrom resolves what the caller may watch and the cursor.
func (s *Watcher) watchFrom(ctx context.Context, req *sessionsv1.WatchTurnRequest) (watch.Scope, watch.Position, error) {
	var none watch.Position
	if (req.GetSessionId() == "") == (req.GetTurnId() == "") {
		return watch.Scope{}, none, fault.Invalid("session_id", "give exactly one of session_id and turn_id")
	}
	var scope watch.Scope
	var ses store.Session
	var err error
	if req.GetTurnId() != "" {
		var t store.Turn
		if t, ses, err = s.access.Turn(ctx, req.GetTurnId()); err != nil {
			return scope, none, err
		}
		scope.Turn, scope.FirstSeq, scope.EndSeq = t.ID, t.FirstSeq, t.LastSeq
	} else if ses, err = s.access.Session(ctx, req.GetSessionId()); err != nil {
		return scope, none, err
	}
	scope.Tenant, scope.Session = ses.Tenant, ses.ID
	at, err := s.position(ctx, ses, req.GetAfter())
	return scope, at, err
}

// position checks a cursor against the journal.
func (s *Watcher) position(ctx context.Context, ses store.Session, after string) (watch.Position, error) {
	if after == "" {
		return watch.Position{}, nil
	}
	at, err := watch.Parse(after)
	if err != nil {
		return at, badCursor("%q is no cursor: want SEQ or SEQ.N", after)
	}
	if at.Seq == 0 {
		return at, nil
	}
	row, err := s.store.Event(ctx, ses.Tenant, ses.ID, at.Seq)
	if errors.Is(err, store.ErrNotFound) {
		return at, badCursor("cursor %s is ahead of the journal", after)
	}
	if err != nil {
		return at, err
	}
	if at.Open = row.OpenSeq; at.Open != 0 {
		opened, err := s.store.Event(ctx, ses.Tenant, ses.ID, at.Open)
		if err != nil {
			return at, err
		}
		at.Turn = opened.TurnID
	}
	if at.N > 0 && at.Open == 0 {
		return at, badCursor("cursor %s counts deltas where no message is open", after)
	}
	return at, nil
}

func badCursor(format string, args ...any) error {
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_CURSOR, format, args...)
	e.Fields = []fault.Field{{Path: "after", Message: e.Message}}
	return e.Hint("Connect without a cursor.")
}

// watchFault says what the end of a watch means to the caller.
func watchFault(err error) error {
	switch {
	case errors.Is(err, watch.ErrSlow):
		return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "the events were not read fast enough").
			Hint("Connect again with the last cursor.")
	case errors.Is(err, watch.ErrStopped):
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE,
			"the sessions service is stopping").Hint("Connect again with the last cursor.")
	case errors.Is(err, store.ErrNotFound):
		return fault.NotFound("the session was deleted")
	}
	return err
}
