package api

import (
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/eventfeed"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// approvalChanges are the types of changes, by the domain events that report them.
var approvalChanges = map[string]string{
	"dev.windlass.approval.requested.v1": "approval.opened",
	"dev.windlass.approval.decided.v1":   "approval.changed",
	"dev.windlass.approval.resolved.v1":  "approval.closed",
}

// WatchApprovals implements ApprovalService.
func (s *Approvals) WatchApprovals(req *sessionsv1.WatchApprovalsRequest, stream sessionsv1.ApprovalService_WatchApprovalsServer) error {
	ctx := stream.Context()
	sel := eventfeed.Selection{Tenant: authn.Tenant(ctx), Source: store.EventSource} // of all owners: approvers are others
	for t := range approvalChanges {
		sel.Types = append(sel.Types, t)
	}
	at, err := s.feed.Begin(ctx, sel, eventfeed.Start{After: req.GetAfter(), Selected: true})
	if err != nil {
		return eventsFault(err, req.GetAfter())
	}
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	return eventsFault(s.feed.Follow(ctx, sel, at, func(e *eventv1.CloudEvent, cursor string) error {
		if e == nil {
			return stream.Send(&sessionsv1.WatchApprovalsResponse{Cursor: cursor})
		}
		w, err := s.approvals.Get(ctx, e.GetSubject())
		if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) { // deleted meanwhile, or not the caller's
			return nil
		}
		if err != nil {
			return err
		}
		return stream.Send(&sessionsv1.WatchApprovalsResponse{
			Type: approvalChanges[e.GetType()], Approval: convert.ApprovalToProto(w), Cursor: cursor,
		})
	}), at.String())
}
