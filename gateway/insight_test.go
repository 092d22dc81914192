package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// ListTurnEvents returns one event.
func (u *upstream) ListTurnEvents(ctx context.Context, r *sessionsv1.ListTurnEventsRequest) (*sessionsv1.ListTurnEventsResponse, error) {
	return &sessionsv1.ListTurnEventsResponse{Events: []*turnv1.Event{{
		Seq: 7, Type: "session.forked", TurnId: r.GetTurnId(),
		Data: &turnv1.Event_SessionForked{SessionForked: &turnv1.SessionForked{FromSeq: 3}},
	}}, NextPageToken: "more"}, u.asked(ctx, r)
}

// WatchApprovals sends a position and a change.
func (u *upstream) WatchApprovals(
	r *sessionsv1.WatchApprovalsRequest, stream grpc.ServerStreamingServer[sessionsv1.WatchApprovalsResponse],
) error {
	if err := u.asked(stream.Context(), r); err != nil {
		return err
	}
	for _, m := range []*sessionsv1.WatchApprovalsResponse{
		{Cursor: "r0.s1"}, {Type: "approval.opened", Approval: &sessionsv1.Approval{Id: "apr_1"}, Cursor: "r0.s2"},
	} {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "stopping")
}

func TestStreamOfApprovals(t *testing.T) {
	s := serve(t, nil)
	in := s.open("/v1/approvals:watch?after=r9.s9", "Last-Event-ID", "r0.s0")
	if r, ok := s.up.request().(*sessionsv1.WatchApprovalsRequest); !ok || r.GetAfter() != "r0.s0" {
		t.Errorf("request: %v", s.up.request())
	}
	in.next() // retry
	if f, _ := in.next(); f != (frame{id: "r0.s1"}) {
		t.Errorf("the position is %+v", f)
	}
	if f, _ := in.next(); f.id != "r0.s2" || f.event != "approval.opened" || !strings.Contains(f.data, `"id":"apr_1"`) {
		t.Errorf("the change is %+v", f)
	}
	if f, _ := in.next(); f.event != "error-status" {
		t.Errorf("end %+v", f)
	}
	for query, code := range map[string]string{"event=all": "invalid_argument", "typ=x": "unknown_field"} {
		if got := s.do(http.MethodGet, "/v1/approvals:watch?"+query, ""); got.status != http.StatusBadRequest ||
			!strings.Contains(string(got.body), code) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}

// TestAJournalIsServedWhereItsStreamIs: to those that accept JSON only; its events have the form of the stream.
func TestAJournalIsServedWhereItsStreamIs(t *testing.T) {
	s := serve(t, nil)
	for _, path := range []string{"/v1/turns/trn_1/events?order=desc&page_size=3", "/v1/turns/trn_1/journal?order=desc&page_size=3"} {
		got := s.do(http.MethodGet, path, "", "Accept", "application/json")
		if got.status != http.StatusOK || !strings.Contains(string(got.body), `"from_seq":3`) ||
			!strings.Contains(string(got.body), `"next_page_token":"more"`) || strings.Contains(string(got.body), "session_forked") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if r, ok := s.up.request().(*sessionsv1.ListTurnEventsRequest); !ok || r.GetTurnId() != "trn_1" || r.GetOrder() != "desc" ||
			r.GetPageSize() != 3 {
			t.Errorf("%s asked %v", path, s.up.request())
		}
	}
}
