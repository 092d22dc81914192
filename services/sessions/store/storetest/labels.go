package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// labels has values that look like other labels.
func labels(t *testing.T, s *store.Store) {
	rows := map[string]map[string]string{
		"ses_1": {"team": "red", "tier": "gold"}, "ses_2": {"team": "Red"}, "ses_3": {"note": `"team":"red"`, "per%cent": `a_b\`},
		"ses_4": nil, "ses_5": {"team": "", "x": "<&>"}, "ses_6": {"steam": "red"},
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for id, labels := range rows {
			active := ""
			if id == "ses_1" {
				active = "trn_" + id
			}
			if err := tx.AddSession(ctx, store.Session{
				Tenant: tenant, ID: id, AgentID: "a", Subject: "local", Labels: labels, CreateTime: sqldb.Time(1), ActiveTurnID: active,
			}); err != nil {
				return err
			}
			if err := addTurn(ctx, tx, id, "trn_"+id, 1); err != nil {
				return err
			}
		}
		return nil
	})
	for _, tc := range []struct {
		labels []string
		want   string
	}{
		{[]string{"team=red"}, "ses_1"},
		{[]string{"team=red", "tier=gold"}, "ses_1"},
		{[]string{"team=red", "tier=lead"}, ""},
		{[]string{"team"}, "ses_1 ses_2 ses_5"},
		{[]string{"team="}, "ses_5"},
		{[]string{"per%cent=a_b\\"}, "ses_3"},
		{[]string{"per_cent"}, ""},
		{[]string{"x=<&>"}, "ses_5"},
		{[]string{"red"}, ""},
		{[]string{`note="team":"red"`}, "ses_3"},
	} {
		found, err := s.Sessions(t.Context(), store.SessionFilter{Tenant: tenant, Labels: tc.labels, Page: store.Page{Limit: 10}})
		must(t, err)
		ofTurns, err := s.Turns(t.Context(), store.TurnFilter{Tenant: tenant, Labels: tc.labels, AgentID: "a", Page: store.Page{Limit: 10}})
		must(t, err)
		var got, turns []string
		for _, ses := range found {
			got = append(got, ses.ID)
		}
		for _, turn := range ofTurns {
			turns = append(turns, turn.SessionID)
		}
		slices.Sort(got)
		slices.Sort(turns)
		if strings.Join(got, " ") != tc.want || strings.Join(turns, " ") != tc.want {
			t.Errorf("%q: %v, turns of %v, want %s", tc.labels, got, turns, tc.want)
		}
	}
	for active, want := range map[bool]int{true: 1, false: len(rows) - 1} {
		found, err := s.Sessions(t.Context(), store.SessionFilter{Tenant: tenant, Active: &active, Page: store.Page{Limit: 10}})
		must(t, err)
		if len(found) != want {
			t.Errorf("active %t: %d sessions, want %d", active, len(found), want)
		}
	}
	none, err := s.Turns(t.Context(), store.TurnFilter{Tenant: tenant, AgentID: "b", Page: store.Page{Limit: 10}})
	if err != nil || len(none) != 0 {
		t.Errorf("turns of another agent: %v, %v", none, err)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveLabels(ctx, store.Session{Tenant: tenant, ID: "ses_4", Labels: map[string]string{"team": "red"}})
	})
	found, err := s.Sessions(t.Context(), store.SessionFilter{Tenant: tenant, Labels: []string{"team=red"}, Page: store.Page{Limit: 10}})
	if err != nil || len(found) != 2 {
		t.Errorf("after a change: %v, %v", found, err)
	}
}
