package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/searchdb"
)

// search has words that begin alike, in two sessions of one subject and one of another.
func search(t *testing.T, s *store.Store) {
	sessions := map[string]string{"ses_1": "ann", "ses_2": "ann", "ses_3": "bob"}
	words := map[string][]searchdb.Word{
		"ses_1": {{Text: "invoice", TurnID: "trn_ses_1"}, {Text: "straße", TurnID: "trn_ses_1"}, {Text: "paris", Title: true}},
		"ses_2": {{Text: "invoices", TurnID: "trn_ses_2"}, {Text: "in"}, {Text: "漢", TurnID: "trn_ses_2"}},
		"ses_3": {{Text: "invoice", TurnID: "trn_ses_3"}, {Text: "paris", TurnID: "trn_ses_3"}},
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for id, subject := range sessions {
			if err := errors.Join(
				tx.AddSession(ctx, store.Session{Tenant: tenant, ID: id, AgentID: "a", Subject: subject, Title: "T", CreateTime: sqldb.Time(1)}),
				addTurn(ctx, tx, id, "trn_"+id, 1),
				searchdb.AddWords(ctx, tx, searchdb.Session{Tenant: tenant, ID: id}, subject, words[id]),
				searchdb.AddWords(ctx, tx, searchdb.Session{Tenant: tenant, ID: id}, subject, words[id]),
			); err != nil {
				return err
			}
		}
		return nil
	})
	for _, tc := range []struct{ subject, words, sessions, turns string }{
		{"", "invoice", "ses_1 ses_2 ses_3", "trn_ses_1 trn_ses_2 trn_ses_3"},
		{"ann", "invoice", "ses_1 ses_2", "trn_ses_1 trn_ses_2"},
		{"ann", "invoices", "ses_2", "trn_ses_2"},
		{"ann", "invoice paris", "ses_1", ""},
		{"bob", "invoice paris", "ses_3", "trn_ses_3"},
		{"ann", "stra", "ses_1", "trn_ses_1"},
		{"", "漢", "ses_2", "trn_ses_2"},
		{"eve", "invoice", "", ""},
		{"", "nvoice", "", ""},
	} {
		found, err := s.Sessions(t.Context(), store.SessionFilter{
			Tenant: tenant, Subject: tc.subject, Words: strings.Fields(tc.words), Page: store.Page{Limit: 10},
		})
		must(t, err)
		turns, err := s.Turns(t.Context(), store.TurnFilter{
			Tenant: tenant, Words: strings.Fields(tc.words), AgentID: "a", Page: store.Page{Limit: 10},
		})
		must(t, err)
		var got, of []string
		for _, ses := range found {
			got = append(got, ses.ID)
		}
		for _, turn := range turns {
			if tc.subject == "" || sessions[turn.SessionID] == tc.subject {
				of = append(of, turn.ID)
			}
		}
		slices.Sort(got)
		slices.Sort(of)
		if strings.Join(got, " ") != tc.sessions || strings.Join(of, " ") != tc.turns {
			t.Errorf("%q finds %v and %v for %q, want %s and %s", tc.words, got, of, tc.subject, tc.sessions, tc.turns)
		}
	}
	due(t, s)
}

// due are the sessions of search, which have titles, and one whose words are complete.
func due(t *testing.T, s *store.Store) {
	now, err := searchdb.Due(t.Context(), s.DB.Reader(), 10)
	must(t, err)
	at := map[string]searchdb.Session{}
	for _, v := range now {
		at[v.ID] = v
	}
	stale := at["ses_1"]
	stale.Seq = 3 // another process has stored words since
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddMessages(ctx, store.Message{
			Tenant: tenant, SessionID: "ses_1", Seq: 5, ID: "msg_1", TurnID: "t", Data: []byte{},
		}); err != nil {
			return err
		}
		return errors.Join(
			searchdb.Save(ctx, tx, at["ses_1"], 4), searchdb.Save(ctx, tx, stale, 9), searchdb.Save(ctx, tx, at["ses_2"], 4),
			searchdb.Forget(ctx, tx, searchdb.Session{Tenant: tenant, ID: "ses_3"}))
	})
	left, err := searchdb.Due(t.Context(), s.DB.Reader(), 10)
	must(t, err)
	if len(left) != 1 || left[0] != (searchdb.Session{Tenant: tenant, ID: "ses_1", Seq: 4}) {
		t.Errorf("due are %v", left)
	}
}

func orders(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1", "trn_2", "trn_3", "trn_4")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for id, v := range map[string]struct{ cost, end int64 }{"trn_1": {5, 100}, "trn_2": {9, 50}, "trn_3": {5, 200}} {
			turn, err := tx.Turn(ctx, tenant, id)
			if err != nil {
				return err
			}
			turn.Usage, turn.EndTime, turn.Status = &turnv1.Usage{CostMicros: v.cost}, sqldb.Time(v.end), 3
			if _, err := tx.EndTurn(ctx, turn); err != nil {
				return err
			}
		}
		return nil
	})
	for _, tc := range []struct {
		by, want string
		oldest   bool
	}{
		{store.ByCost, "trn_2 trn_3 trn_1 trn_4", false},
		{store.ByCost, "trn_4 trn_1 trn_3 trn_2", true},
		{store.ByDuration, "trn_3 trn_1 trn_2 trn_4", false},
		{store.ByDuration, "trn_4 trn_2 trn_1 trn_3", true},
	} {
		var got []string
		at := store.Page{By: tc.by, OldestFirst: tc.oldest, Limit: 1}
		for range 5 {
			turns, err := s.Turns(t.Context(), store.TurnFilter{Tenant: tenant, SessionID: "ses_1", Page: at})
			must(t, err)
			for _, turn := range turns {
				got = append(got, turn.ID)
				at.AfterID, at.After = turn.ID, sqldb.Time(turn.Cost)
				if tc.by == store.ByDuration {
					at.After = sqldb.Time(max(0, sqldb.Micros(turn.EndTime)-sqldb.Micros(turn.CreateTime)))
				}
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("by %s: %v, want %s", tc.by, got, tc.want)
		}
	}
}

// hidden deletes one of two sessions.
func hidden(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	addSession(t, s, "ses_2", "trn_2")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.HideSession(ctx, tenant, "ses_1", sqldb.Time(100))
	})
	exists := func(want bool) {
		t.Helper()
		_, err := s.Session(t.Context(), tenant, "ses_1")
		_, _, errTurn := s.TurnAndSession(t.Context(), tenant, "trn_1")
		var locked, lockedTurn error
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, locked = tx.LockSession(ctx, tenant, "ses_1")
			_, _, lockedTurn = tx.LockTurn(ctx, tenant, "trn_1")
			return nil
		})
		for name, err := range map[string]error{"read": err, "turn": errTurn, "locked": locked, "locked turn": lockedTurn} {
			if (err == nil) != want || !want && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		sessions, err := s.Sessions(t.Context(), store.SessionFilter{Tenant: tenant, Page: store.Page{Limit: 10}})
		must(t, err)
		turns, err := s.Turns(t.Context(), store.TurnFilter{Tenant: tenant, Page: store.Page{Limit: 10}})
		must(t, err)
		if n := map[bool]int{true: 2, false: 1}[want]; len(sessions) != n || len(turns) != n {
			t.Errorf("%d sessions and %d turns are listed", len(sessions), len(turns))
		}
	}
	exists(false)
	for now, want := range map[int64]int{99: 0, 100: 1} {
		due, err := s.Deleted(t.Context(), sqldb.Time(now), 10)
		if err != nil || len(due) != want || want == 1 && (due[0].ID != "ses_1" || sqldb.Micros(due[0].EraseTime) != 100) {
			t.Errorf("at %d: %v, %v", now, due, err)
		}
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockDeleted(ctx, tenant, "ses_2"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a session that is not deleted: %v", err)
		}
		_, err := tx.LockDeleted(ctx, tenant, "ses_1")
		return errors.Join(err, tx.RestoreSession(ctx, tenant, "ses_1"))
	})
	exists(true)
}
