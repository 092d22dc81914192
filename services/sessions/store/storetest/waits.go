package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"

	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// addWaits stores n waits of turn trn_1, which expire one after the other from 100 on. Every third may be decided by a lead.
func addWaits(t *testing.T, s *store.Store, n int) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for i := range n {
			var roles []string
			if i%3 == 0 {
				roles = []string{"lead", "boss", "lead"}
			}
			if err := tx.AddWait(ctx, store.Wait{
				Tenant: tenant, ID: fmt.Sprintf("apr_%d", i), TurnID: "trn_1", SessionID: "ses_1", AgentID: "a", Owner: "local", Requester: "bob",
				StepKey: stepkey.Tool(1, i), Kind: turnv1.WaitKind(1 + i%2), CallID: "c", Tool: "t", CreateTime: sqldb.Time(int64(10 + i/2)),
				ExpireTime: sqldb.Time(int64(100 + i)),
				Request:    &store.WaitRequest{Message: "r"}, Answer: &store.WaitAnswer{}, Requesters: []string{"bob"},
			}, roles); err != nil {
				return err
			}
		}
		return nil
	})
}

func waits(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	addWaits(t, s, 6)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		w, err := tx.Wait(ctx, tenant, "apr_3")
		if err != nil {
			return err
		}
		w.Verdict, w.EndTime, w.Answer = 2, sqldb.Time(50), &store.WaitAnswer{Action: "a"}
		return tx.SaveWait(ctx, w)
	})
	for _, row := range []struct {
		name   string
		filter store.WaitFilter
		want   string
	}{
		{"all, newest first", store.WaitFilter{}, "5 4 3 2 1 0 "},
		{"open ones", store.WaitFilter{Open: true}, "5 4 2 1 0 "},
		{"those that ended so", store.WaitFilter{Verdict: 2}, "3 "},
		{"one kind", store.WaitFilter{Kind: 2}, "5 3 1 "},
		{"of a session and a turn", store.WaitFilter{SessionID: "ses_1", TurnID: "trn_1"}, "5 4 3 2 1 0 "},
		{"of another turn", store.WaitFilter{TurnID: "trn_2"}, ""},
		{"of the owner", store.WaitFilter{Owner: "local", Roles: []string{"x"}}, "5 4 3 2 1 0 "},
		{"of roles", store.WaitFilter{Owner: "ann", Roles: []string{"x", "lead"}}, "3 0 "},
		{"of nobody", store.WaitFilter{Owner: "ann"}, ""},
		{"the next page", store.WaitFilter{Page: store.Page{After: sqldb.Time(11), AfterID: "apr_3"}}, "2 1 0 "},
		{
			"everything at once",
			store.WaitFilter{Open: true, Kind: 1, Owner: "ann", Roles: []string{"boss"}, Page: store.Page{After: sqldb.Time(11), AfterID: "apr_3"}},
			"0 ",
		},
		{"a page", store.WaitFilter{Page: store.Page{Limit: 2}}, "5 4 "},
		{"the oldest", store.WaitFilter{Page: store.Page{OldestFirst: true, Limit: 2}}, "0 1 "},
		{
			"those behind the oldest",
			store.WaitFilter{Page: store.Page{OldestFirst: true, After: sqldb.Time(10), AfterID: "apr_1", Limit: 2}},
			"2 3 ",
		},
		{"of a time", store.WaitFilter{Page: store.Page{Since: sqldb.Time(11), Until: sqldb.Time(12)}}, "3 2 "},
	} {
		row.filter.Tenant = tenant
		if row.filter.Limit == 0 {
			row.filter.Limit = 10
		}
		rows, err := s.Waits(t.Context(), row.filter)
		must(t, err)
		var got strings.Builder
		for _, w := range rows {
			got.WriteString(w.ID[len("apr_"):] + " ")
		}
		if got.String() != row.want {
			t.Errorf("%s: %s, want %s", row.name, got.String(), row.want)
		}
	}
	if got, err := s.Wait(t.Context(), tenant, "apr_3"); err != nil || got.Answer.GetAction() != "a" || sqldb.Micros(got.EndTime) != 50 ||
		got.Requester != "bob" || got.StepKey != "tool-1.3" {
		t.Errorf("wait %+v, %v", got, err)
	}
	if _, err := s.Wait(t.Context(), "other", "apr_3"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another tenant's: %v", err)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.AddWait(ctx, store.Wait{
			Tenant: tenant, ID: "apr_auth", TurnID: "trn_1", SessionID: "ses_1", Owner: "local", Requester: "bob", StepKey: "tool-2.0",
			Kind: turnv1.WaitKind_WAIT_KIND_AUTHORIZATION, CreateTime: sqldb.Time(60), Request: &store.WaitRequest{}, Answer: &store.WaitAnswer{},
		}, nil)
	})
	for subject, want := range map[string]int{"bob": 1, "ann": 0} {
		if got, err := s.AuthorizationWaits(t.Context(), tenant, subject); err != nil || len(got) != want {
			t.Errorf("%s: waits for an authorization: %v, %v", subject, got, err)
		}
	}
	for now, want := range map[int64]int{99: 0, 100: 1, 1000: 1} {
		if due, err := s.DueWaits(t.Context(), sqldb.Time(now), 10); err != nil || len(due) != want {
			t.Errorf("at %d %d turns are due, %v", now, len(due), err)
		}
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSession(ctx, tenant, "ses_1") })
	if rows, err := s.WaitsOf(t.Context(), tenant, "trn_1"); err != nil || len(rows) != 0 {
		t.Errorf("a deleted session left %v, %v", rows, err)
	}
}

func pausedTurns(t *testing.T, s *store.Store) {
	fillOutbox(t, s, 3)
	if got := fmt.Sprint(take(t, s, 10, 2, 2)); got != "[trn_000 trn_001]" {
		t.Fatalf("taken %s", got)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.DropOutgoing(ctx, tenant, "trn_000"); err != nil {
			return err
		}
		turn, err := tx.Turn(ctx, tenant, "trn_000")
		if err != nil {
			return err
		}
		turn.PausedSince, turn.OpenWaits, turn.PeopleWaits, turn.Inputs = sqldb.Time(5), 2, 1, 3
		return tx.SaveTurn(ctx, turn)
	})
	turn, err := s.Turn(t.Context(), tenant, "trn_000")
	must(t, err)
	if sqldb.Micros(turn.PausedSince) != 5 || turn.OpenWaits != 2 || turn.PeopleWaits != 1 || turn.Inputs != 3 {
		t.Errorf("turn %+v", turn)
	}
	if lost, err := s.Stale(t.Context(), sqldb.Time(1e9), 9); err != nil || len(lost) != 0 {
		t.Errorf("a turn that waits counts as lost: %v, %v", lost, err)
	}
	if got := fmt.Sprint(take(t, s, 10, 2, 2)); got != "[trn_002]" {
		t.Errorf("a turn that waits takes room: %s", got)
	}
}

func news(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	some := func(now int64) bool {
		got, err := s.HasToWake(t.Context(), sqldb.Time(now))
		must(t, err)
		return got
	}
	takeNews := func(now, until int64) (out []store.Turn) {
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			out, err = tx.TakeToWake(ctx, sqldb.Time(now), sqldb.Time(until), 10)
			return err
		})
		return out
	}
	woken := func(seen int64, lost bool) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.Woken(ctx, tenant, "trn_1", sqldb.Time(seen), lost)
		})
	}
	if some(1000) {
		t.Error("news of a turn without any")
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.SetWake(ctx, tenant, "trn_1", sqldb.Time(100))
	})
	if some(99) || len(takeNews(99, 200)) != 0 || !some(100) {
		t.Error("want news from 100 on")
	}
	if got := takeNews(100, 200); len(got) != 1 || sqldb.Micros(got[0].WakeTime) != 200 {
		t.Errorf("took %v", got)
	}
	woken(100, false) // an older look: there are newer ones
	if some(150) || !some(200) {
		t.Error("want the news to be told again from 200 on")
	}
	woken(200, true)
	if some(1000) {
		t.Error("the news were told")
	}
	if turn, err := s.Turn(t.Context(), tenant, "trn_1"); err != nil || !turn.CheckTime.IsZero() {
		t.Errorf("turn %+v, %v", turn, err)
	}
}

func movedMessages(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for i, id := range []string{"in", "steer", "answer", "last"} {
			if err := tx.AddMessages(ctx, store.Message{
				Tenant: tenant, SessionID: "ses_1", Seq: int64(10 + 2*i), ID: id, TurnID: "trn_1", TurnSeq: 1, Data: []byte("d"),
			}); err != nil {
				return err
			}
		}
		return tx.MoveMessage(ctx, tenant, "steer", 15)
	})
	rows, err := s.Conversation(t.Context(), tenant, "ses_1", store.Beginning(), store.AfterAll, 10)
	must(t, err)
	if got := names(rows); got != "in answer steer last " {
		t.Errorf("conversation %s", got)
	}
	rows, err = s.Conversation(t.Context(), tenant, "ses_1", rows[1].Point(), store.AfterAll, 10)
	must(t, err)
	if got := names(rows); got != "steer last " {
		t.Errorf("after the answer: %s", got)
	}
	rows, err = s.ConversationBack(t.Context(), tenant, "ses_1", rows[0].Point(), 10)
	must(t, err)
	if got := names(rows); got != "answer in " {
		t.Errorf("back from the moved one: %s", got)
	}
	rows, err = s.Messages(t.Context(), tenant, "ses_1", store.BeforeAll, 10)
	must(t, err)
	if got := names(rows); got != "in steer answer last " {
		t.Errorf("by event: %s", got)
	}
}
