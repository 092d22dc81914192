package sse

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/eventjson"
	"github.com/windlass-dev/windlass/gateway/rest"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// serveTurn serves the events of a turn or a session.
func (s *Streams) serveTurn(w http.ResponseWriter, r *http.Request, req *sessionsv1.WatchTurnRequest, refuse refusal) {
	var v view
	query, err := rest.Query(r.URL)
	if err == nil {
		v, err = viewOf(query)
	}
	if err == nil {
		req.After, err = cursor(r, query)
	}
	if err != nil {
		refuse(w, r, err)
		return
	}
	req.IncludeChildren = v.children
	src := source{
		rpc: sessionsv1.TurnService_WatchTurn_FullMethodName, resumed: req.GetAfter() != "" && req.GetTurnId() != "",
		logFields: []any{"turn_id", req.GetTurnId(), "session_id", req.GetSessionId()},
		open: func(ctx context.Context) (grpc.ClientStream, func() (frame, error), error) {
			stream, err := s.turns.WatchTurn(ctx, req)
			return stream, func() (frame, error) {
				m, err := stream.Recv()
				if err != nil {
					return frame{}, err
				}
				return v.frame(m)
			}, err
		},
	}
	if req.GetTurnId() != "" {
		src.end, _ = json.Marshal(map[string]string{"turn_id": req.GetTurnId()}) // strings always encode
	}
	s.serve(w, r, src, refuse)
}

// frame returns the frame of an event as its reader wants it.
func (v view) frame(m *sessionsv1.WatchTurnResponse) (frame, error) {
	f := frame{id: m.GetCursor(), name: m.GetEvent().GetType(), hidden: !v.shows(m.GetEvent().GetType())}
	if f.hidden {
		return f, nil
	}
	if v.unnamed {
		f.name = ""
	}
	var err error
	if f.data, err = eventjson.Encode(m.GetEvent()); err != nil {
		return f, fmt.Errorf("write event: %w", err)
	}
	return f, nil
}
