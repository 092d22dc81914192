package sessions_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestListsInEitherOrder reads turns page by page, the oldest and the newest first, and those of a time.
func TestListsInEitherOrder(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	ses := k.session().GetId()
	var made []string
	var third *timestamppb.Timestamp
	for range 5 {
		turn := k.turn(ses, "hello")
		if made = append(made, turn.GetId()); len(made) == 3 {
			third = turn.GetCreateTime()
		}
	}
	list := func(req *sessionsv1.ListTurnsRequest) (ids []string) {
		t.Helper()
		req.SessionId, req.PageSize = ses, 2
		for {
			got, err := k.turns.ListTurns(t.Context(), req)
			must(t, err)
			for _, turn := range got.GetTurns() {
				ids = append(ids, turn.GetId())
			}
			if req.PageToken = got.GetNextPageToken(); req.GetPageToken() == "" {
				return ids
			}
		}
	}
	newest := slices.Clone(made)
	slices.Reverse(newest)
	for _, row := range []struct {
		name string
		req  *sessionsv1.ListTurnsRequest
		want []string
	}{
		{"as ever", &sessionsv1.ListTurnsRequest{}, newest},
		{"the newest first", &sessionsv1.ListTurnsRequest{OrderBy: "create_time desc"}, newest},
		{"the oldest first", &sessionsv1.ListTurnsRequest{OrderBy: "create_time"}, made},
		{"from the third on", &sessionsv1.ListTurnsRequest{OrderBy: "create_time", StartTime: third}, made[2:]},
		{"before the third", &sessionsv1.ListTurnsRequest{EndTime: third}, newest[3:]},
	} {
		if got := list(row.req); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	first, err := k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{PageSize: 2})
	must(t, err)
	_, err = k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{OrderBy: "status"})
	wantFault(t, err, "invalid_argument", "order_by")
	_, err = k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{StartTime: third, EndTime: third})
	wantFault(t, err, "invalid_argument", "end_time")
	_, err = k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{OrderBy: "create_time", PageToken: first.GetNextPageToken()})
	wantFault(t, err, "invalid_page_token", "page_token")
	approvals, err := k.approvals.ListApprovals(t.Context(), &sessionsv1.ListApprovalsRequest{OrderBy: "create_time", StartTime: third})
	if err != nil || len(approvals.GetApprovals()) != 0 {
		t.Errorf("approvals %v, %v", approvals, err)
	}
	one, err := k.sessions.ListSessions(t.Context(), &sessionsv1.ListSessionsRequest{OrderBy: "create_time", EndTime: third})
	if err != nil || len(one.GetSessions()) != 1 {
		t.Errorf("sessions %v, %v", one, err)
	}
	_, err = k.sessions.ListSessions(t.Context(), &sessionsv1.ListSessionsRequest{OrderBy: "title"})
	wantFault(t, err, "invalid_argument", "order_by")
}
