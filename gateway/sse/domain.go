package sse

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// watchParameters are the query parameters of the stream of domain events.
var watchParameters = []string{"after", "event", "since", "source", "subject", "types"}

// Events serves domain events, until the reader leaves.
func (s *Streams) Events(w http.ResponseWriter, r *http.Request, _ map[string]string) {
	query, err := rest.Query(r.URL)
	var req *sessionsv1.WatchEventsRequest
	var unnamed bool
	if err == nil {
		req, unnamed, err = watchRequest(query)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		req.After = strings.ToValidUTF8(last, "\uFFFD")
	}
	s.serve(w, r, source{
		rpc: sessionsv1.EventService_WatchEvents_FullMethodName,
		open: func(ctx context.Context) (grpc.ClientStream, func() (frame, error), error) {
			stream, err := s.events.WatchEvents(ctx, req)
			return stream, func() (frame, error) {
				m, err := stream.Recv()
				if err != nil {
					return frame{}, err
				}
				return eventFrame(m, unnamed)
			}, err
		},
	}, problem.Write)
}

// eventFrame returns the frame of an event, or of a position.
func eventFrame(m *sessionsv1.WatchEventsResponse, unnamed bool) (frame, error) {
	f := frame{id: m.GetCursor()}
	if m.GetEvent() == nil {
		return f, nil
	}
	if !unnamed {
		f.name = m.GetEvent().GetType()
	}
	var err error
	f.data, err = codec.Marshal(m.GetEvent())
	return f, err
}

// watchRequest reads the parameters of the stream of domain events.
func watchRequest(query url.Values) (req *sessionsv1.WatchEventsRequest, unnamed bool, err error) {
	req = &sessionsv1.WatchEventsRequest{After: query.Get("after"), Source: query.Get("source"), Subject: query.Get("subject")}
	for name := range query {
		switch name {
		case "after", "source", "subject":
		case "event":
			if query.Get(name) != "message" {
				return nil, false, fault.Invalid(name, "must be %q", "message")
			}
			unnamed = true
		case "since":
			at, err := time.Parse(time.RFC3339, query.Get(name))
			if err != nil {
				return nil, false, fault.Invalid(name, "must be a time such as 2026-01-02T15:04:05Z")
			}
			req.Since = timestamppb.New(at)
		case "types":
			req.Types = query[name]
		default:
			return nil, false, rest.UnknownParameter(name, watchParameters)
		}
	}
	return req, unnamed, nil
}
