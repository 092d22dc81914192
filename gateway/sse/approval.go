package sse

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// approvalParameters are the query parameters of the stream of approvals.
var approvalParameters = []string{"after", "event"}

// Approvals serves changes of approvals, until the reader leaves.
func (s *Streams) Approvals(w http.ResponseWriter, r *http.Request, _ map[string]string) {
	query, err := rest.Query(r.URL)
	unnamed := false
	for name := range query {
		switch {
		case name == "after":
		case name == "event" && query.Get(name) == "message":
			unnamed = true
		case name == "event":
			err = fault.Invalid(name, "must be %q", "message")
		default:
			err = rest.UnknownParameter(name, approvalParameters)
		}
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	req := &sessionsv1.WatchApprovalsRequest{After: query.Get("after")}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		req.After = strings.ToValidUTF8(last, "\uFFFD")
	}
	s.serve(w, r, source{
		rpc: sessionsv1.ApprovalService_WatchApprovals_FullMethodName,
		open: func(ctx context.Context) (grpc.ClientStream, func() (frame, error), error) {
			stream, err := s.approvals.WatchApprovals(ctx, req)
			return stream, func() (frame, error) {
				m, err := stream.Recv()
				if err != nil {
					return frame{}, err
				}
				return approvalFrame(m, unnamed)
			}, err
		},
	}, problem.Write)
}

// approvalFrame returns the frame of a change, or of a position. Its data is the approval.
func approvalFrame(m *sessionsv1.WatchApprovalsResponse, unnamed bool) (frame, error) {
	f := frame{id: m.GetCursor()}
	if m.GetApproval() == nil {
		return f, nil
	}
	if !unnamed {
		f.name = m.GetType()
	}
	var err error
	f.data, err = codec.Marshal(m.GetApproval())
	return f, err
}
