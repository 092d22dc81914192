package sse

import (
	"context"
	"net/http"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Shared serves the messages of the shared conversation that the link with the token leads to, until the share ends.
func (s *Streams) Shared(w http.ResponseWriter, r *http.Request, vars map[string]string) {
	req, err := sharedRequest(r, vars["token"])
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	s.serve(w, r, source{
		rpc: sessionsv1.ShareService_WatchShared_FullMethodName,
		open: func(ctx context.Context) (grpc.ClientStream, func() (frame, error), error) {
			stream, err := s.shares.WatchShared(ctx, req)
			return stream, func() (frame, error) {
				m, err := stream.Recv()
				if err != nil {
					return frame{}, err
				}
				f := frame{id: strconv.FormatInt(m.GetSeq(), 10), name: "message"}
				f.data, err = codec.Marshal(m)
				return f, err
			}, err
		},
	}, problem.Write)
}

// sharedRequest reads the position at which the stream begins: the header of a reconnecting EventSource, else ?after=.
func sharedRequest(r *http.Request, token string) (*sessionsv1.WatchSharedRequest, error) {
	query, err := rest.Query(r.URL)
	if err != nil {
		return nil, err
	}
	for name := range query {
		if name != "after" {
			return nil, rest.UnknownParameter(name, []string{"after"})
		}
	}
	req := &sessionsv1.WatchSharedRequest{Token: token}
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = query.Get("after")
	}
	if after != "" {
		n, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			return nil, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_CURSOR, "the position is no number").
				Hint("Use the id of an event, or leave it out to read from the beginning.")
		}
		req.After = &n
	}
	return req, nil
}
