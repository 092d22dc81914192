package api

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/eventfeed"
)

// Events implements EventService.
type Events struct {
	sessionsv1.UnimplementedEventServiceServer
	feed *eventfeed.Feed
}

// NewEvents returns the server.
func NewEvents(feed *eventfeed.Feed) *Events { return &Events{feed: feed} }

// ListEvents implements EventService.
func (s *Events) ListEvents(ctx context.Context, req *sessionsv1.ListEventsRequest) (*sessionsv1.ListEventsResponse, error) {
	sel, err := selection(ctx, req)
	if err != nil {
		return nil, err
	}
	if req.GetSince() != nil && !req.GetSince().IsValid() || req.GetUntil() != nil && !req.GetUntil().IsValid() {
		return nil, fault.Invalid("since", "since and until must be times from the year 1 to 9999")
	}
	sel.Since, sel.Until = timestamp.Time(req.GetSince()), timestamp.Time(req.GetUntil())
	var from *eventfeed.Position
	list := fmt.Sprintf("events|%q|%q|%q|%d|%d|%t", sel.Types, sel.Source, sel.Subject, sel.Since.UnixNano(), sel.Until.UnixNano(),
		req.GetOldestFirst())
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &from)
	if err != nil {
		return nil, err
	}
	found, err := s.feed.List(ctx, sel, from, !req.GetOldestFirst(), size)
	if errors.Is(err, eventfeed.ErrCursor) {
		return nil, fault.Invalid("page_token", "the token is ahead of the events").Hint("List from the first page.")
	}
	if err != nil {
		return nil, err
	}
	resp := &sessionsv1.ListEventsResponse{Events: found.Events}
	if found.Next != nil {
		resp.NextPageToken = page.Encode(list, found.Next)
	}
	return resp, nil
}

// WatchEvents implements EventService.
func (s *Events) WatchEvents(req *sessionsv1.WatchEventsRequest, stream sessionsv1.EventService_WatchEventsServer) error {
	ctx := stream.Context()
	sel, err := selection(ctx, req)
	if err != nil {
		return err
	}
	if req.GetSince() != nil && !req.GetSince().IsValid() {
		return fault.Invalid("since", "must be a time from the year 1 to 9999")
	}
	at, err := s.feed.Begin(ctx, sel, eventfeed.Start{After: req.GetAfter(), Since: timestamp.Time(req.GetSince())})
	if err != nil {
		return eventsFault(err, req.GetAfter())
	}
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	return eventsFault(s.feed.Follow(ctx, sel, at, func(e *eventv1.CloudEvent, cursor string) error {
		return stream.Send(&sessionsv1.WatchEventsResponse{Event: e, Cursor: cursor})
	}), at.String())
}

// selection returns what a caller selects and may see.
func selection(ctx context.Context, req interface {
	GetTypes() []string
	GetSource() string
	GetSubject() string
},
) (eventfeed.Selection, error) {
	sel := eventfeed.Selection{
		Tenant: authn.Tenant(ctx), Owner: access.Owner(ctx), Source: req.GetSource(), Subject: req.GetSubject(),
	}
	for _, list := range req.GetTypes() {
		sel.Types = append(sel.Types, strings.Split(list, ",")...)
	}
	if t := sel.UnknownType(); t != "" {
		return sel, fault.Invalid("types", "no event type matches %q", t).
			Hint("Use types such as dev.windlass.tool.called.v1, or patterns such as dev.windlass.source.*.")
	}
	if !access.Storable(sel.Subject) || !access.Storable(sel.Source) {
		return sel, fault.Invalid("subject", "subject and source must not contain NUL")
	}
	return sel, nil
}

// eventsFault says what the end of a stream means to the caller.
func eventsFault(err error, cursor string) error {
	switch {
	case errors.Is(err, eventfeed.ErrCursor):
		e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_CURSOR,
			"%q is no cursor of an event, or it is ahead of the events", cursor)
		e.Fields = []fault.Field{{Path: "after", Message: e.Message}}
		return e.Hint("Use the cursor of an event, or leave it out to start now.")
	case errors.Is(err, eventfeed.ErrStopped):
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the sessions service is stopping").
			Hint("Connect again with the last cursor.")
	}
	return err
}
