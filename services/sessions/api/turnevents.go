package api

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/page"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// newestFirst is the order of a list of events that begins with the newest.
const newestFirst = "desc"

// eventCursor is the last event of a page.
type eventCursor struct {
	Seq int64 `json:"seq"`
}

// ListTurnEvents implements TurnService.
func (s *Turns) ListTurnEvents(ctx context.Context, req *sessionsv1.ListTurnEventsRequest) (*sessionsv1.ListTurnEventsResponse, error) {
	t, _, err := s.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	newest := req.GetOrder() == newestFirst
	list := fmt.Sprintf("turn-events|%s|%t", t.ID, newest)
	var at eventCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &at)
	if err != nil {
		return nil, err
	}
	after, before := int64(t.FirstSeq)-1, int64(store.AfterAll)
	if t.Ended() {
		before = int64(t.LastSeq) + 1
	}
	switch {
	case at.Seq > 0 && newest:
		before = at.Seq
	case at.Seq > 0:
		after = at.Seq
	}
	rows, err := s.deps.Watcher.store.TurnEvents(ctx, t, after, before, newest, size+1)
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.ListTurnEventsResponse{}
	rows, out.NextPageToken = page.Trim(rows, size, list, func(e store.Event) any { return eventCursor{int64(e.Seq)} })
	for _, row := range rows {
		e := &turnv1.Event{}
		if err := proto.Unmarshal(row.Data, e); err != nil {
			return nil, fmt.Errorf("event %d of session %s: %w", row.Seq, t.SessionID, err)
		}
		out.Events = append(out.Events, e)
	}
	return out, nil
}
